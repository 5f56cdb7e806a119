"""Encode what promises need for each row: its sensitive values, and the person it belongs to.

Sensitive values are compared as their published text. All missing values together are one value. Codes follow the order of the
values if the distance needs an order, otherwise the order of their UTF-8 bytes. The missing value has the first code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.encode import Distinct, by_bytes, distinct, made_axis, on_tree, read_values
from kohort.encoding.tree_axis import TreeAxis
from kohort.errors import RequestError, gathered
from kohort.schema import date_formats as calendars
from kohort.schema.columns import Schema
from kohort.schema.promises import SensitivePromise
from kohort.schema.tree_rules import Rule
from kohort.schema.trees import Tree
from kohort.wording import counted, row_number

MISSING = ""
"""Name of the missing value in a limit for single values (alpha)."""


@dataclass(frozen=True, eq=False)
class Scale:
    """How distances between the values of a column are measured: by a tree, or by numbers or dates.

    `dates` is the format of the dates. `comma` is True if decimals have a comma.
    """

    tree: Tree | None = None
    dates: str | None = None
    comma: bool = False


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """One sensitive column with a promise."""

    name: str
    promise: SensitivePromise
    codes: NDArray[np.int64]
    """(rows): 0, 1, ... without gaps."""
    limits: NDArray[np.float64]
    """Per value: its limit alpha, the largest share of a group."""
    scale: Scale = field(default_factory=Scale)
    leaves: NDArray[np.int64] | None = None
    """Per value: its leaf in the tree, -1 for missing. None if distances do not use a tree."""

    @property
    def values(self) -> int:
        """Number of different values, including missing."""
        return len(self.limits)

    def take(self, rows: NDArray[np.int64]) -> SensitiveColumn:
        """Return the column of these rows. Values keep their codes."""
        return replace(self, codes=self.codes[rows])

    def only(self, rows: NDArray[np.int64]) -> SensitiveColumn:
        """Return the column of a table of only these rows. Values that none of them has are removed."""
        held, codes = np.unique(self.codes[rows], return_inverse=True)
        leaves = None if self.leaves is None else self.leaves[held]
        return replace(self, codes=codes, limits=self.limits[held], leaves=leaves)


def encode_sensitive(
    table: pa.Table, schema: Schema, sensitive_promises: Mapping[str, SensitivePromise]
) -> tuple[SensitiveColumn, ...]:
    """Encode the sensitive columns that have promises. Report all errors together."""
    sensitive: list[SensitiveColumn] = []
    problems: list[str] = []
    for name, promise in sensitive_promises.items():
        if promise.requested:
            with gathered(problems):
                held, indices = distinct(same_zeros(table.column(name)), name, schema.missing)
                sensitive.append(sensitive_column_of(held, schema, promise).take(indices))
    if problems:
        raise RequestError(problems)
    return tuple(sensitive)


def same_zeros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace -0.0 by 0.0, so that zero does not count as two different values."""
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def encode_units(table: pa.Table, schema: Schema) -> NDArray[np.int64] | None:
    """Return the person of each row as a number, or None if each row is one person."""
    for name in schema.named("unit"):
        held, persons = distinct(table.column(name), name, schema.missing)
        if held.some_missing:
            raise missing_person_error(name, int(held.counts[-1]), int(np.argmax(persons < 0)))
        return persons
    return None


def missing_person_error(name: str, rows: int, first: int | None) -> RequestError:
    """Return the error for rows without a person. `first` is the first such row, or None if rows have no numbers."""
    where = "" if first is None else f", the first at {row_number(first)}"
    return RequestError(
        f"Column {name!r} identifies the person of each row (unit), but it is empty in {counted(rows, 'row')}{where}. "
        "Fill in these cells, or remove these rows from the table."
    )


def sensitive_column_of(held: Distinct, schema: Schema, promise: SensitivePromise) -> SensitiveColumn:
    """Encode the distinct values of a sensitive column. The codes are those of the values; the last code is for missing."""
    name, values = held.name, held.values
    texts, by_text = by_bytes(values, name)
    scale, ranks = Scale(), by_text[:-1]
    if promise.t is not None and promise.distance == "ordered":
        scale, ranks = _order(held, schema, by_text[:-1])
    elif promise.t is not None and promise.distance == "tree":
        scale, ranks = _tree(held, schema)
    gone = int(held.some_missing)
    codes = np.zeros(len(values) + 1, np.int64)  # the last entry is for missing values
    codes[np.argsort(ranks, kind="stable")] = np.arange(gone, gone + len(values))
    leaves = np.concatenate([[-1] * gone, np.sort(ranks)]).astype(np.int64) if promise.distance == "tree" else None
    code_of_text = dict(zip(texts.to_pylist(), codes[:-1][np.argsort(by_text[:-1])].tolist(), strict=True))
    if gone:
        code_of_text[MISSING] = 0
    return SensitiveColumn(name, promise, codes, _limits(name, promise, code_of_text, gone + len(values)), scale, leaves)


def _limits(name: str, promise: SensitivePromise, code_of_text: Mapping[str, int], values: int) -> NDArray[np.float64]:
    """Return the limit alpha of each value."""
    default, named = promise.limits
    absent = [text for text in named if text not in code_of_text]
    if absent:
        raise RequestError(
            f"alpha has limits for {counted(len(absent), 'value')} that column {name!r} does not contain: "
            f"{', '.join(map(repr, absent[:8]))}. Write them as in the table. "
            "Put limits for the values of one column under [columns.NAME] in the job file."
        )
    limits = np.full(values, default)
    for text, limit in named.items():
        limits[code_of_text[text]] = limit
    return limits


def _order(held: Distinct, schema: Schema, by_text: NDArray[np.int64]) -> tuple[Scale, NDArray[np.int64]]:
    """Return the rank of each value: in its tree, or by its number or date. Equal numbers are ranked by their text."""
    name, declared = held.name, schema.columns[held.name]
    if name in schema.trees or isinstance(declared.hierarchy, Rule):
        return _tree(held, schema)
    if not len(held.values):
        return Scale(), by_text
    reading = read_values(held, declared)
    if reading.numbers is None:
        raise RequestError(
            f"Column {name!r} contains text, which has no order for t_distance=ordered. Set an order in hierarchy "
            f"(--hierarchy {name}=order:low,middle,high), or set t_distance to equal (--t-distance equal)."
        )
    ranks = np.empty(len(held.values), np.int64)
    ranks[np.lexsort((by_text, reading.numbers))] = np.arange(len(ranks))
    dates = reading.format or calendars.ISO if reading.value_type in ("date", "timestamp") else None
    return Scale(dates=dates, comma=reading.comma), ranks


def _tree(held: Distinct, schema: Schema) -> tuple[Scale, NDArray[np.int64]]:
    """Return the tree of the values, and the leaf of each."""
    name, declared = held.name, schema.columns[held.name]
    if name in schema.trees:
        axis = TreeAxis(name, schema.trees[name])
    elif isinstance(declared.hierarchy, Rule):
        axis = made_axis(held, declared, declared.hierarchy)
    else:
        raise RequestError(f"Column {name!r} has no tree for t_distance=tree. Set hierarchy (--hierarchy {name}=FILE).")
    return Scale(axis.tree), on_tree(held, declared, axis).codes[:-1] - 1
