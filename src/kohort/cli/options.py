"""The flags that commands share, and how the text after a flag becomes a setting."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kohort.cli.sections import flag, setting
from kohort.schema.presets import PRESETS
from kohort.schema.setting_texts import OUTPUT, WHAT_TO_PUBLISH
from kohort.tables.locations import location_of


class _PathType(click.Path):
    """A path that is not empty: an empty one would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("The name is empty. Give the name of a file or folder.", param, ctx)
        return super().convert(value, param, ctx)


class _LocationType(_PathType):
    """A path, or an address such as s3://bucket/file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return location_of(super().convert(value, param, ctx))


ROLE_FLAGS = ("quasi", "sensitive", "identifier", "unit", "other", "drop")
PATH = _PathType(path_type=Path)
LOCATION = _LocationType()


def names(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[str] | None:
    """Return names from one list with commas (CSV quotes for names with a comma), or from a repeated flag."""
    if len(given) == 1 and "," in given[0]:
        try:
            return next(csv.reader(given, skipinitialspace=True, strict=True))
        except csv.Error:
            message = "The list contains quotes or line breaks. Repeat the flag for each name instead."
            raise click.BadParameter(message) from None
    return list(given) or None


def pairs(convert: Callable[[str], Any] = str, *, last: bool = False) -> Callable[..., dict[str, Any] | None]:
    """Return a callback that makes a dict of `column=value` flags. With `last`, the last `=` separates."""

    def parse(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[str, Any] | None:
        pairs: dict[str, Any] = {}
        for text in given:
            name, equals, value = text.rpartition("=") if last else text.partition("=")
            if not equals or not name:
                message = "Write NAME=VALUE."
                raise click.BadParameter(message)
            try:
                pairs[name] = convert(value)
            except ValueError:
                message = "Write NAME=NUMBER."
                raise click.BadParameter(message) from None
        return pairs or None

    return parse


def _shares(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> float | dict[str, float] | None:
    """Return the limits of `--alpha 0.5` (every value) and `--alpha VALUE=0.2` (one value)."""
    limits = {}
    for text in given:
        value, equals, share = text.rpartition("=")
        name = value if equals else "default"
        try:
            limit = float(share)
        except ValueError:
            message = "Write a share between 0 and 1 (--alpha 0.5), or a limit for one sensitive value (--alpha HIV=0.2)."
            raise click.BadParameter(message) from None
        if name in limits:
            which = "for one value" if equals else "for all values"
            message = f"Two limits are given {which}. Give one."
            raise click.BadParameter(message)
        limits[name] = limit
    return limits["default"] if limits.keys() == {"default"} else limits or None


PRESET_LINES = "\b\nPresets (--preset NAME):\n" + "".join(
    f"  {name:<10} k={preset.k}{', ranges on a grid' if preset.ranges == 'grid' else ''}; {preset.reason}\n"
    for name, preset in PRESETS.items()
)

JSON = flag("--json", "as_json", is_flag=True, section=OUTPUT, first=True, help="Print the result as one JSON object.")


def with_flags(*flags: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that adds these flags in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(flags):
            command = one(command)
        return command

    return decorate


def job_flags(texts: Mapping[str, str]) -> Callable[..., Any]:
    """Return a decorator that adds `--job` and a flag for each role. `texts` replaces the words of some roles."""
    return with_flags(
        flag(
            "--job", "job_file", type=PATH, metavar="FILE", section=WHAT_TO_PUBLISH, first=True,
            help="Job file (TOML or JSON) with settings. A flag replaces a setting; a role flag, only the role of its columns.",
        ),
        *(setting(role, multiple=True, callback=names, first=role != "unit", text=texts.get(role)) for role in ROLE_FLAGS),
    )  # fmt: skip


promise_flags = with_flags(
    setting("preset", first=True),
    setting("k", type=int, first=True),
    setting("l", type=int, first=True),
    setting("alpha", multiple=True, callback=_shares),
    setting("entropy_l", type=float),
    setting("recursive_l"),
    setting("t", type=float),
    setting("t_distance"),
    setting("beta", type=float),
    setting("beta_kind"),
    setting("delta", type=float),
)
"""The promises that `anonymize` keeps and `audit` checks."""

value_flags = with_flags(
    setting("hierarchies", type=PATH, first=True),
    setting("hierarchy", multiple=True, callback=pairs()),
    setting("type", multiple=True, callback=pairs(last=True)),
    setting("format", multiple=True, callback=pairs(last=True)),
    setting("missing", multiple=True),
    setting("encoding"),
)
"""What columns hold, and how the file is written."""
