"""Split a table top-down by the gain of each cut: at a number, between a tree node and the rest, or around a box of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import grouped_rows
from kohort.encoding.points import Points
from kohort.methods.search.decisions import Cuts, Decisions
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.cuts.cut_workspace import CutWorkspace
    from kohort.kernels.cuts.gain_cuts import Promised

STEPS = 20  # largest number of axes by which a box is narrowed
LEAST = (4_096, 256, 0)  # parts below these sizes are laid out again before further cuts, because they have fewer values to count


def split_table(points: Points, constraints: Constraints, steps: int, progress: Progress) -> NDArray[np.int64]:
    """Split a table until no valid cut lowers the loss. Return one label per row."""
    return recorded_splits(points, constraints, steps, progress).labels


def recorded_splits(points: Points, constraints: Constraints, steps: int, progress: Progress, *, record: bool = False) -> Cuts:
    """Split a table as `split_table` does. With `record`, return the cuts too."""
    from kohort.kernels.cuts.cut_workspace import lay_out
    from kohort.kernels.cuts.gain_cuts import split
    from kohort.kernels.cuts.recorded_cuts import room_for

    tables, workspace, promised = points.costs(), workspace_for(points, constraints, points.rows), promised_by(constraints)
    labels, rng_state, no_limit = np.zeros(points.rows, np.int64), np.zeros(1, np.uint64), np.iinfo(np.int64).max
    decisions = Decisions.uncut(np.arange(points.rows)) if record else None
    for least in LEAST:
        before, inside = labels.copy() if record else labels, list[Decisions | None]()
        order, first = grouped_rows(labels)
        groups = 0
        for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
            progress.check()
            rows, many, cuts = order[begin:end], 1, None
            if end - begin >= max(least, 2 * constraints.k):
                lay_out(tables, points.codes, rows, workspace)
                cuts = room_for(len(rows), steps) if record else None
                many, _cost = split(constraints.k, promised, rows, workspace, least, steps, 0.0, rng_state, no_limit, cuts)
                parts = np.repeat(np.arange(many), np.diff(workspace.parts[:many], axis=1)[:, 0])
                indices = np.concatenate([np.arange(*part) for part in workspace.parts[:many].tolist()])
                labels[rows[workspace.order[indices]]] = groups + parts
            else:
                labels[rows] = groups
            groups += many
            inside.append(None if cuts is None else Decisions.of(rows[workspace.order[: len(rows)]], cuts))
        decisions = None if decisions is None else decisions.grown(before, inside)
    return Cuts(labels, decisions)


def promised_by(constraints: Constraints) -> Promised | None:
    """Return what one thread needs to check promises other than k; None if there are none."""
    from kohort.kernels.cuts.gain_cuts import Promised

    return Promised(constraints.rules, constraints.tally(), constraints.sensitive_values) if constraints.beyond_k else None


def workspace_for(points: Points, constraints: Constraints, rows: int) -> CutWorkspace:
    """Return scratch arrays for cutting up to this many rows."""
    from kohort.kernels.cuts.cut_workspace import CutWorkspace

    axes, longest = len(points.axes), max((axis.size for axis in points.axes), default=1)
    rows = min(rows, points.rows)
    values = min(rows, longest)
    return CutWorkspace(
        rank=np.empty((axes, rows), np.int32),
        distinct=np.empty(axes, np.int64),
        of_axis=np.empty((axes, 5)),
        ends=np.empty((4, axes, values)),
        gap=np.empty((axes, values), np.int64),
        runs=np.empty((2, axes, 2 * values), np.int32),
        many_runs=np.empty(axes, np.int64),
        counts=np.empty((axes, values), np.int32),
        near=np.empty((3, values + 1), np.int32),
        box=np.empty((3, axes), np.int64),
        kept=np.empty(rows, np.int32),
        depth=np.empty(rows, np.int32),
        order=np.empty(rows, np.int32),
        opened=np.empty((rows + 2, 2 * axes + 2), np.int32),
        parts=np.empty((rows, 2), np.int64),
        values=np.empty(values, np.int64),
        by_code=np.empty(longest, np.int32),
        keys=np.empty(rows, np.int64),
        members=np.empty((rows, constraints.sensitive_values.shape[1]), np.int64),
    )
