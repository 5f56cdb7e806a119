"""The checks of a release in SQL. They are the same on every engine, and a data protection officer can run them again.

The view `release(q1.., s1.., o1..)` is the written file, with each column as text or in its own type. The view `matched` adds to
each column `q1` the source cell it was made from, `q1_original`. It uses the private row map of the run. Groups are formed by the
published values, never by a hash. A missing value counts as a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kohort.auditor import dates, grid, sizes
from kohort.auditor.counts import Run, literal
from kohort.auditor.evidence import Check, Evidence, Verdict
from kohort.auditor.promise_checks import ValueDistance, check_promises
from kohort.schema.promises import Promise, SensitivePromise
from kohort.schema.published_text import Labels, days, interval
from kohort.schema.trees import Tree

__all__ = ["Original", "Run", "ValueDistance", "ViewColumns", "audit"]

MEAN_TOLERANCE = 1e-8  # as a share of the range of the column, because published means are rounded


@dataclass(frozen=True)
class ViewColumns:
    """The columns of the release by role, and their aliases in the view."""

    quasi: Sequence[str]
    """Columns made from quasi-identifiers: ranges, labels or means."""
    sensitive: Sequence[str] = ()
    other: Sequence[str] = ()

    @property
    def aliases(self) -> dict[str, str]:
        """Column names by alias q1, q2, ..., s1, ..., o1, ... SQL uses the aliases, because column names may contain anything."""
        groups = (("q", self.quasi), ("s", self.sensitive), ("o", self.other))
        return {f"{letter}{number}": name for letter, names in groups for number, name in enumerate(names, start=1)}


@dataclass(frozen=True)
class Original:
    """Facts about the source, needed to check every row, column and cell of the release."""

    rows: int
    """Rows that the release must have."""
    columns: Sequence[str]
    """Columns that the release must have, in order."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Aliases published as numbers or ranges, each with the SQL type that stores its numbers exactly."""
    commas: Collection[str] = ()
    """Aliases whose numbers have decimal commas."""
    dates: Mapping[str, str] = field(default_factory=dict)
    """Aliases published as months or years, each with the date format of the source, such as DD.MM.YYYY."""
    means: Mapping[str, float] = field(default_factory=dict)
    """Aliases published as means, each with the range of all its source numbers, suppressed rows included."""
    labels: Mapping[str, Tree | None] = field(default_factory=dict)
    """Aliases published as labels, each with its tree or None."""
    missing: Sequence[str] = ()
    """Texts that mean a missing value in the source, in addition to the empty text."""
    typed: Collection[str] = ()
    """Aliases whose source column has numbers, not text. No text in them can mean a missing value."""
    steps: Mapping[str, Decimal] = field(default_factory=dict)
    """Aliases whose ranges must start and end on a grid, each with the step of the grid."""


def audit(
    run: Run,
    view_columns: ViewColumns,
    promise: Promise,
    found_columns: Sequence[str],
    original: Original | None = None,
    withheld: Sequence[str] | None = None,
    *,
    sensitive_promises: Mapping[str, SensitivePromise] | None = None,
    persons: bool = False,
    missing: Sequence[str] = (),
    value_distances: Mapping[str, ValueDistance] | None = None,
) -> Evidence:
    """Check whether a release keeps its promises and, if `original` is given, whether every row, column and cell is right.

    Parameters
    ----------
    run
        Function that runs SQL on the views.
    view_columns
        Columns of the release by role.
    promise
        The promise k.
    found_columns
        Names of the columns in the release, in order.
    original
        Facts about the source. Without it, rows, columns and cells are not checked.
    withheld
        Columns that must not be in the release. If None, this is not checked.
    sensitive_promises
        Promises of each sensitive column, by column name.
    persons
        Whether to count people instead of rows. The view `matched` then has the person of each row, `u1_original`.
    missing
        Texts that mean a missing value in sensitive columns.
    value_distances
        How to measure distances between values of sensitive columns, by column name.

    """
    aliases = view_columns.aliases
    if not set(aliases.values()) <= set(found_columns):
        expected = original.columns if original is not None else list(aliases.values())
        return Evidence(0, 0, 0, 0, (_columns(found_columns, expected),), aliases)
    quasi = [alias for alias in aliases if alias.startswith("q")]
    by = ", ".join(quasi)
    sizes_of = f"SELECT COUNT(*) AS n FROM release GROUP BY {by}"
    # The sum of squares of a large table does not fit into 64 bits.
    count = f"SELECT MIN(n), COUNT(*), SUM(n), SUM(CAST(n AS DECIMAL(38, 0)) * n) FROM ({sizes_of}) AS per_group"
    smallest, classes, rows, squares = (int(value or 0) for value in run(count)[0])
    smallest, counted = sizes.smallest_in_persons(run, quasi) if persons else (smallest, count)
    checks = [
        Check(
            name="k",
            required=promise.k,
            found=smallest,
            verdict=_verdict(smallest >= promise.k and rows > 0),
            meaning=f"Smallest group of {'people' if persons else 'rows'} with the same published quasi-identifiers. "
            "An empty cell counts as a value.",
            sql=(counted,),
        ),
        sizes.wildcard(run, quasi, classes, promise.k, persons=persons),
        *check_promises(
            run, aliases, sensitive_promises or {}, persons=persons, missing=missing, value_distances=value_distances
        ),
    ]
    if withheld is not None:
        checks += _other_columns(found_columns, aliases, withheld)
    if original is not None:
        checks += [
            Check("rows", original.rows, rows, _verdict(rows == original.rows), "Rows in the release.", (count,)),
            _columns(found_columns, original.columns),
            _cells(run, by, original),
            *([grid.check(run, original.steps, original.commas)] if original.steps else []),
            _carried(run, [alias for alias in aliases if not alias.startswith("q")]),
        ]
    return Evidence(rows, classes, smallest, squares, tuple(checks), aliases)


def _verdict(holds: bool) -> Verdict:
    return "pass" if holds else "fail"


def _other_columns(found: Sequence[str], aliases: Mapping[str, str], withheld: Sequence[str]) -> list[Check]:
    """Check for columns that must not be in the release, and for columns without a role."""
    leaked = sum(name in found for name in withheld)
    unknown = sum(name not in aliases.values() and name not in withheld for name in found)
    return [
        Check("withheld", 0, leaked, _verdict(leaked == 0), "Columns in the release that must not be published."),
        Check("undeclared", 0, unknown, "warn" if unknown else "pass", "Columns without a role. The audit does not check them."),
    ]


def _columns(found: Sequence[str], expected: Sequence[str]) -> Check:
    right = sum(here == there for here, there in zip(found, expected, strict=False))
    return Check(
        name="columns",
        required=len(expected),
        found=right,
        verdict=_verdict(list(found) == list(expected)),
        meaning="Columns in the right order. The release must have exactly the columns that the job publishes.",
    )


def _cells(run: Run, by: str, original: Original) -> Check:
    """Check that every published cell contains its source value, and that every published mean is the mean of its group."""
    wrong = 0
    queries = []
    for alias in (*original.numbers, *original.dates):
        cells = _values(alias, alias, original)
        sql = f"SELECT {alias}, MIN(x), MAX(x), COUNT(v), COUNT(x), COUNT(*) FROM {cells} GROUP BY {alias}"
        queries.append(sql)
        read_interval = days if alias in original.dates else _comma_interval if alias in original.commas else _interval
        wrong += sum(group[-1] for group in run(sql) if not _holds(read_interval, *group))
    for alias, spread in original.means.items():
        cells = _values(alias, by, original)
        sql = f"SELECT {alias}, AVG(x), COUNT(v), COUNT(*) FROM {cells} GROUP BY {by}"
        queries.append(sql)
        read_interval = _comma_interval if alias in original.commas else _interval
        wrong += sum(group[-1] for group in run(sql) if not _is_mean(read_interval, *group, tolerance=spread * MEAN_TOLERANCE))
    for alias, tree in original.labels.items():
        cell = _present(alias, original)
        sql = f"SELECT {alias}, v, COUNT(*) FROM (SELECT {alias}, {cell} AS v FROM matched) AS cells GROUP BY {alias}, v"
        queries.append(sql)
        labels = Labels(tree)
        wrong += sum(rows for text, value, rows in run(sql) if not labels.covers(text, value))
    meaning = "Quasi-identifier cells that do not contain the value they were made from."
    return Check("cells", 0, wrong, _verdict(wrong == 0), meaning, tuple(queries))


def _present(alias: str, original: Original) -> str:
    """Return SQL for a cell of the source: a number or text, NULL if missing."""
    if alias in original.typed:
        return f"{alias}_original"
    tokens = ", ".join(literal(token) for token in ("", *original.missing))
    text = f"CAST({alias}_original AS STRING)"
    return f"CASE WHEN {text} IN ({tokens}) THEN NULL ELSE {text} END"


def _values(alias: str, columns: str, original: Original) -> str:
    """Return a sub-query with the columns, the source cell (v) and the cell as a number or date (x). Missing cells are NULL."""
    if alias in original.dates:
        value = dates.as_date("v", original.dates[alias])
    else:
        number = "REPLACE(v, ',', '.')" if alias in original.commas else "v"
        value = f"TRY_CAST({number} AS {original.numbers.get(alias, 'DOUBLE')})"
    cell = _present(alias, original)
    return f"(SELECT {columns}, v, {value} AS x FROM (SELECT {columns}, {cell} AS v FROM matched) AS texts) AS numbers"


def _interval(text: str) -> tuple[float, float] | None:
    span = interval(text)
    return None if span is None else (span.low, span.high)


def _comma_interval(text: str) -> tuple[float, float] | None:
    return _interval(text.replace(",", "."))


def _holds(
    read_interval: Callable[[str], Any], text: str | None, least: Any, most: Any, present: int, values: int, rows: int
) -> bool:
    """Return whether a published text contains all values from `least` to `most`, and all of them can be read."""
    if text is None:
        return present == 0
    span = read_interval(text)
    if span is None or text == "*":
        return span is not None
    return values == rows and least is not None and most is not None and bool(span[0] <= least and most <= span[1])


def _is_mean(
    read_interval: Callable[[str], Any], text: str | None, mean: float | None, present: int, rows: int, *, tolerance: float
) -> bool:
    if text is None or text == "*":
        return text is not None or present == 0
    span = read_interval(text)
    return (
        span is not None
        and present == rows
        and mean is not None
        and math.isclose(span[0], mean, rel_tol=1e-14, abs_tol=tolerance)
    )


def _carried(run: Run, aliases: Sequence[str]) -> Check:
    meaning = "Cells of all other published columns that differ from the source."
    if not aliases:
        return Check("carried", 0, 0, "pass", meaning)
    differs = ", ".join(f"COUNT(CASE WHEN {alias} IS DISTINCT FROM {alias}_original THEN 1 END)" for alias in aliases)
    sql = f"SELECT {differs} FROM matched"
    wrong = sum(int(value) for value in run(sql)[0])
    return Check("carried", 0, wrong, _verdict(wrong == 0), meaning, (sql,))
