"""Help in sections: `--help` shows the flags that most people need, `--help-all` shows all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from kohort.schema.setting_texts import OUTPUT, SECTIONS, SETTINGS

_SHOW_ALL = "kohort.help_all"


class Flag(click.Option):
    """A flag with a section of the help, and whether the first screen shows it."""

    def __init__(self, *args: Any, section: str = OUTPUT, first: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.first = section, first


class SectionedCommand(click.Command):
    """A command whose `--help` is one screen, and whose `--help-all` lists every flag by section."""

    def __init__(self, *args: Any, appendix: str = "", titles: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.appendix = appendix  # text after the sections of `--help-all`
        self.titles = titles or {}  # titles of sections that this command calls otherwise
        text = "Show every flag, in sections."
        self.params.append(
            click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help=text)
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        flags = [flag for flag in self.get_params(ctx) if isinstance(flag, Flag)]
        first = [flag for flag in flags if flag.first]
        if not ctx.meta.get(_SHOW_ALL):
            _write(ctx, formatter, "Most used", first)
            more = len(flags) - len(first)
            formatter.write_paragraph()
            formatter.write_text(f"-h, --help shows this page. {more} more flags: kohort {self.name} --help-all")
            return
        for section in SECTIONS:
            _write(ctx, formatter, self.titles.get(section, section), [flag for flag in flags if flag.section == section])
        if self.appendix:
            formatter.write_paragraph()
            formatter.write_text(self.appendix)

    @staticmethod
    def show_all(context: click.Context) -> None:
        """Let the help of this context list every flag."""
        context.meta[_SHOW_ALL] = True


def _show_all(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        SectionedCommand.show_all(context)
        click.echo(context.get_help(), color=context.color)
        context.exit()


def _write(context: click.Context, formatter: click.HelpFormatter, title: str, flags: Sequence[click.Option]) -> None:
    records = [record for flag in flags if (record := flag.get_help_record(context)) is not None]
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


def flag(*names: str, help: str, section: str, first: bool = False, **arguments: Any) -> Callable[..., Any]:  # noqa: A002 - as click
    """Return a decorator that adds a flag which is not a setting of a job, such as `--json`."""
    return click.option(*names, cls=Flag, help=help, section=section, first=first, **arguments)


def setting(name: str, *, first: bool = False, text: str | None = None, **arguments: Any) -> Callable[..., Any]:
    """Return a decorator that adds the flag of a setting, with the words of `kohort.schema.setting_texts` or others."""
    found = SETTINGS[name]
    if found.example:
        arguments.setdefault("metavar", found.example)
    return flag(found.flag, help=text or found.line, section=found.section, first=first, **arguments)
