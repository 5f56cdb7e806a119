"""Workloads: the questions that a release is wanted for, as a file or a list. They are bound to the columns of a table later."""

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
    """One; two of `between`; any number of `in`."""

    def to_list(self) -> list[Any]:
        return [self.column, self.operator, *self.values]


@dataclass(frozen=True)
class Query:
    """An aggregate over the records for which every predicate holds."""

    where: tuple[Predicate, ...]
    aggregate: str = "COUNT"
    column: str | None = None
    """What is aggregated; None for COUNT."""
    weight: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a file; what is usual is left out."""
        facts: dict[str, Any] = {} if self.aggregate == "COUNT" else {"aggregate": self.aggregate, "column": self.column}
        if self.weight != 1:
            facts["weight"] = self.weight
        return {**facts, "where": [predicate.to_list() for predicate in self.where]}


@dataclass(frozen=True)
class Workload:
    """Queries, numbered from 1 in what is said of them."""

    queries: tuple[Query, ...]

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def columns(self) -> list[str]:
        """Every column that is asked of, in the order of the queries."""
        requested = (column for query in self.queries for column in (*(p.column for p in query.where), query.column))
        return [column for column in dict.fromkeys(requested) if column is not None]

    @classmethod
    def load(cls, source: Workload | Mapping[str, Any] | str | os.PathLike[str]) -> Workload:
        """A workload from a TOML file, or from what such a file holds; every mistake at once, each with its query's number.

        >>> Workload.load({"query": [{"where": [["age", ">=", 30]]}]}).queries[0].where[0]
        Predicate(column='age', operator='>=', values=(30,))
        """
        if isinstance(source, Workload):
            return source
        given = source if isinstance(source, Mapping) else _read(Path(source))
        unknown = [name for name in given if name != "query"]
        queries = given.get("query")
        if unknown or not isinstance(queries, Sequence) or isinstance(queries, str) or not queries:
            raise RequestError('A workload is a list of queries: [[query]] where = [["age", ">=", 30]], and nothing else.')
        problems: list[str] = []
        read = [_query(query, problems, f"Query {number}") for number, query in enumerate(queries, start=1)]
        if problems:
            raise RequestError(problems)
        return cls(tuple(read))

    def to_dict(self) -> dict[str, Any]:
        return {"query": [query.to_dict() for query in self.queries]}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads."""
        try:
            Path(path).write_text(tomli_w.dumps(self.to_dict()), encoding="utf-8")
        except OSError as error:
            raise MachineError(f"The workload could not be saved to {path}: {error.strerror}.") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RequestError(f"The workload file {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The workload file {file} is not UTF-8 text.") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"The workload file {file} is not proper TOML: {error}") from None


def _query(given: Any, problems: list[str], where: str) -> Query:
    if not isinstance(given, Mapping):
        problems.append(f"{where} is not a table: [[query]] and below it where = [...].")
        return Query(())
    problems += [f"{where} has no setting {name!r}.{nearest(str(name), SETTINGS)}" for name in given if name not in SETTINGS]
    aggregate, column, weight = str(given.get("aggregate", "COUNT")).upper(), given.get("column"), given.get("weight", 1.0)
    if aggregate not in AGGREGATES:
        hint = did_you_mean(aggregate, AGGREGATES)
        problems.append(f"{where}: the aggregate must be one of {', '.join(AGGREGATES)}.{hint}")
    elif (aggregate == "COUNT") != (column is None):
        facts = "counts records: leave the column out" if aggregate == "COUNT" else f"needs the column to take the {aggregate} of"
        problems.append(f"{where} {facts}.")
    if column is not None and not isinstance(column, str):
        problems.append(f"{where}: the column must be a name.")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < HEAVIEST:
        problems.append(f"{where}: the weight must be a number above 0, below {HEAVIEST:g}.")
        weight = 1.0
    predicates = given.get("where", [])
    if not isinstance(predicates, Sequence) or isinstance(predicates, str):
        problems.append(f'{where}: where must be a list of predicates such as [["age", ">=", 30]].')
        predicates = []
    elif predicates and isinstance(predicates[0], str):
        problems.append(f'{where}: where must be a list of lists, also for one predicate: [["age", ">=", 30]].')
        predicates = []
    requested = tuple(predicate for one in predicates for predicate in _predicate(one, problems, where))
    return Query(requested, aggregate, column if isinstance(column, str) else None, float(weight))


def _predicate(given: Any, problems: list[str], where: str) -> Iterator[Predicate]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) < 2 or not isinstance(given[0], str):
        problems.append(f'{where}: a predicate is a list of column, operator and value(s): ["age", "between", 30, 39].')
        return
    column, operator, *values = given
    operator = str(operator).lower()
    if operator not in OPERATORS:
        problems.append(f"{where}: on {column!r} the operator must be one of {' '.join(OPERATORS)}.")
        return
    if not all(isinstance(value, (bool, int, float, str, date)) for value in values):
        problems.append(f"{where}: on {column!r} values must be numbers, texts or dates.")
        return
    wanted = {"between": "two values, the smaller first", "in": "at least one value"}.get(operator, "one value")
    if not values or (operator != "in" and len(values) != (2 if operator == "between" else 1)):
        problems.append(f"{where}: {operator} on {column!r} takes {wanted}.")
        return
    yield Predicate(column, operator, tuple(values))
