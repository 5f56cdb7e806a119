"""DuckDB relations. The release is a relation on the connection of its source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables.frames.frame_library import FrameLibrary, reading, unsupported_type, values

_ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)+\)")
_CHANGED_BY_ARROW = re.compile(
    r"\b(BIT|UHUGEINT|TIME WITH TIME ZONE)\b"
)  # types whose values DuckDB changes when it exports Arrow


def take_duckdb(relation: Any) -> tuple[pa.Table, FrameLibrary]:
    sql_types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    problems = [
        unsupported_type(name, sql_type)
        for name, sql_type in sql_types.items()
        if _CHANGED_BY_ARROW.search(_ENUM.sub("", sql_type))
    ]
    if problems:
        raise RequestError(problems)
    with reading("DuckDB relation"):
        table = relation.to_arrow_table()
    return table, FrameLibrary("DuckDB relation", partial(_to_duckdb, relation, sql_types))


def _to_duckdb(relation: Any, sql_types: Mapping[str, str], table: pa.Table, carried: Collection[str]) -> Any:
    """Return a relation on the source's connection if it finds Python variables by name, else on the default connection."""
    import duckdb

    casts = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        sql_type = _enum_of_held(sql_types[name], column) if name in carried else "VARCHAR"
        casts.append(f"CAST({quoted} AS {sql_type}) AS {quoted}")
    kohort_release = table
    try:
        return relation.query("kohort_source", f"SELECT {', '.join(casts)} FROM kohort_release")
    except duckdb.Error:
        return duckdb.from_arrow(kohort_release).project(", ".join(casts))


def _enum_of_held(sql_type: str, column: pa.ChunkedArray) -> str:
    """Return an SQL type with every ENUM in it reduced to the values that occur in the column, in the same order."""
    if not _ENUM.search(sql_type):
        return sql_type
    held = set(_texts_in((values(column) if pa.types.is_nested(column.type) else column.unique()).to_pylist()))

    def narrow(found: re.Match[str]) -> str:
        values = re.findall(r"'(?:[^']|'')*'", found[0])
        kept = [value for value in values if value[1:-1].replace("''", "'") in held]
        return f"ENUM({', '.join(kept)})" if kept else "VARCHAR"  # an ENUM cannot be empty

    return _ENUM.sub(narrow, sql_type)


def _texts_in(cells: Any) -> Iterator[str]:
    if isinstance(cells, str):
        yield cells
    elif isinstance(cells, dict):
        yield from _texts_in([*cells, *cells.values()])
    elif isinstance(cells, (list, tuple)):
        for cell in cells:
            yield from _texts_in(cell)
