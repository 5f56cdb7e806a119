"""polars frames, eager and lazy. In a release, an Enum has only the values that still occur."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from kohort.tables.frames.frame_library import FrameLibrary, column_by_column, reading, values


def take_polars(source: Any) -> tuple[pa.Table, FrameLibrary]:
    import polars as pl

    lazy = isinstance(source, pl.LazyFrame)
    with reading("polars LazyFrame"):
        frame = source.collect() if lazy else source
    table = column_by_column({series.name: series for series in frame}, _from_polars)
    return table, FrameLibrary(f"polars {type(source).__name__}", partial(_to_polars, dict(frame.schema), lazy))


def _from_polars(_name: str, column: Any) -> pa.ChunkedArray:
    import polars as pl

    if column.dtype == pl.Object:  # polars would export the memory addresses of these objects
        message = "the column contains Python objects"
        raise TypeError(message)
    return column.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).column(0)


def _to_polars(dtypes: Mapping[str, Any], lazy: bool, table: pa.Table, carried: Collection[str]) -> Any:
    import polars as pl

    plain = pa.table([values(column) for column in table.columns], names=table.column_names)
    frame: Any = pl.from_arrow(plain)
    to = {name: _narrowed(dtypes[name], frame[name]) for name in frame.columns if name in carried}
    to |= {
        name: pl.Categorical()
        for name in frame.columns
        if name not in carried and isinstance(dtypes.get(name), (pl.Categorical, pl.Enum))
    }
    frame = frame.cast(to)
    return frame.lazy() if lazy else frame


def _narrowed(dtype: Any, column: Any) -> Any:
    """Return the type with every Enum in it reduced to the values that occur in the column, in the same order."""
    import polars as pl

    if isinstance(dtype, pl.Enum):
        held = set(column.cast(pl.String).unique())
        return pl.Enum([value for value in dtype.categories if value in held])
    if isinstance(dtype, pl.List):
        return pl.List(_narrowed(dtype.inner, column.explode()))
    if isinstance(dtype, pl.Array):
        return pl.Array(_narrowed(dtype.inner, column.explode()), dtype.size)
    if isinstance(dtype, pl.Struct):
        fields = [pl.Field(field.name, _narrowed(field.dtype, column.struct.field(field.name))) for field in dtype.fields]
        return pl.Struct(fields)
    return dtype
