"""Explain the groups of a release: the cuts that made them, with published values only.

The cuts were made before repair, suppression and improvement, so the ranges of their parts may have ends that are not published.
Therefore every range is widened to published ends, and every label to a label at or above a published label
(`published_ranges`). Gains are computed from the widened ranges too, so they do not depend on unpublished values. A part with
fewer than k rows or people is not shown. If rows were suppressed, no cuts are shown at all: the sizes of the parts, compared with
the sizes of the published groups, would show where the suppressed rows were.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.axes import Measure
from kohort.encoding.points import Points
from kohort.methods.method import Partition
from kohort.methods.search.decisions import Decisions, Nodes
from kohort.publishing.boxes import Boxes
from kohort.publishing.published_ranges import PublishedRanges, ranges_of
from kohort.publishing.texts import texts_of
from kohort.schema.columns import Schema
from kohort.schema.trees import ROOT

DIGITS = 6  # significant digits of a gain
NO_CUTS = "The groups were not made by cuts, so there are no cuts to explain."
WITHHELD = "Rows were suppressed. The cuts are not listed, because they could show where the suppressed rows were."
BLOCKS_ONLY = "The groups were not made by cuts. The listed cuts made the blocks of rows on which the method worked."
TOO_LITTLE = 1e-6  # columns whose widths differ by less than this share count as equally wide


def explain(
    points: Points, partition: Partition, boxes: Boxes, schema: Schema, constraints: Constraints, method: str
) -> dict[str, Any]:
    """Return the cuts of a release as data for JSON. Nodes are numbered from 1, groups from 0, like labels.

    `partition` and `boxes` are the published ones. `partition.decisions` exists if `points.record_decisions` was set when the
    groups were made.
    """
    suppressed, decisions = _suppressed(partition), partition.decisions
    tree = None if suppressed else _Tree.of(points, partition, boxes, schema, constraints)
    note = NO_CUTS if decisions is None else BLOCKS_ONLY if len(decisions.reason) and decisions.makes_blocks.all() else None
    note = WITHHELD if suppressed and decisions is not None else note
    leaves = [] if tree is None else tree.leaves(partition.labels, constraints)
    others = len(boxes.sizes) - len({group for leaf in leaves for group in leaf["groups"]})
    if note is None and others:
        note = f"{others:,} of {len(boxes.sizes):,} groups are in no leaf: repair or improvement formed them after the cuts."
    return {
        "method": method,
        "note": note,
        "cuts": [] if tree is None else tree.cuts(),
        "leaves": leaves,
        "loss": None if tree is None else {"one_group": _rounded(tree.loss_of_all), "leaves": _rounded(tree.loss_of_leaves)},
        "groups": _groups(points, boxes, schema),
        "improvement": _improvement(points, partition),
        "repair": {"merged_groups": partition.merged, "suppressed_rows": suppressed},
    }


def _groups(points: Points, boxes: Boxes, schema: Schema) -> list[dict[str, Any]]:
    """Return each group as it is published. A value is None if all values of the group are missing."""
    texts = {name: column.to_pylist() for name, column in texts_of(schema, points.axes, boxes).items()}
    return [
        {"group": group, "rows": rows, "values": {name: column[group] for name, column in texts.items()}}
        for group, rows in enumerate(boxes.sizes.tolist())
    ]


def _improvement(points: Points, partition: Partition) -> dict[str, Any] | None:
    """Return what improvement changed. Losses have four digits, as in the notes. For square errors, the loss is not known."""
    found = partition.improvement
    if found is None:
        return None
    before, after = (None, None) if points.objective == "square-error" else (round(loss, 4) for loss in found.loss)
    return {
        "objective": points.objective,
        "sweeps": found.sweeps,
        "groups_before": found.groups[0],
        "groups_after": found.groups[1],
        "loss_before": before,
        "loss_after": after,
    }


def _suppressed(partition: Partition) -> int:
    is_suppressed = partition.labels < 0
    if partition.suppressed_group is not None:
        is_suppressed |= partition.labels == partition.suppressed_group
    return int(np.count_nonzero(is_suppressed))


class _Tree(NamedTuple):
    """The nodes of the tree of cuts that may be shown, and their published ranges."""

    points: Points
    decisions: Decisions
    nodes: Nodes
    ranges: list[PublishedRanges]
    """Per axis."""
    shown: NDArray[np.bool_]
    """Per node."""
    is_cut: NDArray[np.bool_]
    """Per node: whether its cut is shown."""
    wider: list[list[str]]
    """Per node: the columns with a wider range than the column that was cut."""

    @classmethod
    def of(cls, points: Points, partition: Partition, boxes: Boxes, schema: Schema, constraints: Constraints) -> _Tree | None:
        """Return the tree of cuts; None if nothing was cut or nothing may be shown."""
        decisions = partition.decisions
        if decisions is None or not len(decisions.order):
            return None
        nodes = decisions.nodes()
        shown, is_cut = _shown(nodes, _people(nodes, decisions, points.rows, constraints), constraints.k)
        if not shown[0]:
            return None
        low, high = (_over_nodes(nodes, decisions, points.codes.astype(np.int64), ends) for ends in (np.minimum, np.maximum))
        exact = {
            number: tuple(_over_nodes(nodes, decisions, values[:, np.newaxis], ends)[:, 0] for ends in (np.minimum, np.maximum))
            for number, values in points.exact.items()
        }
        ranges = [
            ranges_of(axis, schema.columns[axis.name], boxes, number, low[:, number], high[:, number], exact.get(number))
            for number, axis in enumerate(points.axes)
        ]
        return cls(points, decisions, nodes, ranges, shown, is_cut, _wider_columns(points, decisions, nodes, low, high))

    @property
    def rows(self) -> NDArray[np.int64]:
        """The number of rows per node."""
        return self.nodes.last - self.nodes.first

    def losses(self) -> NDArray[np.float64]:
        """Return per node the information loss of its rows as one group, as a share of all cells of the table."""
        widths = np.column_stack([ranges.widths(self.points.measure) for ranges in self.ranges])
        weights = np.array(self.points.weights)
        return np.asarray(widths @ weights * self.rows / (self.points.rows * weights.sum()))

    @property
    def loss_of_all(self) -> float:
        return float(self.losses()[0])

    @property
    def loss_of_leaves(self) -> float:
        return float(self.losses()[self.shown & ~self.is_cut].sum())

    def cuts(self) -> list[dict[str, Any]]:
        """Return every cut. The cut of a part comes before the cuts inside this part."""
        numbers, losses = np.cumsum(self.shown, dtype=np.int64), self.losses()
        left, right = self.nodes.left, self.nodes.right
        texts = [ranges.texts() for ranges in self.ranges]
        widths = [ranges.widths("height") for ranges in self.ranges]
        found = []
        for node in np.flatnonzero(self.is_cut).tolist():
            axes = self._axes(node)
            gain = losses[node] - losses[left[node]] - losses[right[node]]
            share = widths[axes[0]][node] if axes and axes[0] < len(widths) else 1.0
            sides = [self._side(numbers, texts, int(side[node]), axes) for side in (left, right)]
            cut = {
                "node": int(numbers[node]),
                "rows": int(self.rows[node]),
                "column": self._name(axes[0]) if axes else None,
                "also": [self._name(axis) for axis in axes[1:]],
                "left": sides[0],
                "right": sides[1],
                "gain": _rounded(gain),
                "why": self._why(node, axes, float(share), float(gain), is_same=sides[0]["values"] == sides[1]["values"]),
            }
            found.append(cut)
        return found

    def leaves(self, labels: NDArray[np.int64], constraints: Constraints) -> list[dict[str, Any]]:
        """Return the parts that are not cut further, each with the published groups that have at least k rows or people in it.

        Other groups are not named, because part and group together would identify fewer than k.
        """
        ends, numbers = self.nodes, np.cumsum(self.shown, dtype=np.int64)
        found = []
        for node in np.flatnonzero(self.shown & ~self.is_cut).tolist():
            rows = self.decisions.order[ends.first[node] : ends.last[node]]
            found.append(
                {"node": int(numbers[node]), "rows": len(rows), "groups": _groups_shown(labels[rows], rows, constraints)}
            )
        return found

    def _axes(self, node: int) -> list[int]:
        """Return the axes that a cut narrows, each once, in the order of choice; none if equal rows were divided into halves."""
        from kohort.kernels.cuts.recorded_cuts import DEALT

        cut = self.nodes.cut[node]
        if self.decisions.reason[cut] == DEALT:
            return []
        number_of = {axis.name: number for number, axis in enumerate(self.points.axes)}
        axes = [axis for axis in self.decisions.axes[cut].tolist() if axis >= 0]
        return list(dict.fromkeys(number_of.get(self._name(axis), axis) for axis in axes))  # the label column may be an axis too

    def _name(self, axis: int) -> str:
        """Return the name of an axis. The number after the last axis is the label column, whose values should stay together."""
        axes, label = self.points.axes, self.points.label
        return axes[axis].name if axis < len(axes) or label is None else label.axes[axis - len(axes)].name

    def _side(self, numbers: NDArray[np.int64], texts: list[list[str]], node: int, axes: list[int]) -> dict[str, Any]:
        values = [texts[axis][node] if axis < len(texts) else ROOT for axis in axes]
        also = {self._name(axis): text for axis, text in zip(axes[1:], values[1:], strict=True)}
        found: dict[str, Any] = {"node": int(numbers[node]), "rows": int(self.rows[node]), "values": values[0] if axes else ROOT}
        return {**found, "also": also} if also else found

    def _why(self, node: int, axes: list[int], share: float, gain: float, *, is_same: bool) -> str:
        """Return the reason for a cut in a few sentences."""
        from kohort.kernels.cuts.recorded_cuts import DEALT, GAIN, WORKLOAD

        cut = self.nodes.cut[node]
        reason = self.decisions.reason[cut]
        if reason == DEALT:
            return "All rows of this part have the same values. Half of them go to each side."
        column = self._name(axes[0])
        first = "The table is first cut into blocks. " if self.decisions.makes_blocks[cut] else ""
        if reason == WORKLOAD:
            return f"{first}A query of the workload separates values of {column} here. The cut makes its answer more exact."
        if reason == GAIN:
            return self._why_by_gain(axes, gain)
        weighted = " (weighted)" if len(set(self.points.weights)) > 1 else ""
        size = f"{100 * share:.0f} % of its range in the whole table"
        if self.wider[node]:
            others = ", ".join(self.wider[node])
            why = f"{column} has the widest range of the columns that can be cut{weighted}: {size}."
            why += f" A cut by {others} would break a promise."
        else:
            why = f"{column} has the widest range of values in this part{weighted}: {size}."
        same = " Both sides show the same text, because this text covers the values of both." if is_same else ""
        return f"{first}{why} It is cut at the median.{same}"

    def _why_by_gain(self, axes: list[int], gain: float) -> str:
        columns = [self._name(axis) for axis in axes]
        if axes[0] >= len(self.points.axes):
            return f"This cut keeps rows with the same value of {columns[0]} together."
        much = f"{100 * gain:.2f} %" if gain >= 0.0001 else "less than 0.01 %"
        lowers = f"lowers the loss most: it keeps {much} of the table's detail"
        if len(columns) == 1:
            return f"Of the cuts that were tried, this one by {columns[0]} {lowers}."
        names = ", ".join(columns)
        return f"Separating the rows that are similar in {names} {lowers}. The other rows lose no more detail than before."


def _groups_shown(labels: NDArray[np.int64], rows: NDArray[np.int64], constraints: Constraints) -> list[int]:
    """Return the groups with at least k of these rows, or of the people that they belong to."""
    pairs = np.column_stack([labels, rows if constraints.units is None else constraints.units[rows]])
    groups, sizes = np.unique(np.unique(pairs[labels >= 0], axis=0)[:, 0], return_counts=True)
    return [int(group) for group in groups[sizes >= constraints.k]]


def _people(nodes: Nodes, decisions: Decisions, rows: int, constraints: Constraints) -> NDArray[np.int64]:
    """Return per node the number of rows or, if there is a unit column, a lower bound of the number of people."""
    if constraints.units is None:
        return nodes.last - nodes.first
    people = np.zeros(len(nodes.cut), np.int64)
    people[nodes.cut < 0] = constraints.sizes(decisions.leaf_labels(rows))
    for node in np.flatnonzero(nodes.cut >= 0)[::-1].tolist():
        people[node] = max(people[nodes.left[node]], people[nodes.right[node]])
    return people


def _shown(nodes: Nodes, people: NDArray[np.int64], k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which nodes may be shown, and which of their cuts: those with at least k on both sides, as every cut should have."""
    shown, is_cut = np.zeros((2, len(people)), np.bool_)
    shown[0] = people[0] >= k
    for node in np.flatnonzero(nodes.cut >= 0).tolist():
        sides = [nodes.left[node], nodes.right[node]]
        if shown[node] and (people[sides] >= k).all():
            shown[sides] = is_cut[node] = True
    return shown, is_cut


def _over_nodes(nodes: Nodes, decisions: Decisions, values: NDArray[Any], ends: np.ufunc) -> NDArray[Any]:
    """Return (nodes, columns): the smallest or largest value of the rows of each node."""
    found = np.empty((len(nodes.cut), values.shape[1]), values.dtype)
    found[nodes.cut < 0] = ends.reduceat(values[decisions.order], decisions.leaf_ends[:-1], axis=0)
    for node in np.flatnonzero(nodes.cut >= 0)[::-1].tolist():
        found[node] = ends(found[nodes.left[node]], found[nodes.right[node]])
    return found


def _wider_columns(
    points: Points, decisions: Decisions, nodes: Nodes, low: NDArray[np.int64], high: NDArray[np.int64]
) -> list[list[str]]:
    """Return per node the columns with a wider range than the column of its cut, with the measure of Mondrian."""
    measure: Measure = "height"
    widths = np.column_stack(
        [
            weight * axis.width(low[:, number], high[:, number], measure, None)
            for number, (axis, weight) in enumerate(zip(points.axes, points.weights, strict=True))
        ]
    )
    chosen = np.where(nodes.cut >= 0, np.append(decisions.axes[:, 0], -1)[nodes.cut], -1)
    wider = widths > widths[np.arange(len(chosen)), np.minimum(chosen, len(points.axes) - 1)][:, np.newaxis] + TOO_LITTLE
    return [[axis.name for axis, is_wider in zip(points.axes, row, strict=True) if is_wider] for row in wider.tolist()]


def _rounded(number: float) -> float:
    return float(f"{max(number, 0.0):.{DIGITS}g}")
