"""Repair: merge an invalid group with the group for which the total loss grows least, until all groups are valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.axes import Measure
from kohort.encoding.groups import group_boxes, grouped_rows, merged
from kohort.encoding.points import Points
from kohort.errors import PromiseError
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress
from kohort.schema.promises import Promise

if TYPE_CHECKING:
    from kohort.kernels.clusters.nearest_group import NeighbourBoxes
    from kohort.kernels.core.widths import AxisTables

NEIGHBOURHOOD = 24  # largest number of groups in a neighbourhood


def repair(points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress) -> NDArray[np.int64]:
    """Merge until all groups are valid. The smallest invalid group merges first; ties go to the lowest number.

    Rows with the label -1 stay suppressed.
    """
    labels = merged(labels)
    valid = constraints.valid_groups(labels)
    if valid.all():
        return labels
    if len(valid) > 1:
        labels = merge_failing(points, constraints, labels, valid, progress)
        progress.check()
    if not constraints.valid_groups(labels).all():
        constraints.only(np.flatnonzero(labels >= 0)).require_whole_table()
        raise PromiseError("All rows together, as one group, do not satisfy the promises. Lower the promises.")
    return labels


def merge_failing(
    points: Points,
    constraints: Constraints,
    labels: NDArray[np.int64],
    valid: NDArray[np.bool_],
    progress: Progress,
    *,
    seed: int = -1,
    measure: Measure = "height",
) -> NDArray[np.int64]:
    """Merge until all groups are valid or one group remains.

    The smallest invalid group merges first. With a seed, the next invalid group is drawn at random.
    """
    step = 0
    while len(valid) > 1 and not valid.all():
        progress.check()
        labels, valid, step = _merge_some(points, constraints, labels, valid, progress, seed, step, measure)
    return labels


def _merge_some(
    points: Points,
    constraints: Constraints,
    labels: NDArray[np.int64],
    valid: NDArray[np.bool_],
    progress: Progress,
    seed: int,
    step: int,
    measure: Measure,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """Merge until a quarter of the groups is gone. Then the caller must compute the neighbourhoods again, because groups grew."""
    from kohort.kernels.clusters import merge_groups as merging

    groups = len(valid)
    order, first = grouped_rows(labels)
    head, tail = order[first[:-1]], order[first[1:] - 1]
    following = np.full(points.rows, -1)
    following[order[:-1]] = order[1:]
    following[tail] = -1
    goes_to = np.arange(groups)
    tables = points.kernel_tables(measure)
    boxes, sensitive = _neighbourhoods(points, labels, np.diff(first), head, tables), constraints.sensitive_values
    next_step = merging.merge_failing(
        tables, constraints.rules, constraints.tally(), sensitive, boxes, head, tail, following, valid, goes_to,
        groups * 3 // 4, seed, np.int64(step), np.empty_like(sensitive), progress.slot(),
    )  # fmt: skip
    left = goes_to == np.arange(groups)
    while (goes_to[goes_to] != goes_to).any():  # a group can merge into one that later merges into another
        goes_to = goes_to[goes_to]
    return merged(labels, goes_to), valid[left], int(next_step)


def _neighbourhoods(
    points: Points, labels: NDArray[np.int64], sizes: NDArray[np.int64], head: NDArray[np.int64], tables: AxisTables
) -> NeighbourBoxes:
    """Return the boxes of the groups in neighbourhoods.

    One row represents each group. Cuts divide these rows until a neighbourhood has few groups.
    """
    from kohort.kernels.clusters import nearest_group as neighbours
    from kohort.kernels.core.group_boxes import box_costs

    groups, axes = len(sizes), len(points.axes)
    near = cut_table(points.take(head), Constraints(Promise(k=2), groups), Progress(1), largest=NEIGHBOURHOOD)
    index_to_group = np.argsort(near, kind="stable")
    low, high = (ends[index_to_group] for ends in group_boxes(points, labels))
    costs = np.empty(groups, np.int64)
    box_costs(tables, low, high, costs)
    many = np.bincount(near)
    boxes = neighbours.NeighbourBoxes(
        low=low,
        high=high,
        sizes=sizes[index_to_group],
        costs=costs,
        number=index_to_group,
        index_of=np.argsort(index_to_group),
        home=near[index_to_group],
        first=np.cumsum(many) - many,
        many=many,
        bounds=np.empty((2, axes, len(many)), np.int64),
        most_expensive=np.empty(len(many), np.int64),
        smallest=np.empty(len(many), np.int64),
        least_cost=np.empty(len(many), np.int64),
        by_code=np.empty((axes, max(axis.size for axis in points.axes)), np.int64),
    )
    for neighbourhood in range(len(many)):
        neighbours.update_neighbourhood(boxes, neighbourhood)
    return boxes
