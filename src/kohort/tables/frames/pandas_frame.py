"""pandas. Every column gets its type back. The index is not read, except for the levels that have a role."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import RequestError
from kohort.tables.frames.frame_library import FrameLibrary, cast, column_by_column, values


def levels(frame: Any) -> dict[str, int]:
    """The numbers of an index's levels by name. A name that a column has too means the column."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return {}
    single = frame.index.nlevels == 1
    names = [
        ("index" if single else f"level_{number}") if name is None else name for number, name in enumerate(frame.index.names)
    ]
    return {name: number for number, name in enumerate(names) if isinstance(name, str) and name not in frame.columns}


def take_pandas(frame: Any, wanted: Collection[str]) -> tuple[pa.Table, FrameLibrary]:
    _require_names(frame.columns)
    asked = [(name, frame.index.get_level_values(at).to_series()) for name, at in levels(frame).items() if name in wanted]
    columns = dict([*asked, *frame.items()])
    dtypes = {name: column.dtype for name, column in columns.items()}
    return column_by_column(columns, _from_pandas), FrameLibrary("pandas DataFrame", partial(_to_pandas, dtypes))


def _require_names(columns: Any) -> None:
    """Refuse names that are not distinct texts. Messages have numbers: without a header line, names are cells of a record."""
    if columns.nlevels > 1:
        raise RequestError(
            f"The columns of the data frame have names of {columns.nlevels} levels. Give each column one name "
            "(df.columns = ['_'.join(name) for name in df.columns])."
        )
    doubled = [number for number, twice in enumerate(columns.duplicated(keep=False), start=1) if twice]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(f"Several columns of the data frame have the same name (columns {numbers}). Rename them.")
    unnamed = [number for number, name in enumerate(columns, start=1) if not isinstance(name, str)]
    if unnamed:
        raise RequestError(
            f"{len(unnamed)} column(s) of the data frame have a name that is not text "
            f"(columns {', '.join(map(str, unnamed[:8]))}). Name them by texts (df.columns = [...])."
        )


def _from_pandas(name: str, column: Any) -> pa.Array | pa.ChunkedArray:
    import pandas as pd

    if column.dtype == object:
        types = sorted({one.__name__ for one in set(map(type, column.dropna()))})
        if len(types) > 1:  # Arrow would turn dates with a time into dates, and texts into bytes
            raise RequestError(
                f"Column {name!r} of the data frame holds values of several types ({', '.join(types)}). "
                "Give it values of one type, for example with astype."
            )
    dense = column.sparse.to_dense() if isinstance(column.dtype, pd.SparseDtype) else column
    made = pa.Array.from_pandas(dense)
    if pa.types.is_dictionary(made.type) and isinstance(made.type.value_type, pa.BaseExtensionType):
        message = "categories of a type that Arrow does not know"
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
        if dtype.kind == "O":  # as Python objects: to_pandas would turn integers into floats if one is missing
            return pd.Series(column.to_pylist(), dtype=object)
        return column.to_pandas().astype(dtype).copy()  # Arrow's memory is read-only

    return pd.DataFrame({name: back(name, column) for name, column in zip(table.column_names, table.columns, strict=True)})


def _categories_back(column: pa.ChunkedArray, dtype: Any) -> Any:
    """By their position in the source's categories: Arrow may change how a value is represented."""
    import pandas as pd

    known = pa.Array.from_pandas(dtype.categories).cast(column.type.value_type)
    positions = pc.index_in(values(column), known).fill_null(-1)
    return pd.Series(pd.Categorical.from_codes(positions.to_numpy(), dtype=dtype).remove_unused_categories())
