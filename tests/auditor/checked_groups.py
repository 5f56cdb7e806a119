"""Small releases, given as groups of sensitive values, and what the auditor says of them."""

from __future__ import annotations

import math

import pyarrow as pa

from kohort.auditor.release_checks import Layout, audit
from kohort.schema.promises import Promise, Secrecy
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


def evidence_of(columns, secrecy, *, persons=None, missing=(), grounds=None, k=2):
    """The audit of a table of columns a, b (quasi-identifiers) and sensitive ones."""
    table = pa.table(
        {name: column if isinstance(column, pa.Array) else pa.array(column, pa.string()) for name, column in columns.items()}
    )
    layout = Layout([name for name in columns if name in "ab"], [name for name in columns if name not in "ab"])
    originals = None if persons is None else {"u1": pa.chunked_array([pa.array(persons)])}
    with release_view(table, None, layout, 1, originals, grounds) as run:
        return audit(
            run,
            layout,
            Promise(k=k),
            table.column_names,
            secrecy={name: Secrecy(**asked) for name, asked in secrecy.items()},
            persons=persons is not None,
            missing=missing,
            grounds=grounds,
        )


def checked(classes, asked, ground=None, **options):
    """The one check of a promise about a table that is given as the sensitive values of its classes."""
    columns = {
        "a": [str(number) for number, values in enumerate(classes) for _value in values],
        "s": [value for values in classes for value in values],
    }
    evidence = evidence_of(columns, {"s": asked}, grounds={"s": ground} if ground else None, **options)
    return evidence.checks[2]


def agrees(check, figure):
    return check.found == "inf" if math.isinf(figure) else math.isclose(check.found, figure, rel_tol=1e-5, abs_tol=1e-9)
