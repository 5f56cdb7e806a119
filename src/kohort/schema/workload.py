"""Workloads: queries that a release should answer well, from a TOML file or a dict.

Here only the form of the queries is checked. `kohort.utility.queries` checks them against the columns of a table.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import tomli_w

from kohort.errors import MachineError, RequestError, did_you_mean, nearest
from kohort.wording import quoted

OPERATORS = ("=", "<", "<=", ">", ">=", "between", "in")
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")
HEAVIEST = 1e100
SETTINGS = ("aggregate", "column", "weight", "where")

Value = bool | int | float | str | date


@dataclass(frozen=True)
class Predicate:
    """A condition on one column."""

    column: str
    operator: str
    values: tuple[Value, ...]
    """One value; two values for `between`; one or more for `in`."""

    def to_list(self) -> list[Any]:
        """Return the condition as it is written in a workload file."""
        return [self.column, self.operator, *self.values]


@dataclass(frozen=True)
class Query:
    """An aggregate over the rows that satisfy all conditions."""

    where: tuple[Predicate, ...]
    aggregate: str = "COUNT"
    column: str | None = None
    """The column that is aggregated; None for COUNT."""
    weight: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the query as it is written in a workload file, without default settings."""
        facts: dict[str, Any] = {} if self.aggregate == "COUNT" else {"aggregate": self.aggregate, "column": self.column}
        if self.weight != 1:
            facts["weight"] = self.weight
        return {**facts, "where": [predicate.to_list() for predicate in self.where]}


@dataclass(frozen=True)
class Workload:
    """Queries that a release should answer well.

    Give a workload to `kohort.anonymize` to optimise the release for its queries, or to `kohort.compare` to measure how well
    releases answer them. Messages number the queries from 1.

    Parameters
    ----------
    queries : tuple of Query
        The queries. `Workload.load` makes them from a file or a dict.

    Attributes
    ----------
    queries : tuple of Query
        The queries.
    columns : list of str
        All columns that the queries use.

    Examples
    --------
    >>> import kohort as kh
    >>> workload = kh.Workload.load({"query": [{"where": [["age", ">=", 30], ["sex", "=", "f"]]}]})
    >>> len(workload), workload.columns
    (1, ['age', 'sex'])

    """

    queries: tuple[Query, ...]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.queries)

    @property
    def columns(self) -> list[str]:
        """All columns that the queries use, in order of first use.

        Examples
        --------
        >>> query = {"aggregate": "AVG", "column": "cost", "where": [["age", ">=", 30]]}
        >>> Workload.load({"query": [query]}).columns
        ['age', 'cost']

        """
        requested = (column for query in self.queries for column in (*(p.column for p in query.where), query.column))
        return [column for column in dict.fromkeys(requested) if column is not None]

    @classmethod
    def load(cls, source: Workload | Mapping[str, Any] | str | os.PathLike[str]) -> Workload:
        """Read a workload from a TOML file, or from a dict with the content of such a file.

        Parameters
        ----------
        source : Workload, dict, str or path
            A TOML file with `[[query]]` tables, or a dict `{"query": [...]}`. A query has `where`, a list of conditions
            `[column, operator, value, ...]`, and optionally `aggregate` (COUNT, SUM, AVG, MIN or MAX; default COUNT),
            `column` (the column to aggregate) and `weight` (default 1). A `Workload` is returned unchanged.

        Returns
        -------
        Workload

        Raises
        ------
        RequestError
            If the file cannot be read or a query has a mistake. The error lists all mistakes, each with the number of its query.

        Examples
        --------
        >>> Workload.load({"query": [{"where": [["age", ">=", 30]]}]}).queries[0].where[0]
        Predicate(column='age', operator='>=', values=(30,))
        >>> Workload.load({"query": [{"where": [["age", "~", 30]]}]})
        Traceback (most recent call last):
        kohort.errors.RequestError: Query 1: the operator for column 'age' must be one of: = < <= > >= between in.

        """
        if isinstance(source, Workload):
            return source
        given = source if isinstance(source, Mapping) else _read(Path(source))
        unknown = [name for name in given if name != "query"]
        queries = given.get("query")
        if unknown or not isinstance(queries, Sequence) or isinstance(queries, str) or not queries:
            raise RequestError(
                "A workload must contain [[query]] tables and nothing else. For each query write [[query]], and in the next line "
                'where = [["age", ">=", 30]].'
            )
        problems: list[str] = []
        read = [_query(query, problems, f"Query {number}") for number, query in enumerate(queries, start=1)]
        if problems:
            raise RequestError(problems)
        return cls(tuple(read))

    def to_dict(self) -> dict[str, Any]:
        """Return the workload as a dict that `load` can read.

        Returns
        -------
        dict
            `{"query": [...]}`, without default settings.

        Examples
        --------
        >>> Workload.load({"query": [{"weight": 2, "where": [["age", "between", 30, 39]]}]}).to_dict()
        {'query': [{'weight': 2.0, 'where': [['age', 'between', 30, 39]]}]}

        """
        return {"query": [query.to_dict() for query in self.queries]}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the workload as a TOML file that `load` can read. An existing file is replaced.

        Parameters
        ----------
        path : str or path
            The file to write.

        Raises
        ------
        MachineError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> workload = Workload.load({"query": [{"where": [["age", ">=", 30]]}]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     workload.save(f"{folder}/queries.toml")
        ...     Workload.load(f"{folder}/queries.toml") == workload
        True

        """
        try:
            Path(path).write_text(tomli_w.dumps(self.to_dict()), encoding="utf-8")
        except OSError as error:
            raise MachineError(
                f"The workload cannot be written to {quoted(path)}: {error.strerror}. Choose another path."
            ) from None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise RequestError(f"There is no workload file {quoted(file)}. Check the name after --workload.") from None
    except OSError as error:
        raise RequestError(f"The workload file {quoted(file)} cannot be read: {error.strerror}. Check the name.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The workload file {quoted(file)} is not UTF-8 text. Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"The workload file {quoted(file)} is not valid TOML: {error}. Correct the file.") from None


def _query(given: Any, problems: list[str], where: str) -> Query:
    if not isinstance(given, Mapping):
        problems.append(f"{where} is not a table. Write [[query]], and in the next line where = [...].")
        return Query(())
    problems += [f"{where} has no setting {name!r}.{nearest(str(name), SETTINGS)}" for name in given if name not in SETTINGS]
    aggregate, column, weight = str(given.get("aggregate", "COUNT")).upper(), given.get("column"), given.get("weight", 1.0)
    if aggregate not in AGGREGATES:
        hint = did_you_mean(aggregate, AGGREGATES)
        problems.append(f"{where}: aggregate must be one of {', '.join(AGGREGATES)}.{hint}")
    elif (aggregate == "COUNT") != (column is None):
        problems.append(
            f"{where}: COUNT counts rows, so it takes no column. Remove column."
            if aggregate == "COUNT"
            else f"{where}: {aggregate} needs a column. Set column."
        )
    if column is not None and not isinstance(column, str):
        problems.append(f"{where}: column must be the name of a column.")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < HEAVIEST:
        problems.append(f"{where}: weight must be a number greater than 0 and less than 10^100.")
        weight = 1.0
    predicates = given.get("where", [])
    if not isinstance(predicates, Sequence) or isinstance(predicates, str):
        problems.append(f'{where}: where must be a list of conditions, such as [["age", ">=", 30]].')
        predicates = []
    elif predicates and isinstance(predicates[0], str):
        problems.append(f'{where}: where must be a list of lists, also for one condition: [["age", ">=", 30]].')
        predicates = []
    requested = tuple(predicate for one in predicates for predicate in _predicate(one, problems, where))
    return Query(requested, aggregate, column if isinstance(column, str) else None, float(weight))


def _predicate(given: Any, problems: list[str], where: str) -> Iterator[Predicate]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) < 2 or not isinstance(given[0], str):
        problems.append(f'{where}: a condition must be a list of a column, an operator and values: ["age", "between", 30, 39].')
        return
    column, operator, *values = given
    operator = str(operator).lower()
    if operator not in OPERATORS:
        problems.append(f"{where}: the operator for column {column!r} must be one of: {' '.join(OPERATORS)}.")
        return
    if not all(isinstance(value, (bool, int, float, str, date)) for value in values):
        problems.append(f"{where}: the values for column {column!r} must be numbers, texts, dates, true or false.")
        return
    needed = {"between": "two values, the smaller first", "in": "at least one value"}.get(operator, "one value")
    if not values or (operator != "in" and len(values) != (2 if operator == "between" else 1)):
        problems.append(f"{where}: the operator {operator} for column {column!r} needs {needed}.")
        return
    yield Predicate(column, operator, tuple(values))
