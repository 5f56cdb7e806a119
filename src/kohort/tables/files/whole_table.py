"""A table in a format that can only be read as a whole, such as a spreadsheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from kohort.errors import KohortError
from kohort.tables.files.table_size import TableSize


@dataclass(frozen=True)
class WholeTable:
    """See `StoredTable`. Every pass over the rows reads the whole file, so the table must fit into memory."""

    load: Callable[[], pa.Table]
    error: str
    """Why the file cannot be read. In the message, this text follows the file's name."""

    def schema(self) -> pa.Schema:
        return self._size.schema

    def table_size(self) -> TableSize:
        return self._size

    def read(self) -> pa.Table:
        return self._loaded()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from self._loaded().select(list(columns)).to_batches()

    def read_error(self) -> str:
        return self.error

    @cached_property
    def _size(self) -> TableSize:
        """The size. It is cached, so that the file is not read again for its column names."""
        table = self._loaded()
        return TableSize(table.schema, table.num_rows, table.nbytes)

    def _loaded(self) -> pa.Table:
        """Load the table. Any other error of a library becomes an Arrow error without its message, for `read_errors.reading`."""
        try:
            return self.load()
        except (KohortError, OSError, MemoryError, pa.ArrowException):
            raise
        except Exception:  # noqa: BLE001 - any library may read the file, and its message may quote cells
            raise pa.ArrowInvalid("the file cannot be read") from None
