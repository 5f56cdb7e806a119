"""Tables that Spark reads: files that this machine sees too, addresses, tables by name, data frames.

Most formats are read by kohort's own reader, in Spark's tasks. Spark's CSV reader would read a row that is cut short as a shorter
row, and the columns of a second file in the order of the first. Spark reads formats that are `is_read_by_spark`: Parquet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from kohort.engines.spark import release_folder as spark_folders
from kohort.engines.spark.session import Batches, speaking_plainly, telling
from kohort.errors import RequestError, listed
from kohort.tables import streams, tables
from kohort.tables.files import file_sets
from kohort.tables.files.source_file import SourceFile
from kohort.tables.tables import FORMATS, FileFormat, Source

ZONE = "spark.sql.session.timeZone"
WILD = re.compile(r"([\\*?\[\]{}])")
ELSE = "or take another engine (--engine)."


@dataclass(frozen=True)
class SparkTable:
    """A table whose columns go by place, as x0, x1, ...: names can hold anything, and Spark does not tell Age from age."""

    cells: Any
    arrow_schema: pa.Schema
    """The columns' own names, and their types."""
    file_format: FileFormat | None = None
    """Of files."""
    files: tuple[str, ...] = ()
    """That it is read from, as far as Spark tells."""
    is_slow: bool = False
    """Whether it is better read once and kept."""


def is_spark_frame(source: Any) -> bool:
    """Whether something is a table of Spark's, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


def read(spark: Any, source: Source) -> SparkTable:
    """A table that was named or given."""
    with speaking_plainly("The table could not be read by Spark"):
        if is_spark_frame(source.given):
            return _of_frame(source.given)
        place = source.location
        if place is None:  # a data frame is in memory already
            return _of_table(spark, source.read())
        if isinstance(place, str):
            return _at_address(spark, place)
        if "/" not in str(place) and not place.exists() and not tables.format_named(place) and _is_table(spark, str(place)):
            return _of_frame(spark.table(str(place)))
        source_files = source.source_files
        by_spark = source_files[0].file_format.is_read_by_spark
        return _by_spark(spark, source_files, place) if by_spark else _of_source_files(spark, source_files)


def _is_table(spark: Any, name: str) -> bool:
    """Whether Spark has a table of this name; what cannot be one is none."""
    from pyspark.errors import ParseException

    try:
        return bool(spark.catalog.tableExists(name))
    except ParseException:
        return False


def _of_frame(frame: Any, file_format: FileFormat | None = None) -> SparkTable:
    from pyspark.sql.types import StringType

    if frame.isStreaming:
        raise RequestError("A release is made of a table that stands still, not of a stream. Write the stream's rows to a table.")
    _require_arrow(frame)
    tables.require_distinct(frame.columns)
    arrow_schema = pa.schema([(field.name, _plain(field.type)) for field in frame.limit(0).toArrow().schema])
    cells = frame.toDF(*_by_place(arrow_schema))
    texts = [field for field in cells.schema if isinstance(field.dataType, StringType)]
    # Texts that a collation takes for equal are different texts.
    collated = {field.name: cells[field.name].cast(StringType()) for field in texts if field.dataType != StringType()}
    return SparkTable(
        cells.withColumns(collated), _with_zone(frame.sparkSession, arrow_schema), file_format, tuple(frame.inputFiles())
    )


def _of_table(spark: Any, table: pa.Table) -> SparkTable:
    from pyspark.sql.pandas.types import from_arrow_schema

    _require_types(table.schema, pa.types.is_unsigned_integer)
    # Else a time without a zone would become a moment in the session's.
    found = _of_frame(spark.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True)))
    return replace(found, arrow_schema=_own_zones(table.schema, found.arrow_schema))


def _require_arrow(frame: Any) -> None:
    """Refuse what cannot come here at all."""
    from pyspark.sql import types

    names = ("CalendarIntervalType", "YearMonthIntervalType", "VariantType")
    foreign = tuple(getattr(types, name) for name in names if hasattr(types, name))
    wrong = [field for field in frame.schema if isinstance(field.dataType, foreign)]
    if wrong:
        problems = [f"Column {field.name!r} is {field.dataType.simpleString()}, which only Spark knows." for field in wrong]
        raise RequestError([f"{problem} Leave it out of the data frame, or make text of it." for problem in problems])


def _with_zone(spark: Any, arrow_schema: pa.Schema) -> pa.Schema:
    """Spark's moments are told on the clock of its session."""
    moments = [field.name for field in arrow_schema if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    if not moments:
        return arrow_schema
    arrow_type = pa.timestamp("us", spark.conf.get(ZONE))
    try:
        pc.local_timestamp(pa.scalar(0, arrow_type))
    except pa.ArrowException:
        raise RequestError(
            f"The session's time zone {arrow_type.tz} is not known here. Set {ZONE} to one such as UTC or Europe/Berlin."
        ) from None
    return pa.schema([(field.name, arrow_type if field.name in moments else field.type) for field in arrow_schema])


def _own_zones(own: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Spark knows moments, not the zone in which a column tells them. What it made a moment of is one of its session's."""

    def kind(mine: pa.DataType, its: pa.DataType) -> pa.DataType:
        return mine if pa.types.is_timestamp(its) and (mine.tz is None) == (its.tz is None) else its

    return pa.schema([(mine.name, kind(mine.type, its.type)) for mine, its in zip(own, found, strict=True)])


def _by_place(arrow_schema: pa.Schema) -> list[str]:
    return [f"x{number}" for number in range(len(arrow_schema))]


def _plain(arrow_type: pa.DataType) -> pa.DataType:
    """A type as files have it: Spark's texts come in any of three, and nothing at all is a type too."""
    arrow_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    texts = pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null
    return pa.string() if any(test(arrow_type) for test in texts) else arrow_type


# --- files that this machine sees


def _of_source_files(spark: Any, source_files: Sequence[SourceFile]) -> SparkTable:
    """Each file by one task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = streams.of_source_files(source_files).schema
    tables.require_distinct(schema.names)
    arrow_schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
    _require_types(arrow_schema, pa.types.is_unsigned_integer)
    columns = from_arrow_schema(pa.schema(list(zip(_by_place(arrow_schema), arrow_schema.types, strict=True))))
    numbers = spark.range(0, len(source_files), 1, len(source_files))
    return SparkTable(
        numbers.mapInArrow(telling(_reading(source_files, arrow_schema)), columns),
        arrow_schema,
        source_files[0].file_format,
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


def _by_spark(spark: Any, source_files: Sequence[SourceFile], place: Path) -> SparkTable:
    """By Spark's own reader, after a check of the files' columns."""
    own = streams.of_source_files(source_files).schema
    tables.require_distinct(own.names)
    _require_types(own)
    folded = [name.casefold() for name in own.names]
    twins = [name for name in own.names if folded.count(name.casefold()) > 1]
    if twins:
        raise RequestError(f"Columns {listed(twins)} differ only in case, which Spark does not tell apart. Rename one, {ELSE}")
    file_format = source_files[0].file_format
    reader = spark.read.format(file_format.spark_source)
    if file_sets.is_many(place):
        reader = reader.option("basePath", escaped(str(file_sets.base_of(place).absolute())))
    frame = _keys_as_text(
        reader, [escaped(str(source_file.path.absolute())) for source_file in source_files], set(source_files[0].keys)
    )
    found = _of_frame(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in own.names)), file_format)
    return SparkTable(found.cells, _own_zones(own, found.arrow_schema), file_format, _uris(source_files))


def _require_types(schema: pa.Schema, *more: Callable[[pa.DataType], bool]) -> None:
    """Refuse what Spark has no type for, before it says so in its own words; its Parquet reader finds one for more of them."""
    unknown = _is_nanoseconds, pa.types.is_time, pa.types.is_decimal256, pa.types.is_duration, *more
    wrong = [field for field in schema if any(test(field.type) for test in unknown)]
    if wrong:
        problems = [
            f"Column {field.name!r} is {field.type}, which Spark does not know. Write it as another type, {ELSE}"
            for field in wrong
        ]
        raise RequestError(problems)


def _is_nanoseconds(arrow_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(arrow_type) and str(arrow_type.unit) == "ns"


def _keys_as_text(reader: Any, paths: Sequence[str], keys: Collection[str]) -> Any:
    """The files at these paths. A folder named `zip=01` means the text 01, not a number."""
    from pyspark.sql.types import StringType, StructField, StructType

    frame = reader.load(list(paths))
    if not keys:
        return frame
    fields = [StructField(field.name, StringType()) if field.name in keys else field for field in frame.schema]
    return reader.schema(StructType(fields)).load(list(paths))


def escaped(path: str) -> str:
    """A path as Spark reads names: marks of patterns stand for themselves."""
    return WILD.sub(r"\\\1", path)


def _uris(source_files: Sequence[SourceFile]) -> tuple[str, ...]:
    return tuple(source_file.path.absolute().as_uri() for source_file in source_files)


# --- addresses


def _at_address(spark: Any, address: str) -> SparkTable:
    names = spark_folders.files_at(spark, address)
    if not names:
        raise RequestError(f"There is no table at {address}. Check its name and folder.")
    found = next(filter(None, (tables.format_named(Path(name)) for name in [address, *names])), None)
    if found is None or not found.is_read_by_spark:
        readable = " or ".join(file_format.title for file_format in FORMATS.values() if file_format.is_read_by_spark)
        raise RequestError(
            f"{address} does not hold {readable}, which is all that is read from an address. Write it as {readable}, or read it "
            "with Spark and give the data frame."
        )
    file_format = found()
    reader = spark.read.format(file_format.spark_source).option("mergeSchema", "true")
    below = {part for file in reader.load(address).inputFiles() for part in file.split("/")[:-1]}
    keys = {unquote(part.partition("=")[0]) for part in below if "=" in part and part not in address.split("/")}
    return _of_frame(_keys_as_text(reader, [address], keys), file_format)
