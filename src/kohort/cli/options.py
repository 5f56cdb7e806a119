"""The flags that commands share, and how their text becomes settings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kohort.schema.presets import PRESETS
from kohort.tables.locations import location_of


class _PathType(click.Path):
    """A path; an empty one would stand for the current folder, which nobody means by it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("give a name.", param, ctx)
        return super().convert(value, param, ctx)


class _LocationType(_PathType):
    """A path, or an address as it stands."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return location_of(super().convert(value, param, ctx))


PATH = _PathType(path_type=Path)
LOCATION = _LocationType()


def names(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[str] | None:
    """One comma list, names quoted where they hold a comma; or the flag repeated, each taken as it stands."""
    if len(given) == 1 and "," in given[0]:
        try:
            return next(csv.reader(given, skipinitialspace=True, strict=True))
        except csv.Error:
            message = "quotes or line ends inside a comma list; repeat the flag for each name instead."
            raise click.BadParameter(message) from None
    return list(given) or None


def pairs(convert: Callable[[str], Any] = str, *, last: bool = False) -> Callable[..., dict[str, Any] | None]:
    """`column=value` flags as a dict."""

    def parse(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[str, Any] | None:
        pairs: dict[str, Any] = {}
        for text in given:
            name, equals, value = text.rpartition("=") if last else text.partition("=")
            if not equals or not name:
                message = "give name=value."
                raise click.BadParameter(message)
            try:
                pairs[name] = convert(value)
            except ValueError:
                message = "give name=number."
                raise click.BadParameter(message) from None
        return pairs or None

    return parse


def _shares(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> float | dict[str, float] | None:
    """`--alpha 0.5` for every value, `--alpha VALUE=0.2` for one."""
    limits = {}
    for text in given:
        value, equals, share = text.rpartition("=")
        name = value if equals else "default"
        try:
            limit = float(share)
        except ValueError:
            message = "give a share, or VALUE=share."
            raise click.BadParameter(message) from None
        if name in limits:
            message = "one limit is given twice."
            raise click.BadParameter(message)
        limits[name] = limit
    return limits["default"] if limits.keys() == {"default"} else limits or None


def columns_flag(name: str, text: str) -> Callable[..., Any]:
    return click.option(f"--{name}", multiple=True, callback=names, metavar="A,B", help=text)


PRESETS_TOLD = "\b\nPresets, floors for what is promised:\n" + "".join(
    f"  {name:<10} k={preset.k}{', ranges on a grid' if preset.ranges == 'grid' else ''}; {preset.reason}\n"
    for name, preset in PRESETS.items()
)


def promise_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both `anonymize` and `audit` ask: which columns, which promise."""
    flags = [
        click.option("--job", "job_file", type=PATH, metavar="FILE", help="A job in TOML or JSON; flags change it."),
        columns_flag("quasi", "Columns that others may know of a person: age, sex, zip, ..."),
        columns_flag("sensitive", "Columns that nobody should learn of a person; published as they are."),
        columns_flag("identifier", "Columns that name a person; never published."),
        columns_flag("unit", "The column that says which rows belong to one person; persons are counted, it is never published."),
        columns_flag("other", "Columns to publish as they are."),
        columns_flag("drop", "Columns to leave out."),
        click.option("--preset", metavar="NAME", help="A floor for what is promised: internal, trusted, public or high-risk."),
        click.option("--k", type=int, metavar="5", help="Every person hides among at least this many. [default: 5]"),
        click.option(
            "--alpha",
            multiple=True,
            callback=_shares,
            metavar="0.5",
            help="No sensitive value is held by more than this share of a class; VALUE=0.2 for one value, repeat for more.",
        ),
        click.option("--l", type=int, metavar="3", help="Every class holds at least this many different sensitive values."),
        click.option("--entropy-l", type=float, metavar="3", help="... as mixed as this many equally frequent ones, by entropy."),
        click.option("--recursive-l", metavar="L,C", help="... the most frequent rarer than C times all from the L-th on: 3,2."),
        click.option(
            "--t", type=float, metavar="0.2", help="Sensitive values are spread in a class as in the table, up to this."
        ),
        click.option("--t-distance", metavar="equal|ordered|tree", help="How far two values are apart for --t. [default: equal]"),
        click.option(
            "--beta", type=float, metavar="1", help="No share in a class exceeds that in the table by more than this times it."
        ),
        click.option("--beta-kind", metavar="enhanced|basic", help="Bound frequent values more, or not. [default: enhanced]"),
        click.option("--delta", type=float, metavar="1", help="Shares in a class are within 2^delta times those in the table."),
        click.option("--threads", type=int, metavar="N", help="Threads to use. [default: all cores]"),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout."),
    ]
    for flag in reversed(flags):
        command = flag(command)
    return command


def tree_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """What columns hold, and how far their values are apart."""
    flags = [
        click.option("--hierarchies", type=PATH, metavar="DIR", help="Folder of tree files named after their columns."),
        click.option(
            "--hierarchy",
            multiple=True,
            callback=pairs(),
            metavar="COL=TREE",
            help="The tree of one column: a file of value;level1;...;* or a rule such as interval:5,10 or prefix:3,2.",
        ),
        click.option(
            "--type",
            multiple=True,
            callback=pairs(last=True),
            metavar="COL=TYPE",
            help="integer, decimal, boolean, date, timestamp or text. [default: found]",
        ),
        click.option(
            "--format",
            multiple=True,
            callback=pairs(last=True),
            metavar="COL=DD.MM.YYYY",
            help="How dates are written. [default: found]",
        ),
    ]
    for flag in reversed(flags):
        command = flag(command)
    return command


ENCODING = click.option(
    "--encoding", metavar="latin-1", help="Encoding of a text file. [default: UTF-8; UTF-16 is found by its first bytes]"
)
MISSING = click.option(
    "--missing", multiple=True, metavar="'?'", help="Text that stands for a missing value, beside the empty one; repeat for more."
)
