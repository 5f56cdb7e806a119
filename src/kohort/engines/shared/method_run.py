"""Runs the job's method in the same way for every engine: on a whole table, or on one part that cuts have made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints, require_possible
from kohort.encoding import row_order as ordering
from kohort.encoding.points import Points
from kohort.engines.shared.cut_tree import Counting, CutTree
from kohort.engines.shared.final_classes import finalize
from kohort.engines.shared.packed_table import PackedTable, counts_of
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.methods.run import Run, RunSummary, partition_table
from kohort.progress import Progress
from kohort.publishing.boxes import boxes_of
from kohort.publishing.texts import classes_of, texts_of
from kohort.schema.columns import Schema

Ties = Callable[[], NDArray[np.uint64]]
"""Returns the numbers that break ties between rows. It is called only if the order of the rows matters."""


def needs_order(job: Job) -> bool:
    """Whether the release depends on the order in which the method sees the rows."""
    ordered = job.suppress or job.rounds or job.algorithm.uses_row_order(job.method_options())
    return job.row_order == "canonical" and bool(ordered)


def partition_whole(
    job: Job, schema: Schema, points: Points, constraints: Constraints, ties: Ties, progress: Progress
) -> Partition:
    """Return the groups of a whole table, as they will be published."""
    options, seed = job.method_options(), job.seed or 0
    order = ordering.canonical_order(points, ties()) if needs_order(job) else None
    inside, bound = (points, constraints) if order is None else (points.take(order), constraints.take(order))
    made = partition_table(job.algorithm, inside, bound, options, seed, job.block, progress, job.rounds)
    made = made if order is None else made.of_rows(order)

    def class_of_row(partition: Partition) -> NDArray[np.int64]:
        texts = texts_of(schema, points.axes, boxes_of(points, partition, schema))
        return np.append(classes_of(texts), -1)[partition.labels]

    return finalize(points, constraints, made, class_of_row, progress, suppressed_group=job.suppressed == "star")


def partition_part(
    job: Job, points: Points, constraints: Constraints, ties: Ties, progress: Progress
) -> tuple[NDArray[np.int64], RunSummary]:
    """Return the groups of one part of a table. They do not depend on the other parts."""
    order = ordering.canonical_order(points, ties()) if needs_order(job) else None
    inside, bound = (points, constraints) if order is None else (points.take(order), constraints.take(order))
    labels, summary = run_of(job, progress).of_part(inside, bound)
    return _put_back(labels, order), summary


def run_of(job: Job, progress: Progress) -> Run:
    return Run(job.algorithm, job.method_options(), job.seed or 0, job.block, job.rounds, progress)


def _put_back(labels: NDArray[np.int64], order: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if order is None:
        return labels
    back = np.empty_like(labels)
    back[order] = labels
    return back


def require_parts(job: Job, constraints: Constraints, engine: str, why: str) -> None:
    """Raise an error if the job cannot be run part by part. `why` says why parts are needed."""
    method = job.algorithm
    problems = []
    if not (method.in_blocks and job.block) and not _is_plain_cutting(job):
        if method.name == "mondrian":
            flags = {"effort": "--effort", "suppress": "--suppress", "relaxed": "--option relaxed"}
            requested = "effort" if job.rounds else "suppress" if job.suppress else "relaxed"
            problems.append(
                f"The method mondrian with {requested} cannot work in parts: it needs the whole table in memory. "
                f"Leave out {requested} ({flags[requested]}), choose another method (--method)"
            )
        elif method.in_blocks:
            problems.append(
                f"The method {method.name} without blocks (--block 0) cannot work in parts: it needs the whole table in memory. "
                "Set block to a number of rows (--block 20000)"
            )
        else:
            problems.append(
                f"The method {method.name} cannot work in parts: it needs the whole table in memory. "
                "Choose another method (--method auto)"
            )
    if constraints.units is not None and (job.suppress or not constraints.growing_keeps):
        requested = "suppress (--suppress)" if job.suppress else "the promises other than k and l"
        problems.append(
            f"A unit column (--unit) together with {requested} cannot be processed in parts: it needs the whole table in memory. "
            f"Leave out {requested}"
        )
    if constraints.compared_with_table and job.suppress:
        problems.append(
            "t, beta and delta compare each group with all rows that are not suppressed, which are not known while kohort works "
            "in parts. Leave out suppress (--suppress)"
        )
    if problems:
        ways = {"disk": "raise the memory limit (--memory)", "spark": "use the memory or the disk engine (--engine)"}
        raise RequestError([f"{why} {problem}, or {ways[engine]}." for problem in problems])


def require_persons(packed: PackedTable, counting: Counting) -> None:
    """Raise an error if even all people of a table as one group would break a promise. Tables without a unit column were checked
    when they were encoded.
    """
    if packed.persons:
        root = np.zeros(1, np.int64)
        persons = int(counting.persons(CutTree.root(packed.rows), root, root)[0][0].sum())
        # A value has at least as many rows as people, so this check cannot refuse too much. Promises on shares of people are
        # refused by `require_parts`.
        rows = [
            (sensitive_column, counts_of(sensitive_column, packed.held[sensitive_column.name]))
            for sensitive_column in packed.sensitive
        ]
        require_possible(
            packed.promise.k,
            persons,
            "persons",
            [(sensitive_column, np.minimum(many, persons)) for sensitive_column, many in rows],
        )


def _is_plain_cutting(job: Job) -> bool:
    """Return whether the method makes only cuts, so that cutting a part gives the same as cutting the whole table."""
    relaxed = bool(getattr(job.method_options(), "relaxed", False))
    return job.method == "mondrian" and not (job.rounds or job.suppress or relaxed)
