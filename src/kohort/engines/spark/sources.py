"""Reads tables with Spark: files that this machine can read too, addresses, Spark tables by name, and data frames.

kohort's own reader reads most formats, inside Spark's tasks. Spark's CSV reader would accept a truncated row as a shorter row,
and would read the columns of the second file in the order of the first. Spark itself reads the formats with `is_read_by_spark`:
Parquet.
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
from kohort.engines.spark.session import Batches, carry_errors, plain_errors
from kohort.errors import RequestError, listed
from kohort.tables import streams, tables
from kohort.tables.files import file_sets
from kohort.tables.files.source_file import SourceFile
from kohort.tables.tables import FORMATS, FileFormat, Source

ZONE = "spark.sql.session.timeZone"
WILD = re.compile(r"([\\*?\[\]{}])")
OR_OTHER_ENGINE = "or use another engine (--engine)."


@dataclass(frozen=True)
class SparkTable:
    """A table on Spark. Its columns are named x0, x1, ...: own names may contain any character, and Spark ignores their case."""

    cells: Any
    arrow_schema: pa.Schema
    """The columns' own names, and their types."""
    file_format: FileFormat | None = None
    """The format of the files; None for tables and data frames."""
    files: tuple[str, ...] = ()
    """The files that the table is read from, if Spark reports them."""
    is_slow: bool = False
    """Whether reading is slow, so that the cells should be read once and stored."""


def is_spark_frame(source: Any) -> bool:
    """Return whether an object is a Spark data frame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


def read(spark: Any, source: Source) -> SparkTable:
    """Read a file, folder, address, Spark table or data frame with Spark."""
    with plain_errors("Spark could not read the table"):
        if is_spark_frame(source.given):
            return _of_frame(source.given)
        path = source.location
        if path is None:  # a data frame is in memory already
            return _of_table(spark, source.read())
        if isinstance(path, str):
            return _at_address(spark, path)
        if "/" not in str(path) and not path.exists() and not tables.format_named(path) and _is_table(spark, str(path)):
            return _of_frame(spark.table(str(path)))
        source_files = source.source_files
        by_spark = source_files[0].file_format.is_read_by_spark
        return _by_spark(spark, source_files, path) if by_spark else _of_source_files(spark, source_files)


def _is_table(spark: Any, name: str) -> bool:
    """Return whether Spark has a table of this name; False for a name that Spark cannot parse."""
    from pyspark.errors import ParseException

    try:
        return bool(spark.catalog.tableExists(name))
    except ParseException:
        return False


def _of_frame(frame: Any, file_format: FileFormat | None = None) -> SparkTable:
    from pyspark.sql.types import StringType

    if frame.isStreaming:
        raise RequestError(
            "The data frame is a stream. kohort needs a table that does not change. "
            "Write the stream to a table and anonymize that table."
        )
    _require_arrow(frame)
    tables.require_distinct(frame.columns)
    arrow_schema = pa.schema([(field.name, _plain_type(field.type)) for field in frame.limit(0).toArrow().schema])
    cells = frame.toDF(*_by_index(arrow_schema))
    texts = [field for field in cells.schema if isinstance(field.dataType, StringType)]
    # A collation may treat different texts as equal. kohort compares the texts themselves.
    collated = {field.name: cells[field.name].cast(StringType()) for field in texts if field.dataType != StringType()}
    return SparkTable(
        cells.withColumns(collated), _with_zone(frame.sparkSession, arrow_schema), file_format, tuple(frame.inputFiles())
    )


def _of_table(spark: Any, table: pa.Table) -> SparkTable:
    from pyspark.sql.pandas.types import from_arrow_schema

    _require_types(table.schema, pa.types.is_unsigned_integer)
    # Otherwise Spark would read a time without a time zone as a time in the zone of the session.
    found = _of_frame(spark.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True)))
    return replace(found, arrow_schema=_own_zones(table.schema, found.arrow_schema))


def _require_arrow(frame: Any) -> None:
    """Raise an error for columns whose types Arrow does not have."""
    from pyspark.sql import types

    names = ("CalendarIntervalType", "YearMonthIntervalType", "VariantType")
    foreign = tuple(getattr(types, name) for name in names if hasattr(types, name))
    wrong = [field for field in frame.schema if isinstance(field.dataType, foreign)]
    if wrong:
        raise RequestError(
            [
                f"Column {field.name!r} has the type {field.dataType.simpleString()}, which exists only in Spark. "
                "Remove the column from the data frame, or convert it to text."
                for field in wrong
            ]
        )


def _with_zone(spark: Any, arrow_schema: pa.Schema) -> pa.Schema:
    """Return the schema with the session's time zone for columns with a time zone: Spark shows them in that zone."""
    moments = [field.name for field in arrow_schema if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    if not moments:
        return arrow_schema
    arrow_type = pa.timestamp("us", spark.conf.get(ZONE))
    try:
        pc.local_timestamp(pa.scalar(0, arrow_type))
    except pa.ArrowException:
        raise RequestError(
            f"The Spark session has the time zone {arrow_type.tz}, which is not in the time zone database of this machine. "
            f"Set {ZONE} to a known zone, for example UTC or Europe/Berlin."
        ) from None
    return pa.schema([(field.name, arrow_type if field.name in moments else field.type) for field in arrow_schema])


def _own_zones(own: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Return the schema with the time zones of the source, which Spark does not store.

    If Spark has read a time without a zone as a time with one, the column keeps the zone of the session.
    """

    def type_of(source: pa.DataType, spark: pa.DataType) -> pa.DataType:
        return source if pa.types.is_timestamp(spark) and (source.tz is None) == (spark.tz is None) else spark

    return pa.schema([(source.name, type_of(source.type, spark.type)) for source, spark in zip(own, found, strict=True)])


def _by_index(arrow_schema: pa.Schema) -> list[str]:
    return [f"x{number}" for number in range(len(arrow_schema))]


def _plain_type(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type as files have it: one type for text, of which Arrow has three, and for columns without any value."""
    arrow_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    texts = pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null
    return pa.string() if any(test(arrow_type) for test in texts) else arrow_type


# --- files that this machine can read


def _of_source_files(spark: Any, source_files: Sequence[SourceFile]) -> SparkTable:
    """Read files with kohort's own reader, one task per file."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = streams.of_source_files(source_files).schema
    tables.require_distinct(schema.names)
    arrow_schema = pa.schema([(field.name, _plain_type(field.type)) for field in schema])
    _require_types(arrow_schema, pa.types.is_unsigned_integer)
    columns = from_arrow_schema(pa.schema(list(zip(_by_index(arrow_schema), arrow_schema.types, strict=True))))
    numbers = spark.range(0, len(source_files), 1, len(source_files))
    return SparkTable(
        numbers.mapInArrow(carry_errors(_reading(source_files, arrow_schema)), columns),
        arrow_schema,
        source_files[0].file_format,
        _uris(source_files),
        is_slow=True,
    )


def _reading(source_files: Sequence[SourceFile], arrow_schema: pa.Schema) -> Callable[[Batches], Batches]:
    """Return a task that reads the files whose numbers it gets."""
    names = _by_index(arrow_schema)

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in streams.read_source_file(source_files[number], arrow_schema):
                    yield pa.record_batch(rows.columns, names=names)

    return run


def _by_spark(spark: Any, source_files: Sequence[SourceFile], path: Path) -> SparkTable:
    """Check the columns of the files and read them with Spark's own reader."""
    own = streams.of_source_files(source_files).schema
    tables.require_distinct(own.names)
    _require_types(own)
    folded = [name.casefold() for name in own.names]
    twins = [name for name in own.names if folded.count(name.casefold()) > 1]
    if twins:
        raise RequestError(
            f"The names of the columns {listed(twins)} differ only in upper and lower case, and Spark treats them as the same. "
            f"Rename one, {OR_OTHER_ENGINE}"
        )
    file_format = source_files[0].file_format
    reader = spark.read.format(file_format.spark_source)
    if file_sets.is_many(path):
        reader = reader.option("basePath", escaped(str(file_sets.base_of(path).absolute())))
    frame = _keys_as_text(
        reader, [escaped(str(source_file.path.absolute())) for source_file in source_files], set(source_files[0].keys)
    )
    found = _of_frame(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in own.names)), file_format)
    return SparkTable(found.cells, _own_zones(own, found.arrow_schema), file_format, _uris(source_files))


def _require_types(schema: pa.Schema, *more: Callable[[pa.DataType], bool]) -> None:
    """Raise an error for types that Spark does not have. `more` are further such types: Spark's Parquet reader converts some."""
    unknown = _is_nanoseconds, pa.types.is_time, pa.types.is_decimal256, pa.types.is_duration, *more
    wrong = [field for field in schema if any(test(field.type) for test in unknown)]
    if wrong:
        problems = [
            f"Column {field.name!r} has the type {field.type}, which Spark does not support. "
            f"Save it with another type, {OR_OTHER_ENGINE}"
            for field in wrong
        ]
        raise RequestError(problems)


def _is_nanoseconds(arrow_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(arrow_type) and str(arrow_type.unit) == "ns"


def _keys_as_text(reader: Any, paths: Sequence[str], keys: Collection[str]) -> Any:
    """Read the files at these paths. Values from folder names are text: the folder `zip=01` means the text 01, not a number."""
    from pyspark.sql.types import StringType, StructField, StructType

    frame = reader.load(list(paths))
    if not keys:
        return frame
    fields = [StructField(field.name, StringType()) if field.name in keys else field for field in frame.schema]
    return reader.schema(StructType(fields)).load(list(paths))


def escaped(path: str) -> str:
    r"""Escape the pattern characters of a path, so that Spark reads them literally.

    >>> print(escaped("x[1].parquet"))
    x\[1\].parquet
    """
    return WILD.sub(r"\\\1", path)


def _uris(source_files: Sequence[SourceFile]) -> tuple[str, ...]:
    return tuple(source_file.path.absolute().as_uri() for source_file in source_files)


# --- addresses


def _at_address(spark: Any, address: str) -> SparkTable:
    names = spark_folders.files_at(spark, address)
    if not names:
        raise RequestError(f"There are no files at {address!r}. Check the address.")
    found = next(filter(None, (tables.format_named(Path(name)) for name in [address, *names])), None)
    if found is None or not found.is_read_by_spark:
        readable = " or ".join(file_format.title for file_format in FORMATS.values() if file_format.is_read_by_spark)
        raise RequestError(
            f"The files at {address!r} are not {readable}, the only format that kohort reads from an address. "
            f"Save the table as {readable}, or read it with Spark and pass the data frame to kohort.anonymize."
        )
    file_format = found()
    reader = spark.read.format(file_format.spark_source).option("mergeSchema", "true")
    below = {part for file in reader.load(address).inputFiles() for part in file.split("/")[:-1]}
    keys = {unquote(part.partition("=")[0]) for part in below if "=" in part and part not in address.split("/")}
    return _of_frame(_keys_as_text(reader, [address], keys), file_format)
