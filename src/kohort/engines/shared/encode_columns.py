"""Binds a job to the distinct values of its columns, and defines how rows are packed as codes. It needs no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from kohort.constraints.constraints import require_possible
from kohort.encoding.axes import code_dtype
from kohort.encoding.encode import Coding, Distinct, coding_of, label_coding
from kohort.encoding.points import Points
from kohort.encoding.sensitive import SensitiveColumn, sensitive_column_of
from kohort.engines.shared.method_run import needs_order
from kohort.engines.shared.packed_table import PackedColumns, PackedTable, counts_of, facts_of, shares_of
from kohort.errors import RequestError, gathered
from kohort.job.job import Job
from kohort.schema.columns import Schema


def coded_columns(job: Job) -> list[str]:
    """Return the columns whose distinct values the engine must collect."""
    promised = [name for name, promise in job.sensitive_promises().items() if promise.requested]
    label = [job.label] if job.label is not None else []
    return list(dict.fromkeys([*job.names("quasi"), *promised, *label, *job.compared()]))


def coded_table(job: Job, schema: Schema, held: Mapping[str, Distinct], rows: int) -> PackedTable:
    """Return the packed table without rows. Raise an error if even all rows as one group would break a promise."""
    problems: list[str] = []
    codings: dict[str, Coding] = {}
    sensitive: list[SensitiveColumn] = []
    for name, promise in job.sensitive_promises().items():
        if promise.requested:
            with gathered(problems):
                sensitive.append(sensitive_column_of(held[name], schema, promise))
    for name in dict.fromkeys([*schema.quasi, *job.compared()]):
        with gathered(problems):
            codings[name] = coding_of(held[name], schema)
    if problems:
        raise RequestError(problems)
    persons = bool(schema.named("unit"))
    if not persons:  # people are counted later, because the distinct values do not give their number
        require_possible(job.promise.k, rows, "rows", [(one, counts_of(one, held[one.name])) for one in sensitive])

    def group(role: Literal["quasi", "extra"], names: list[str]) -> PackedColumns:
        return PackedColumns(role, tuple(codings[name] for name in names), tuple(schema.columns[name].weight for name in names))

    quasi = group("quasi", schema.quasi)
    axes = tuple(coding.axis for coding in quasi.codings)
    template = Points(np.empty((0, len(axes)), code_dtype(axes)), axes, quasi.weights, objective=job.objective)
    label = None
    if job.label is not None:
        label = PackedColumns("label", (label_coding(held[job.label]),), (sum(quasi.weights) / len(quasi.weights),))
    return PackedTable(
        rows=rows,
        held=held,
        quasi=quasi,
        sensitive=tuple(sensitive),
        shares=tuple(shares_of(sensitive, held)),
        promise=job.promise,
        suppress=job.suppress,
        template=replace(template, whole=facts_of(quasi.codings, held)),
        label=label,
        extra=group("extra", job.compared()) if job.compared() else None,
        persons=persons,
        ordered=needs_order(job),
    )
