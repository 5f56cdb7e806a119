"""What promises must know of each row: its sensitive values as codes, and the person it belongs to.

A sensitive value is what will stand in the file, compared as text; all that is missing is one value of its own. Codes follow
the order of the values where a distance needs one, else their bytes; missing stands first.
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

MISSING = ""
"""How a limit of its own names the missing value: as a file writes it."""


@dataclass(frozen=True, eq=False)
class Scale:
    """How far the values of a column are apart: by their tree, or by numbers or dates, and how those are written."""

    tree: Tree | None = None
    dates: str | None = None
    comma: bool = False


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """One sensitive column that something is promised about."""

    name: str
    promise: SensitivePromise
    codes: NDArray[np.int64]
    """(rows): 0, 1, ... without gaps."""
    limits: NDArray[np.float64]
    """Per value: its alpha."""
    scale: Scale = field(default_factory=Scale)
    leaves: NDArray[np.int64] | None = None
    """Per value: its leaf in the tree, -1 for missing; None where no tree measures them."""

    @property
    def values(self) -> int:
        return len(self.limits)

    def take(self, rows: NDArray[np.int64]) -> SensitiveColumn:
        """The same column for these rows; values keep their codes."""
        return replace(self, codes=self.codes[rows])

    def only(self, rows: NDArray[np.int64]) -> SensitiveColumn:
        """The column as a table of these rows has it: values that none of them holds are gone."""
        held, codes = np.unique(self.codes[rows], return_inverse=True)
        leaves = None if self.leaves is None else self.leaves[held]
        return replace(self, codes=codes, limits=self.limits[held], leaves=leaves)


def encode_sensitive(
    table: pa.Table, schema: Schema, sensitive_promises: Mapping[str, SensitivePromise]
) -> tuple[SensitiveColumn, ...]:
    """The sensitive columns about which something is promised; every mistake at once."""
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
    """-0.0 is 0.0: no second value to hide behind."""
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def encode_units(table: pa.Table, schema: Schema) -> NDArray[np.int64] | None:
    """The person of each row, as a number; None if each row is one."""
    for name in schema.named("unit"):
        held, persons = distinct(table.column(name), name, schema.missing)
        if held.some_missing:
            raise nobody(name, int(held.counts[-1]), int(np.argmax(persons < 0)))
        return persons
    return None


def nobody(name: str, rows: int, first: int | None) -> RequestError:
    """The error for rows that belong to no person."""
    where = "" if first is None else f", the first at row {first + 1}"
    return RequestError(
        f"Column {name!r} says which rows belong to one person, but is empty in {rows} row(s){where}. "
        "Fill them in, or leave these rows out."
    )


def sensitive_column_of(held: Distinct, schema: Schema, promise: SensitivePromise) -> SensitiveColumn:
    """A sensitive column by its different values alone: the codes are those of the values, the last is for missing."""
    name, values = held.name, held.values
    texts, by_text = by_bytes(values, name)
    scale, ranks = Scale(), by_text[:-1]
    if promise.t is not None and promise.distance == "ordered":
        scale, ranks = _order(held, schema, by_text[:-1])
    elif promise.t is not None and promise.distance == "tree":
        scale, ranks = _tree(held, schema)
    gone = int(held.some_missing)
    codes = np.zeros(len(values) + 1, np.int64)  # the last entry is for missing
    codes[np.argsort(ranks, kind="stable")] = np.arange(gone, gone + len(values))
    leaves = np.concatenate([[-1] * gone, np.sort(ranks)]).astype(np.int64) if promise.distance == "tree" else None
    code_of_text = dict(zip(texts.to_pylist(), codes[:-1][np.argsort(by_text[:-1])].tolist(), strict=True))
    if gone:
        code_of_text[MISSING] = 0
    return SensitiveColumn(name, promise, codes, _limits(name, promise, code_of_text, gone + len(values)), scale, leaves)


def _limits(name: str, promise: SensitivePromise, code_of_text: Mapping[str, int], values: int) -> NDArray[np.float64]:
    default, named = promise.limits
    absent = [text for text in named if text not in code_of_text]
    if absent:
        raise RequestError(
            f"alpha names {len(absent)} value(s) that column {name!r} does not hold: {', '.join(map(repr, absent[:8]))}. "
            "Write them as the table does; what limits values of one column belongs under [columns.NAME]."
        )
    limits = np.full(values, default)
    for text, limit in named.items():
        limits[code_of_text[text]] = limit
    return limits


def _order(held: Distinct, schema: Schema, by_text: NDArray[np.int64]) -> tuple[Scale, NDArray[np.int64]]:
    """The rank of each value: on its tree, or by its number or date, equal ones by their text."""
    name, declared = held.name, schema.columns[held.name]
    if name in schema.trees or isinstance(declared.hierarchy, Rule):
        return _tree(held, schema)
    if not len(held.values):
        return Scale(), by_text
    reading = read_values(held, declared)
    if reading.numbers is None:
        raise RequestError(
            f"Column {name!r} holds text, which has no order for t_distance=ordered. Give it one (--hierarchy "
            f"{name}=order:low,middle,high), or measure the distance as equal."
        )
    ranks = np.empty(len(held.values), np.int64)
    ranks[np.lexsort((by_text, reading.numbers))] = np.arange(len(ranks))
    dates = reading.format or calendars.ISO if reading.value_type in ("date", "timestamp") else None
    return Scale(dates=dates, comma=reading.comma), ranks


def _tree(held: Distinct, schema: Schema) -> tuple[Scale, NDArray[np.int64]]:
    """The tree of the values, and the leaf of each."""
    name, declared = held.name, schema.columns[held.name]
    if name in schema.trees:
        axis = TreeAxis(name, schema.trees[name])
    elif isinstance(declared.hierarchy, Rule):
        axis = made_axis(held, declared, declared.hierarchy)
    else:
        raise RequestError(f"Column {name!r} has no tree for t_distance=tree. Give it one (--hierarchy {name}=FILE).")
    return Scale(axis.tree), on_tree(held, declared, axis).codes[:-1] - 1
