"""Simple, slow Python versions of Incognito, Datafly and single-dimensional Mondrian (ALGORITHMS.md, sections 2 and 6).

They import nothing from kohort. A level of a column maps each value to its box: the tuple, in order, of the values that are
published as the same generalised value. A vector has one level per column. `is_valid(part, table)` returns whether the rows
`part` are a valid group in a release of the rows `table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracles import Column, Measure, Numbers

Part = Sequence[int]
IsValid = Callable[[Part, Part], bool]
Level = dict[Any, tuple[Any, ...]]
Vector = tuple[int, ...]
UNIT = 2**24


def levels(column: Column, measure: Measure, tree: Iterable[Sequence[str]] | None = None) -> list[Level]:
    """Return the levels of a column, from single values to one box of all values.

    Missing is a separate box, except at the last level.
    """
    present = sorted({value for value in column if value is not None}, key=measure.key)
    marks: list[dict[Any, Any]]
    if isinstance(measure, Numbers):
        marks = list(_intervals(present))
    else:
        rows = [tuple(row) for row in tree] if tree is not None else [(value, "*") for value in present]
        present = sorted((row[0] for row in rows), key=measure.key)
        depth = max(map(len, rows), default=2)
        above = {row[0]: (row[0], *[None] * (depth - len(row)), *row[1:]) for row in rows}
        marks = [{leaf: path[level:] if path[level] else leaf for leaf, path in above.items()} for level in range(depth)]
    made = [{value: tuple(other for other in present if mark[other] == mark[value]) for value in present} for mark in marks]
    made = [{**level, None: (None,)} for level in made]
    if None in column:
        made[-1] = dict.fromkeys((None, *present), (None, *present))
    return made


def _intervals(present: Sequence[Any]) -> Iterator[dict[Any, int]]:
    """Yield, per level, the number of the interval of each value."""
    yield {value: index for index, value in enumerate(present)}
    halvings = max((m for m in range(6) if 2**m <= len(present) / 2), default=0)
    for pieces in (2**m for m in range(halvings, -1, -1)):
        low, high = Fraction(present[0]), Fraction(present[-1])
        yield {value: min(int((Fraction(value) - low) / ((high - low) or 1) * pieces), pieces - 1) for value in present}


def classes(columns: Sequence[Column], made: Sequence[list[Level]], vector: Vector) -> dict[tuple[Any, ...], list[int]]:
    """Return the rows of each group: each combination of boxes."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, values in enumerate(zip(*columns, strict=True)):
        boxes = tuple(level[at][value] for level, at, value in zip(made, vector, values, strict=True))
        found.setdefault(boxes, []).append(row)
    return found


def labels(
    columns: Sequence[Column], measures: Sequence[Measure], made: list[list[Level]], vector: Vector, out: set[int]
) -> list[int]:
    """Return the group of each row, or -1 for suppressed rows. Groups are numbered by the first values of their boxes."""
    found = {boxes: rows for boxes, rows in classes(columns, made, vector).items() if not out.intersection(rows)}
    keys = {boxes: tuple(measure.key(box[0]) for measure, box in zip(measures, boxes, strict=True)) for boxes in found}
    label_of = {row: index for index, boxes in enumerate(sorted(found, key=lambda boxes: keys[boxes])) for row in found[boxes]}
    return [label_of.get(row, -1) for row in range(len(columns[0]))]


def left_out(
    columns: Sequence[Column], made: list[list[Level]], vector: Vector, is_valid: IsValid, budget: int
) -> set[int] | None:
    """Return the rows that must be suppressed at a vector of levels; None if the vector is not valid."""
    all_rows = range(len(columns[0]))
    parts = list(classes(columns, made, vector).values())
    out = {row for part in parts if not is_valid(part, all_rows) for row in part}
    kept = [row for row in all_rows if row not in out]
    fits = len(out) <= budget and bool(kept) and all(is_valid(part, kept) for part in parts if part[0] not in out)
    return out if fits else None


def vectors(made: Sequence[list[Level]]) -> Iterator[Vector]:
    """Return all vectors of levels, in order."""
    return product(*(range(len(level)) for level in made))


def incognito(
    columns: Sequence[Column],
    measures: Sequence[Measure],
    made: list[list[Level]],
    is_valid: IsValid,
    budget: int,
    weights: Sequence[int],
) -> tuple[Vector, set[int]]:
    """Return the valid vector with the lowest leaf loss and its suppressed rows, by trying all vectors."""
    best: tuple[int, Vector, set[int]] | None = None
    axes = list(zip(columns, measures, made, weights, strict=True))
    costs = [[[round(weight * UNIT * measure.leaf_width(level[value])) for value in column] for level in levels_of]
             for column, measure, levels_of, weight in axes]  # fmt: skip
    for vector in vectors(made):
        out = left_out(columns, made, vector, is_valid, budget)
        if out is not None:
            kept = [row for row in range(len(columns[0])) if row not in out]
            loss = sum(cost[at][row] for cost, at in zip(costs, vector, strict=True) for row in kept) + len(out) * UNIT * sum(
                weights
            )
            best = min(best, (loss, vector, out), key=lambda found: found[:2]) if best else (loss, vector, out)
    assert best is not None
    return best[1:]


def datafly(columns: Sequence[Column], made: list[list[Level]], is_valid: IsValid, budget: int) -> tuple[Vector, set[int]]:
    """Raise the level of the column with most different values until the vector is valid."""
    vector = [0] * len(columns)
    while (out := left_out(columns, made, tuple(vector), is_valid, budget)) is None:
        different = [
            len({level[at][value] for value in column}) if at + 1 < len(level) else 0
            for column, level, at in zip(columns, made, vector, strict=True)
        ]
        vector[different.index(max(different))] += 1
    return tuple(vector), out


def mondrian_1d(
    columns: Sequence[Column], measures: Sequence[Measure], is_valid: Callable[[Part], bool], weights: Sequence[int]
) -> list[int]:
    """Return the region of each row. Regions are numbered by their intervals; an interval is (column, values in order)."""
    keys = [[measure.key(value) for value in column] for column, measure in zip(columns, measures, strict=True)]
    waiting = [(axis, sorted(set(column))) for axis, column in enumerate(keys)]
    done: list[tuple[int, list[Any]]] = []

    def rank(interval: tuple[int, list[Any]]) -> tuple[Any, ...]:
        axis, values = interval
        members = [value for value, key in zip(columns[axis], keys[axis], strict=True) if key in values]
        return -weights[axis] * measures[axis].height_width(members), axis, values

    while waiting:
        interval = min(waiting, key=rank)
        waiting.remove(interval)
        axis, values = interval
        regions = _regions(keys, [*waiting, *done, interval])
        inside = [part for part in regions.values() if keys[axis][part[0]] in values]
        rows = sum(map(len, inside))
        allowed = {}
        for cut in values[:-1]:
            sides = [[row for row in part if (keys[axis][row] <= cut) == left] for part in inside for left in (True, False)]
            if all(is_valid(side) for side in sides if side):
                allowed[cut] = sum(keys[axis][row] <= cut for part in inside for row in part)
        if not allowed:
            done.append(interval)
            continue
        median = sorted(keys[axis][row] for part in inside for row in part)[(rows - 1) // 2]
        best = median if median in allowed else min(allowed, key=lambda cut: (abs(2 * allowed[cut] - rows), cut))
        waiting += [(axis, [key for key in values if key <= best]), (axis, [key for key in values if key > best])]
    label_of = {row: index for index, (_, part) in enumerate(sorted(_regions(keys, done).items())) for row in part}
    return [label_of[row] for row in range(len(columns[0]))]


def _regions(keys: Sequence[Sequence[Any]], intervals: Sequence[tuple[int, list[Any]]]) -> dict[tuple[Any, ...], list[int]]:
    """Return the rows of each region, by the first values of its intervals."""
    begin_of = [{key: values[0] for at, values in intervals if at == axis for key in values} for axis in range(len(keys))]
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, values in enumerate(zip(*keys, strict=True)):
        found.setdefault(tuple(begin[key] for begin, key in zip(begin_of, values, strict=True)), []).append(row)
    return found
