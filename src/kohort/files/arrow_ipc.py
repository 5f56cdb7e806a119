"""Arrow IPC files: the file format is read and written, the stream format is read too."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

FILE_BEGINS = b"ARROW1"
STREAM_ENDS = b"\xff\xff\xff\xff\0\0\0\0"


def read(path: Path) -> pa.Table:
    """All of it in memory: a mapped source could change, or shrink, under a run."""
    with pa.OSFile(str(path)) as file:
        return _open(file).read_all()


def read_mapped(path: Path) -> pa.Table:
    """The table where it lies, for files that nobody else writes to."""
    return _open(pa.memory_map(str(path))).read_all()


def column_names(path: Path) -> list[str]:
    with pa.OSFile(str(path)) as file:
        return list(_open(file).schema.names)


def _open(file: Any) -> Any:
    beginning = file.read(len(FILE_BEGINS))
    if beginning == FILE_BEGINS:
        return pa.ipc.open_file(file)
    size = file.size()
    file.seek(max(0, size - len(STREAM_ENDS)))
    if file.read() != STREAM_ENDS:  # the reader would take a stream cut between two batches for a whole one
        raise pa.ArrowInvalid("no end of stream")
    file.seek(0)
    return pa.ipc.open_stream(file)


def write(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
    options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)  # a file has one dictionary a column, inside lists too
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
        if any(pa.types.is_nested(field.type) for field in schema):
            writer.write_table(pa.Table.from_batches(batches, schema))
        else:
            for batch in batches:
                writer.write_batch(batch)
