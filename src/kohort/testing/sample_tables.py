"""The tables that contracts are tried on, random ones and corners, and jobs for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kohort import datasets
from kohort.job.job import Job
from kohort.methods import Method

EXAMPLES = 20
EXAMPLES_PER_PROMISE = 8  # for each promise and contract
ROWS = 24
TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*"), ("z", "z", "*"))
COLUMNS = {
    "few": st.integers(0, 3),
    "many": st.integers(-(2**40), 2**40),
    "decimal": st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 2)),
    "text": st.sampled_from(["", "x", "ä", "*", "a,b", '"', "[1 - 2]"]),
    "tree": st.sampled_from([row[0] for row in TREE]),
}
QUASI = tuple(COLUMNS)
SECRETS = ("gout", "Gout", "mumps", "ebola", "r\u00f6teln", "rabies")
SECRET_TREE = (
    ("gout", "joints", "*"),
    ("Gout", "joints", "*"),
    ("mumps", "children", "infections", "*"),
    ("r\u00f6teln", "children", "infections", "*"),
    ("ebola", "infections", "*"),
    ("rabies", "*"),
)
EXTRA = ("secret", "score", "ward", "person")
KINDS = {
    "few": pa.int64(),
    "many": pa.int64(),
    "decimal": pa.float64(),
    "text": pa.string(),
    "tree": pa.string(),
    "secret": pa.string(),
    "score": pa.int64(),
    "ward": pa.string(),
    "person": pa.int64(),
}


@st.composite
def tables(draw: st.DrawFn, least: int = 0, most: int = 40) -> pa.Table:
    """Small tables of every kind of column, rich in ties, duplicates and missing values.

    Beside the quasi-identifiers: sensitive text and numbers (few or several, even or skewed, some missing), a column to pass
    on, and whose each row is.
    """
    rows = draw(st.integers(least, most))
    cells = {
        name: draw(st.lists(st.one_of(st.none(), values) if draw(st.booleans()) else values, min_size=rows, max_size=rows))
        for name, values in COLUMNS.items()
    }
    extra = {
        "secret": _sensitive(draw, SECRETS, ("", None)),
        "score": _sensitive(draw, tuple(range(7)), (None,)),
        "ward": ["north", "", None],
        "person": list(range(max(1, rows // draw(st.integers(1, 3))))),
    }
    cells |= {name: draw(st.lists(st.sampled_from(extra[name]), min_size=rows, max_size=rows)) for name in EXTRA}
    made = pa.table({name: pa.array(cells[name], arrow_type) for name, arrow_type in KINDS.items()})
    copies = draw(st.integers(1, 3))
    return pa.concat_tables([made] * copies)


def _sensitive(draw: st.DrawFn, values: tuple[Any, ...], missing: tuple[Any, ...]) -> list[Any]:
    """What sensitive cells are drawn from: the first so many values, the first of them perhaps often, perhaps missing ones."""
    different = draw(st.integers(1, len(values)))
    often = draw(st.sampled_from((0, 0, 3, 20)))
    return [*values[:different], *(values[:1] * often), *(missing if draw(st.booleans()) else ())]


def special_tables() -> Iterator[tuple[str, pa.Table]]:
    """The corners: one value, all unique, all missing, two heaps, one outlier."""
    rows = ROWS
    same, other = dict(zip(QUASI, (0, -9, 0.5, "x", "a"), strict=True)), dict(zip(QUASI, (3, 10**9, 1e5, "y", "e"), strict=True))
    cells: dict[str, dict[str, list[Any]]] = {
        "one value": {name: [same[name]] * rows for name in QUASI},
        "all unique": {
            "few": list(range(rows)),
            "many": [7**i % 10**9 for i in range(rows)],
            "decimal": [i / 7 for i in range(rows)],
            "text": [f"t{i}" for i in range(rows)],
            "tree": [TREE[i % len(TREE)][0] for i in range(rows)],
        },
        "all missing": {name: [None] * rows for name in QUASI},
        "two heaps": {name: [same[name]] * 11 + [other[name]] * 13 for name in QUASI},
        "one outlier": {name: [same[name]] * 23 + [other[name] if name != "tree" else None] for name in QUASI},
    }
    for title, columns in cells.items():
        columns |= {"secret": ["gout", "ebola"] * (rows // 2), "score": list(range(rows)), "ward": ["north"] * rows}
        columns["person"] = [row // 2 for row in range(rows)]
        yield title, pa.table({name: pa.array(columns[name], arrow_type) for name, arrow_type in KINDS.items()})


def special_sensitive() -> Iterator[tuple[str, pa.Table]]:
    """The corners of a sensitive column: one value, all different, all missing, one who differs, one who is missing."""
    table = dict(special_tables())["all unique"]
    for title, values in {
        "one value": ["7"] * ROWS,
        "all different": [str(row) for row in range(ROWS)],
        "all missing": ["", None] * (ROWS // 2),
        "one differs": ["1", *["7"] * (ROWS - 1)],
        "one missing": [None, *["7", "8", "9"] * ROWS][:ROWS],
    }.items():
        yield title, table.set_column(table.column_names.index("secret"), "secret", pa.array(values, pa.string()))


def many_sensitive(rows: int = 20_000) -> pa.Table:
    """So many rows, half as many different sensitive values."""
    secret = pa.array([str(value) for value in np.random.default_rng(5).permutation(rows) // 2])
    return datasets.census(rows, quasi=3).drop_columns("s1").append_column("secret", secret)


def large_table() -> pa.Table:
    """1,500 rows of 750 persons, four quasi-identifiers, three sensitive values of unequal shares."""
    table = datasets.census(1_500, quasi=4)
    secret = pa.array([SECRETS[number % 3] for number in table.column("s1").to_pylist()])
    person = pa.array([row * 7 % 750 for row in range(1_500)])
    return table.drop_columns("s1").append_column("secret", secret).append_column("person", person)


def enough_for_threads(method: Method, option: dict[str, Any], **requested: Any) -> tuple[pa.Table, Job]:
    """A table that is worked on in several parts at once, and a job for it."""
    table = datasets.census(3_000 if method.in_blocks else 70_000, quasi=5)
    columns = {"quasi": table.column_names[:5], "sensitive": "s1"}
    return table, Job.build(**columns, method=method.name, option=option, k=10, seed=7, block=1_000, **requested)


def job_for(
    method: Method,
    option: dict[str, Any],
    k: int,
    *,
    sensitive: Sequence[str] = ("secret",),
    unit: Sequence[str] = (),
    **settings: Any,
) -> Job:
    """A job for the tables above."""
    measure = settings.get("t_distance")
    measure = measure.get("secret") if isinstance(measure, Mapping) else measure
    trees = {"tree": TREE, "secret": SECRET_TREE} if measure in ("ordered", "tree") else {"tree": TREE}  # text has no order
    return Job.build(
        quasi=QUASI,
        sensitive=sensitive,
        unit=unit,
        other="ward",
        allow="ward",
        drop=[name for name in EXTRA if name not in {*sensitive, *unit, "ward"}],
        hierarchy=settings.pop("hierarchy", trees),
        method=method.name,
        option=option,
        k=k,
        seed=7,
        **settings,
    )


def option_sets(method: Method) -> list[dict[str, Any]]:
    """The defaults, and the examples of each option, one at a time."""
    fields = method.options.model_fields.items()
    return [{}, *({name: value} for name, field in fields for value in field.examples or ())]


def sized(examples: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, deadline=None, suppress_health_check=quiet, database=None)
