"""Tables for the contracts, random ones and special cases, and jobs for them."""

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

EXAMPLES = 20  # random tables for each contract
EXAMPLES_PER_PROMISE = 8  # random tables for each promise and contract
ROWS = 24
"""Number of rows of each table of `special_tables` and `special_sensitive`."""
TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*"), ("z", "z", "*"))
"""The tree of the column `tree`: each row is a path from a value to the root."""
COLUMNS = {
    "few": st.integers(0, 3),
    "many": st.integers(-(2**40), 2**40),
    "decimal": st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 2)),
    "text": st.sampled_from(["", "x", "ä", "*", "a,b", '"', "[1 - 2]"]),
    "tree": st.sampled_from([row[0] for row in TREE]),
}
"""By quasi-identifier: the hypothesis strategy for its values."""
QUASI = tuple(COLUMNS)
"""The names of the quasi-identifiers."""
SECRETS = ("gout", "Gout", "mumps", "ebola", "r\u00f6teln", "rabies")
"""The values of the sensitive column `secret`."""
SECRET_TREE = (
    ("gout", "joints", "*"),
    ("Gout", "joints", "*"),
    ("mumps", "children", "infections", "*"),
    ("r\u00f6teln", "children", "infections", "*"),
    ("ebola", "infections", "*"),
    ("rabies", "*"),
)
"""The tree of the sensitive column `secret`. Its branches have different heights."""
EXTRA = ("secret", "score", "ward", "person")
"""The columns other than the quasi-identifiers: sensitive text, a sensitive number, a column to publish unchanged, the person."""
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
"""By column: its Arrow type."""


@st.composite
def tables(draw: st.DrawFn, least: int = 0, most: int = 40) -> pa.Table:
    """Draw small tables with every type of column and with many ties, duplicates and missing values.

    In addition to the quasi-identifiers the tables have a sensitive text and a sensitive number (with few or many different
    values, evenly distributed or skewed, some missing), a column to publish unchanged, and the person of each row.

    Parameters
    ----------
    draw : hypothesis.strategies.DrawFn
        Passed by hypothesis. Callers leave it out.
    least, most : int
        The smallest and the largest number of rows, before the rows are repeated up to three times.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        A strategy that draws `pyarrow.Table` objects.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=3, database=None)
    ... @given(table=tables(least=1, most=5))
    ... def check(table):
    ...     assert 1 <= table.num_rows <= 15
    >>> check()

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
    """Draw the list that sensitive cells are sampled from: some of the values, perhaps the first one often, perhaps missing."""
    different = draw(st.integers(1, len(values)))
    often = draw(st.sampled_from((0, 0, 3, 20)))
    return [*values[:different], *(values[:1] * often), *(missing if draw(st.booleans()) else ())]


def special_tables() -> Iterator[tuple[str, pa.Table]]:
    """Yield the special cases of quasi-identifiers: one value, all unique, all missing, two clusters, one outlier.

    Yields
    ------
    tuple of (str, pyarrow.Table)
        The title of the case, and its table of `ROWS` rows.

    Examples
    --------
    >>> [title for title, table in special_tables()]
    ['one value', 'all unique', 'all missing', 'two heaps', 'one outlier']

    """
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
    """Yield the special cases of a sensitive column: one value, all different, all missing, one different, one missing.

    Yields
    ------
    tuple of (str, pyarrow.Table)
        The title of the case, and its table of `ROWS` rows. The column `secret` holds the case.

    Examples
    --------
    >>> [title for title, table in special_sensitive()]
    ['one value', 'all different', 'all missing', 'one differs', 'one missing']

    """
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
    """Return a table in which every sensitive value occurs twice, so that there are `rows` / 2 different values.

    Parameters
    ----------
    rows : int
        The number of rows.

    Returns
    -------
    pyarrow.Table
        Three quasi-identifiers and the sensitive column `secret`.

    Examples
    --------
    >>> table = many_sensitive(100)
    >>> table.num_rows, len(table.column("secret").unique())
    (100, 50)

    """
    secret = pa.array([str(value) for value in np.random.default_rng(5).permutation(rows) // 2])
    return datasets.census(rows, quasi=3).drop_columns("s1").append_column("secret", secret)


def large_table() -> pa.Table:
    """Return 1,500 rows of 750 people with four quasi-identifiers and three sensitive values of unequal frequency."""
    table = datasets.census(1_500, quasi=4)
    secret = pa.array([SECRETS[number % 3] for number in table.column("s1").to_pylist()])
    person = pa.array([row * 7 % 750 for row in range(1_500)])
    return table.drop_columns("s1").append_column("secret", secret).append_column("person", person)


def enough_for_threads(method: Method, option: dict[str, Any], **requested: Any) -> tuple[pa.Table, Job]:
    """Return a table that is large enough for several threads, and a job for it."""
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
    """Return a job for the tables of `tables`, `special_tables` and `special_sensitive`.

    Parameters
    ----------
    method : Method
        The method, from `kohort.methods.METHODS`.
    option : dict
        Options of the method; see `option_sets`.
    k : int
        The smallest size of a group.
    sensitive, unit : sequence of str
        The sensitive columns, and the unit column if there is one.
    **settings
        Further settings of the job.

    Returns
    -------
    Job
        The job, with a fixed seed.

    Examples
    --------
    >>> from kohort.methods import METHODS
    >>> job = job_for(METHODS["mondrian"], {}, 3, l=2)
    >>> job.promise.k, job.names("sensitive")
    (3, ['secret'])

    """
    measure = settings.get("t_distance")
    measure = measure.get("secret") if isinstance(measure, Mapping) else measure
    trees = (
        {"tree": TREE, "secret": SECRET_TREE} if measure in ("ordered", "tree") else {"tree": TREE}
    )  # texts without a tree have no order
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
    """Return sets of options to check a method with: the defaults, and each example value of each option by itself.

    Parameters
    ----------
    method : Method
        The method, from `kohort.methods.METHODS`.

    Returns
    -------
    list of dict
        The sets of options. The first one is empty: the defaults.

    Examples
    --------
    >>> from kohort.methods import METHODS
    >>> option_sets(METHODS["mondrian"])
    [{}, {'relaxed': True}]

    """
    fields = method.options.model_fields.items()
    return [{}, *({name: value} for name, field in fields for value in field.examples or ())]


def sized(examples: int) -> settings:
    """Return settings of hypothesis for this number of examples, without time limits."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, deadline=None, suppress_health_check=quiet, database=None)
