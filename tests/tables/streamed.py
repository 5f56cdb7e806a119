"""Compare a stream of batches with the whole table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.errors import KohortError
from kohort.tables import tables
from kohort.tables.files import table_size as shapes
from kohort.tables.tables import FileFormat, Stream
from tests.tables.files.sample_files import RARE


def together(stream: Stream, columns: list[str] | None = None) -> pa.Table:
    """Read a stream once and return the table. Check that no batch is too large."""
    schema = stream.schema if columns is None else pa.schema([stream.schema.field(name) for name in columns])
    batches = list(stream.batches(columns))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.equals(schema, check_metadata=True)
        assert 0 < batch.num_rows <= shapes.ROWS_AT_ONCE
        assert shapes.growing_bytes(batch) <= shapes.BYTES_AT_ONCE or batch.num_rows == 1
    return pa.Table.from_batches(batches, schema)


def require_equal(found: pa.Table, expected: pa.Table) -> None:
    """Check that types and values are equal. The dictionaries of batches may differ, and NaN equals NaN."""
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.equals(expected) or str(found.to_pylist()) == str(expected.to_pylist())


def require_same(source: object, encoding: str | None = None) -> Stream:
    """Check that a stream gives the same table as `read`, also the second time, and for any selection of columns."""
    whole, origin = tables.read(source, encoding)
    stream = tables.open_stream(source, encoding)
    assert stream.schema.equals(whole.schema, check_metadata=True)
    assert stream.origin == origin or (not isinstance(origin, FileFormat) and repr(stream.origin) == repr(origin))
    assert stream.rows in (None, whole.num_rows)
    assert stream.size_in_memory >= 0.9 * whole.nbytes
    for _ in range(2):
        require_equal(together(stream), whole)
    names = whole.column_names
    for some in (names[::-1], names[-1:], names[:1]):
        require_equal(together(stream, some), whole.select(some))
    assert sum(batch.num_rows for batch in stream.batches([])) == whole.num_rows
    return stream


def drained(source: object, encoding: str | None = None) -> pa.Table | str:
    """Read a stream. Return the table, or the error as text."""
    try:
        return together(tables.open_stream(source, encoding))
    except KohortError as error:
        return f"{type(error).__name__} {error}"


def read(source: object, encoding: str | None = None) -> pa.Table | str:
    try:
        return tables.read(source, encoding)[0]
    except KohortError as error:
        return f"{type(error).__name__} {error}"


def wide(lengths: list[int]) -> pa.Table:
    """Return a table with some megabytes of text. In a Parquet file it takes some kilobytes."""
    return pa.table({"q": range(len(lengths)), "s": ["x" * length for length in lengths]})


def written(path: Path, rows: int, cell: str = RARE) -> Path:
    table = pa.table({"q": [f"{number * 7919 % 10007}" for number in range(rows)], "s": [cell] * rows})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1000, compression="zstd", use_dictionary=["s"])
    else:
        path.touch()
        tables.batches_to_file(table.to_batches(max_chunksize=1000), table.schema, path, tables.format_of(path))
    return path
