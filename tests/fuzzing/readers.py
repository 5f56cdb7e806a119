"""Read the rows of a file with simple readers that are not kohort's."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LONGEST_CELL = 1 << 27  # limit of this reader; kohort uses Python's default limit


def rows_of(folder: Path, name: str, encoding: str | None, columns_needed: Sequence[str]) -> list[dict[str, Any]]:
    path = folder / name
    if path.is_dir() or ("*" in name and not path.exists()):
        files = path.rglob("*.parquet") if path.is_dir() else folder.glob(name)
        pieces = [str(file.relative_to(folder)) for file in files if not file.name.startswith(("_", "."))]
        return [row for piece in pieces for row in rows_of(folder, piece, None, columns_needed)]
    content = path.read_bytes()  # Arrow cannot open file names that are not UTF-8
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _text_rows(pq.ParquetFile(pa.BufferReader(content)).read(list(columns_needed) or None))
    if suffix in (".arrow", ".feather", ".ipc"):
        kind = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
        return _text_rows(kind(pa.BufferReader(content)).read_all())
    if suffix == ".gz":
        content = gzip.decompress(content)
    elif suffix == ".zst":
        content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return _csv_rows(_decoded(content, encoding), columns_needed)


def _text_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return cells as text, because Python cannot represent all dates of Arrow."""

    def texts(column: pa.ChunkedArray) -> list[Any]:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for kind in (pa.string(), pa.int64()):
            with contextlib.suppress(pa.ArrowException):
                return [None if cell is None else str(cell) for cell in plain.cast(kind).to_pylist()]
        return [str(cell) for cell in plain]

    columns = [texts(column) for column in table.columns]
    return [dict(zip(table.column_names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _decoded(content: bytes, encoding: str | None) -> str:
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = next((codec for mark, codec in marks.items() if content.startswith(mark)), None)
    bare = "utf-16-le" if content[1:2] == b"\0" else "utf-16-be" if content[:1] == b"\0" else "utf-8"
    return content.decode(marked or encoding or bare).removeprefix("\ufeff")


def _csv_rows(text: str, columns_needed: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows, with the delimiter for which the header has the requested columns."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        for mark in ",;\t|":
            header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row] or [[]]
            if set(columns_needed or ["disease"]) <= set(header):
                return [dict(zip(header, row, strict=True)) for row in rows]
    finally:
        csv.field_size_limit(limit)
    raise ValueError("no header with these columns")
