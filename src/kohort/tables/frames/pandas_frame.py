"""pandas frames. Columns that are published unchanged keep their type. The index is not read, except for levels with a role."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import RequestError
from kohort.tables.frames.frame_library import FrameLibrary, cast, column_by_column, values
from kohort.wording import counted


def levels(frame: Any) -> dict[str, int]:
    """Return the numbers of the index levels by name. A level with the same name as a column is left out."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return {}
    single = frame.index.nlevels == 1
    names = [
        ("index" if single else f"level_{number}") if name is None else name for number, name in enumerate(frame.index.names)
    ]
    return {name: number for number, name in enumerate(names) if isinstance(name, str) and name not in frame.columns}


def take_pandas(frame: Any, role_columns: Collection[str]) -> tuple[pa.Table, FrameLibrary]:
    _require_names(frame.columns)
    index_columns = [
        (name, frame.index.get_level_values(at).to_series()) for name, at in levels(frame).items() if name in role_columns
    ]
    columns = dict([*index_columns, *frame.items()])
    dtypes = {name: column.dtype for name, column in columns.items()}
    return column_by_column(columns, _from_pandas), FrameLibrary("pandas DataFrame", partial(_to_pandas, dtypes))


def _require_names(columns: Any) -> None:
    """Raise a RequestError if column names are not distinct text.

    The messages give column numbers, not names: in a table without a header line, the names are cells of a row.
    """
    if columns.nlevels > 1:
        raise RequestError(
            f"The column names of the data frame have {columns.nlevels} levels. Give each column a single name "
            "(df.columns = ['_'.join(name) for name in df.columns])."
        )
    doubled = [number for number, twice in enumerate(columns.duplicated(keep=False), start=1) if twice]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(
            f"Several columns of the data frame have the same name (columns {numbers}). Give each column its own name."
        )
    unnamed = [number for number, name in enumerate(columns, start=1) if not isinstance(name, str)]
    if unnamed:
        raise RequestError(
            f"The data frame has {counted(len(unnamed), 'column')} whose name is not text "
            f"(columns {', '.join(map(str, unnamed[:8]))}). Rename them to text (df.columns = [...])."
        )


def _from_pandas(name: str, column: Any) -> pa.Array | pa.ChunkedArray:
    import pandas as pd

    if column.dtype == object:
        types = sorted({one.__name__ for one in set(map(type, column.dropna()))})
        if len(types) > 1:  # Arrow would convert timestamps to dates, and text to bytes
            raise RequestError(
                f"Column {name!r} of the data frame contains values of several types ({', '.join(types)}). "
                'Convert it to one type, for example with astype("string").'
            )
    dense = column.sparse.to_dense() if isinstance(column.dtype, pd.SparseDtype) else column
    made = pa.Array.from_pandas(dense)
    if pa.types.is_dictionary(made.type) and isinstance(made.type.value_type, pa.BaseExtensionType):
        message = "the categories have a type that Arrow does not support"
        raise TypeError(message)
    return made


def _to_pandas(dtypes: Mapping[str, Any], table: pa.Table, carried: Collection[str]) -> Any:
    import pandas as pd

    def back(name: str, column: pa.ChunkedArray) -> Any:
        dtype: Any = dtypes.get(name)
        if name not in carried:
            return (column if isinstance(dtype, pd.CategoricalDtype) else values(column)).to_pandas()
        if isinstance(dtype, pd.CategoricalDtype):
            return _categories_back(column, dtype)
        if hasattr(dtype, "__from_arrow__"):
            data_type = getattr(dtype, "pyarrow_dtype", column.type)
            return pd.Series(dtype.__from_arrow__(cast(column, data_type)))
        if dtype.kind == "O":  # as Python objects, because to_pandas converts integers to floats if a value is missing
            return pd.Series(column.to_pylist(), dtype=object)
        return column.to_pandas().astype(dtype).copy()  # Arrow's memory is read-only

    return pd.DataFrame({name: back(name, column) for name, column in zip(table.column_names, table.columns, strict=True)})


def _categories_back(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a categorical column.

    Values are found by their position in the source's categories, because Arrow may represent a value differently.
    """
    import pandas as pd

    known = pa.Array.from_pandas(dtype.categories).cast(column.type.value_type)
    positions = pc.index_in(values(column), known).fill_null(-1)
    return pd.Series(pd.Categorical.from_codes(positions.to_numpy(), dtype=dtype).remove_unused_categories())
