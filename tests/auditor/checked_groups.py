"""Small releases, given as groups of sensitive values, and the result of their audit."""

from __future__ import annotations

import math

import pyarrow as pa

from kohort.auditor.release_checks import ViewColumns, audit
from kohort.schema.promises import Promise, SensitivePromise
from kohort.verification.duckdb_views import release_view

TREE: list[tuple[str, ...]] = [
    ("1", "low", "small", "*"),
    ("2", "low", "small", "*"),
    ("10", "mid", "small", "*"),
    ("unused", "mid", "small", "*"),
    ("3.5", "small", "*"),
    ("-4", "negative", "*"),
    ("2.0", "*"),
]


def evidence_of(columns, sensitive_promises, *, persons=None, missing=(), value_distances=None, k=2):
    """Audit a table. Columns a and b are quasi-identifiers, all others are sensitive."""
    table = pa.table(
        {name: column if isinstance(column, pa.Array) else pa.array(column, pa.string()) for name, column in columns.items()}
    )
    view_columns = ViewColumns([name for name in columns if name in "ab"], [name for name in columns if name not in "ab"])
    originals = None if persons is None else {"u1": pa.chunked_array([pa.array(persons)])}
    with release_view(table, None, view_columns, 1, originals, value_distances) as run:
        return audit(
            run,
            view_columns,
            Promise(k=k),
            table.column_names,
            sensitive_promises={name: SensitivePromise(**requested) for name, requested in sensitive_promises.items()},
            persons=persons is not None,
            missing=missing,
            value_distances=value_distances,
        )


def checked(groups, requested, value_distance=None, **options):
    """Return the check of a promise. `groups` lists the sensitive values of each group."""
    columns = {
        "a": [str(number) for number, values in enumerate(groups) for _value in values],
        "s": [value for values in groups for value in values],
    }
    evidence = evidence_of(
        columns, {"s": requested}, value_distances={"s": value_distance} if value_distance else None, **options
    )
    return evidence.checks[2]


def agrees(check, figure):
    """Return whether the check found this figure, except for rounding."""
    return check.found == "inf" if math.isinf(figure) else math.isclose(check.found, figure, rel_tol=1e-5, abs_tol=1e-9)
