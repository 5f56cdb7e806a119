"""Tables that Spark reads: files that this machine sees too, addresses, tables by name, data frames.

Text and Arrow files are read by our own reader, in Spark's tasks: Spark's would take a row that is cut short for a shorter row,
and the columns of a second file in the order of the first. Parquet is read by Spark, from files whose columns agree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from kohort.engines.spark import folders as spark_folders
from kohort.engines.spark.session import Batches, speaking_plainly, telling
from kohort.errors import RequestError, listed
from kohort.tables import streams, tables
from kohort.tables.files import file_sets as folders
from kohort.tables.files.source_file import SourceFile
from kohort.tables.locations import location_of
from kohort.tables.tables import Format

ZONE = "spark.sql.session.timeZone"
WILD = re.compile(r"([\\*?\[\]{}])")
ELSE = "or take another engine (--engine)."


@dataclass(frozen=True)
class Source:
    """A table whose columns go by place, as x0, x1, ...: names can hold anything, and Spark does not tell Age from age."""

    cells: Any
    kinds: pa.Schema
    """The columns' own names, and their types."""
    form: Format | None = None
    """Of files."""
    files: tuple[str, ...] = ()
    """That it is read from, as far as Spark tells."""
    is_slow: bool = False
    """Whether it is better read once and kept."""


def is_spark_frame(source: Any) -> bool:
    """Whether something is a table of Spark's, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


def read(spark: Any, source: Any, encoding: str | None) -> Source:
    """Whatever can be named or given."""
    with speaking_plainly("The table could not be read by Spark"):
        if is_spark_frame(source):
            return _of_frame(source)
        if not isinstance(source, (str, os.PathLike)):  # small enough to be at hand
            return _of_table(spark, tables.read(source, encoding)[0])
        place = location_of(source)
        if isinstance(place, str):
            return _at_address(spark, place)
        if "/" not in str(place) and not place.exists() and not tables.kind_of(place) and _is_table(spark, str(place)):
            return _of_frame(spark.table(str(place)))
        source_files = folders.source_files_of(place, encoding)
        return (
            _of_parquet(spark, source_files, place) if source_files[0].form.kind == "parquet" else _of_pieces(spark, source_files)
        )


def _is_table(spark: Any, name: str) -> bool:
    """Whether Spark has a table of this name; what cannot be one is none."""
    from pyspark.errors import ParseException

    try:
        return bool(spark.catalog.tableExists(name))
    except ParseException:
        return False


def _of_frame(frame: Any, form: Format | None = None) -> Source:
    from pyspark.sql.types import StringType

    if frame.isStreaming:
        raise RequestError("A release is made of a table that stands still, not of a stream. Write the stream's rows to a table.")
    _require_arrow(frame)
    tables.require_distinct(frame.columns)
    kinds = pa.schema([(field.name, _plain(field.type)) for field in frame.limit(0).toArrow().schema])
    cells = frame.toDF(*_by_place(kinds))
    texts = [field for field in cells.schema if isinstance(field.dataType, StringType)]
    # Texts that a collation takes for equal are different texts.
    collated = {field.name: cells[field.name].cast(StringType()) for field in texts if field.dataType != StringType()}
    return Source(cells.withColumns(collated), _with_zone(frame.sparkSession, kinds), form, tuple(frame.inputFiles()))


def _of_table(spark: Any, table: pa.Table) -> Source:
    from pyspark.sql.pandas.types import from_arrow_schema

    _require_types(table.schema, pa.types.is_unsigned_integer)
    # Else a time without a zone would become a moment in the session's.
    found = _of_frame(spark.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True)))
    return replace(found, kinds=_own_zones(table.schema, found.kinds))


def _require_arrow(frame: Any) -> None:
    """Refuse what cannot come here at all."""
    from pyspark.sql import types

    names = ("CalendarIntervalType", "YearMonthIntervalType", "VariantType")
    foreign = tuple(getattr(types, name) for name in names if hasattr(types, name))
    wrong = [field for field in frame.schema if isinstance(field.dataType, foreign)]
    if wrong:
        told = [f"Column {field.name!r} is {field.dataType.simpleString()}, which only Spark knows." for field in wrong]
        raise RequestError([f"{problem} Leave it out of the data frame, or make text of it." for problem in told])


def _with_zone(spark: Any, kinds: pa.Schema) -> pa.Schema:
    """Spark's moments are told on the clock of its session."""
    moments = [field.name for field in kinds if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    if not moments:
        return kinds
    kind = pa.timestamp("us", spark.conf.get(ZONE))
    try:
        pc.local_timestamp(pa.scalar(0, kind))
    except pa.ArrowException:
        raise RequestError(
            f"The session's time zone {kind.tz} is not known here. Set {ZONE} to one such as UTC or Europe/Berlin."
        ) from None
    return pa.schema([(field.name, kind if field.name in moments else field.type) for field in kinds])


def _own_zones(own: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Spark knows moments, not the zone in which a column tells them. What it made a moment of is one of its session's."""

    def kind(mine: pa.DataType, its: pa.DataType) -> pa.DataType:
        return mine if pa.types.is_timestamp(its) and (mine.tz is None) == (its.tz is None) else its

    return pa.schema([(mine.name, kind(mine.type, its.type)) for mine, its in zip(own, found, strict=True)])


def _by_place(kinds: pa.Schema) -> list[str]:
    return [f"x{number}" for number in range(len(kinds))]


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type as files have it: Spark's texts come in any of three, and nothing at all is a type too."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    texts = pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null
    return pa.string() if any(test(kind) for test in texts) else kind


# --- files that this machine sees


def _of_pieces(spark: Any, source_files: Sequence[SourceFile]) -> Source:
    """Each file by one task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = streams.of_source_files(source_files).schema
    tables.require_distinct(schema.names)
    kinds = pa.schema([(field.name, _plain(field.type)) for field in schema])
    _require_types(kinds, pa.types.is_unsigned_integer)
    columns = from_arrow_schema(pa.schema(list(zip(_by_place(kinds), kinds.types, strict=True))))
    numbers = spark.range(0, len(source_files), 1, len(source_files))
    return Source(
        numbers.mapInArrow(telling(_reading(source_files, kinds)), columns),
        kinds,
        source_files[0].form,
        _uris(source_files),
        is_slow=True,
    )


def _reading(source_files: Sequence[SourceFile], wanted: pa.Schema) -> Callable[[Batches], Batches]:
    names = _by_place(wanted)

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in streams.read_source_file(source_files[number], wanted):
                    yield pa.record_batch(rows.columns, names=names)

    return run


def _of_parquet(spark: Any, source_files: Sequence[SourceFile], place: Path) -> Source:
    """By Spark, after a look at what the files hold."""
    own = streams.of_source_files(source_files).schema
    tables.require_distinct(own.names)
    _require_types(own)
    folded = [name.casefold() for name in own.names]
    twins = [name for name in own.names if folded.count(name.casefold()) > 1]
    if twins:
        raise RequestError(f"Columns {listed(twins)} differ only in case, which Spark does not tell apart. Rename one, {ELSE}")
    reader = spark.read
    if folders.is_many(place):
        reader = reader.option("basePath", escaped(str(folders.base_of(place).absolute())))
    frame = _keys_as_text(
        reader, [escaped(str(source_file.path.absolute())) for source_file in source_files], set(source_files[0].keys)
    )
    found = _of_frame(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in own.names)), source_files[0].form)
    return Source(found.cells, _own_zones(own, found.kinds), found.form, _uris(source_files))


def _require_types(schema: pa.Schema, *more: Callable[[pa.DataType], bool]) -> None:
    """Refuse what Spark has no type for, before it says so in its own words; its Parquet reader finds one for more of them."""
    unknown = _is_nanoseconds, pa.types.is_time, pa.types.is_decimal256, pa.types.is_duration, *more
    wrong = [field for field in schema if any(test(field.type) for test in unknown)]
    if wrong:
        told = [
            f"Column {field.name!r} is {field.type}, which Spark does not know. Write it as another type, {ELSE}"
            for field in wrong
        ]
        raise RequestError(told)


def _is_nanoseconds(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and str(kind.unit) == "ns"


def _keys_as_text(reader: Any, paths: Sequence[str], keys: Collection[str]) -> Any:
    """Parquet files; folders named `zip=01` stand for the text 01, whatever it looks like."""
    from pyspark.sql.types import StringType, StructField, StructType

    frame = reader.parquet(*paths)
    if not keys:
        return frame
    fields = [StructField(field.name, StringType()) if field.name in keys else field for field in frame.schema]
    return reader.schema(StructType(fields)).parquet(*paths)


def escaped(path: str) -> str:
    """A path as Spark reads names: marks of patterns stand for themselves."""
    return WILD.sub(r"\\\1", path)


def _uris(source_files: Sequence[SourceFile]) -> tuple[str, ...]:
    return tuple(source_file.path.absolute().as_uri() for source_file in source_files)


# --- addresses


def _at_address(spark: Any, address: str) -> Source:
    names = spark_folders.files_at(spark, address)
    if not names:
        raise RequestError(f"There is no table at {address}. Check its name and folder.")
    kind = next(filter(None, (tables.kind_of(Path(name)) for name in [address, *names])), None)
    if kind != "parquet":
        raise RequestError(
            f"{address} does not hold Parquet, which is all that is read from an address. Write it as Parquet, or read it with "
            "Spark and give the data frame."
        )
    reader = spark.read.option("mergeSchema", "true")
    below = {part for file in reader.parquet(address).inputFiles() for part in file.split("/")[:-1]}
    keys = {unquote(part.partition("=")[0]) for part in below if "=" in part and part not in address.split("/")}
    return _of_frame(_keys_as_text(reader, [address], keys), Format("parquet"))
