"""Write docs/reference from the code: `make reference`. A test fails when a page is out of date."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path
from types import FunctionType

import click

import kohort
from kohort import api, errors
from kohort.cli.commands import EXIT_CODES, group
from kohort.cli.sections import SectionedCommand
from kohort.schema.presets import PRESETS
from kohort.schema.setting_texts import SECTIONS, SETTINGS

FOLDER = Path(__file__).parent / "reference"
FUNCTIONS = ("anonymize", "audit", "inspect", "compare")
ERRORS = ("KohortError", "RequestError", "PromiseError", "AuditError", "MachineError", "CancelledError")
LISTS = ("Parameters", "Returns", "Raises", "Attributes")
NOTE = "This page is generated from the code (`make reference`)."


def pages() -> dict[str, str]:
    """Return the text of each page by file name."""
    return {
        "settings.md": settings_page(),
        "command-line.md": command_line_page(),
        "python.md": python_page(),
        "errors.md": errors_page(),
    }


def settings_page() -> str:
    """Return the page of all settings, by section."""
    lines = [
        "# Settings",
        "",
        "A setting has one name: a keyword argument in Python (`entropy_l=3`), a flag on the command line (`--entropy-l 3`) and",
        "a key in a job file (`entropy_l = 3`). In a job file, promises belong under `[promise]` and settings of a column under",
        "`[columns.NAME]`. A role",
        f'is written as `role = "quasi"` there. {NOTE}',
    ]
    for section in SECTIONS:
        lines += ["", f"## {section}", "", "| setting | on the command line | meaning | default |", "|---|---|---|---|"]
        for setting in SETTINGS.values():
            if setting.section == section:
                flag = f"`{setting.flag} {setting.example}`".replace(" `", "`").replace("|", "\\|")
                lines.append(f"| `{setting.name}` | {flag} | {setting.text.replace('|', chr(92) + '|')} | {setting.default} |")
    lines += ["", "## Presets", "", "| preset | k | ranges | for |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {preset.k} | {preset.ranges} | {preset.reason} |" for name, preset in PRESETS.items()]
    return "\n".join(lines) + "\n"


def command_line_page() -> str:
    """Return the page of all commands with their complete help."""
    lines = ["# Command line", "", NOTE, "", "```text", _help(group, "kohort"), "```"]
    for name, command in group.commands.items():
        lines += ["", f"## kohort {name}", "", "```text", _help(command, f"kohort {name}"), "```"]
    return "\n".join(lines) + "\n"


def _help(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    if isinstance(command, SectionedCommand):
        command.show_all(context)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def python_page() -> str:
    """Return the page of the public functions and classes."""
    lines = ["# Python", "", f"`import kohort as kh` gives the names below. {NOTE}"]
    for name in FUNCTIONS:
        lines += ["", f"## {name}", "", *_signature(name), "", _docstring(getattr(api, name))]
    classes = [name for name in kohort.__all__ if inspect.isclass(getattr(kohort, name)) and name not in ERRORS]
    for name in classes:
        found = getattr(kohort, name)
        lines += ["", f"## {name}", "", _docstring(found)]
        members = [(member, text) for member, text in _members(found) if text]
        lines += ["", "| member | meaning |", "|---|---|"] if members else []
        lines += [f"| `{member}` | {text} |" for member, text in members]
    return "\n".join(lines) + "\n"


def _signature(name: str) -> list[str]:
    parameters = inspect.signature(getattr(api, name)).parameters.values()
    shown = [f"    {parameter}," for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    named = [f"    {parameter}," for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    text = "\n".join([f"kohort.{name}(", *shown, "    *,", *named, ")"])
    return ["```text", text.replace("'", ""), "```"]


def _docstring(of: object) -> str:
    """Return a docstring as Markdown: sections as bold lines, parameters as a list, examples as code."""
    lines = (inspect.getdoc(of) or "").splitlines()
    shown: list[str] = []
    in_list = in_code = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _is_rule(line):
            continue
        if _is_rule(following):
            in_list = line in LISTS
            shown += [f"**{line}**", ""]
        elif in_list and line.startswith("    "):
            shown[-1] += f" {line.strip()}"
        elif in_list and line:
            name, _colon, kind = line.partition(" : ")
            shown.append(f"- `{name}` ({kind}):" if kind else f"- `{name}`:")
        else:
            shown += ["```python"] if line.startswith(">>> ") and not in_code else []
            in_code = in_code or line.startswith(">>> ")
            shown.append(line)
        if in_code and not following:  # doctest needs an empty line before the fence
            shown += ["", "```"]
            in_code = False
    return "\n".join(shown)


def _is_rule(line: str) -> bool:
    return re.fullmatch("-{4,}", line) is not None


def _members(of: type) -> list[tuple[str, str]]:
    """Return the public methods and properties that kohort documents, each with the first line of its docstring."""
    found = []
    for name, member in vars(of).items():
        is_value = isinstance(member, (property, cached_property))
        if not name.startswith("_") and (is_value or isinstance(member, (classmethod, staticmethod, FunctionType))):
            line = (inspect.getdoc(getattr(of, name)) or "").partition("\n")[0]
            found.append((name if is_value else f"{name}()", line.replace("|", "\\|")))
    return found


def errors_page() -> str:
    """Return the page of errors and exit codes."""
    codes = [line.strip() for line in EXIT_CODES.splitlines() if re.match(r" +\d", line)]
    lines = [
        "# Errors and exit codes",
        "",
        "Every message says what happened, where, and what to do. It names columns, counts and row numbers, never the content of",
        f"a cell. {NOTE}",
        "",
        "| exit code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in (line.split(None, 1) for line in codes)),
        "",
        "In Python every error is a `kohort.KohortError`:",
        "",
        "| error | exit code | meaning |",
        "|---|---|---|",
    ]
    for name in ERRORS:
        found = getattr(errors, name)
        lines.append(f"| `{name}` | {found.exit_code} | {(inspect.getdoc(found) or '').partition(chr(10))[0]} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
