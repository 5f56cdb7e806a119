"""Tables that Spark reads: files that this machine sees too, addresses, tables by name, data frames.

Text and Arrow files are read by our own reader, in Spark's tasks: Spark's would take a row that is cut short for a shorter row,
and the columns of a second file in the order of the first. Parquet is read by Spark, from files whose columns agree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort import streams, tables
from kohort.engines import spark_folders
from kohort.engines.spark_session import Batches, speaking_plainly, telling
from kohort.errors import RequestError, listed
from kohort.files import folders
from kohort.files.pieces import Piece
from kohort.places import place_of
from kohort.tables import Format

KEYS_AS_TEXT = "spark.sql.sources.partitionColumnTypeInference.enabled"
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
            return _of_frame(spark.createDataFrame(tables.read(source, encoding)[0]))
        place = place_of(source)
        if isinstance(place, str):
            return _at_address(spark, place)
        if "/" not in str(place) and not place.exists() and not tables.kind_of(place) and spark.catalog.tableExists(str(place)):
            return _of_frame(spark.table(str(place)))
        pieces = folders.pieces_of(place, encoding)
        return _of_parquet(spark, pieces, place) if pieces[0].form.kind == "parquet" else _of_pieces(spark, pieces)


def _of_frame(frame: Any, form: Format | None = None) -> Source:
    kinds = frame.limit(0).toArrow().schema
    kinds = pa.schema([(field.name, _plain(field.type)) for field in kinds])
    return Source(frame.toDF(*_by_place(kinds)), kinds, form, tuple(frame.inputFiles()))


def _by_place(kinds: pa.Schema) -> list[str]:
    return [f"x{number}" for number in range(len(kinds))]


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type as files have it: Spark's texts come in any of three, and nothing at all is a type too."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    texts = pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null
    return pa.string() if any(test(kind) for test in texts) else kind


# --- files that this machine sees


def _of_pieces(spark: Any, pieces: Sequence[Piece]) -> Source:
    """Each file by one task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = streams.of_pieces(pieces).schema
    tables.require_distinct(schema.names)
    kinds = pa.schema([(field.name, _plain(field.type)) for field in schema])
    _require_types(kinds)
    columns = from_arrow_schema(pa.schema(list(zip(_by_place(kinds), kinds.types, strict=True))))
    numbers = spark.range(0, len(pieces), 1, len(pieces))
    return Source(
        numbers.mapInArrow(telling(_reading(pieces, kinds)), columns), kinds, pieces[0].form, _uris(pieces), is_slow=True
    )


def _reading(pieces: Sequence[Piece], wanted: pa.Schema) -> Callable[[Batches], Batches]:
    names = _by_place(wanted)

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in streams.read_piece(pieces[number], wanted):
                    yield pa.record_batch(rows.columns, names=names)

    return run


def _of_parquet(spark: Any, pieces: Sequence[Piece], place: Path) -> Source:
    """By Spark, after a look at what the files hold."""
    own = streams.of_pieces(pieces).schema
    tables.require_distinct(own.names)
    _require_types(own)
    folded = [name.casefold() for name in own.names]
    twins = [name for name in own.names if folded.count(name.casefold()) > 1]
    if twins:
        raise RequestError(f"Columns {listed(twins)} differ only in case, which Spark does not tell apart. Rename one, {ELSE}")
    reader = spark.read
    if folders.is_many(place):
        reader = reader.option("basePath", _escaped(folders.base_of(place).absolute()))
    with _keys_as_text(spark):
        frame = reader.parquet(*(_escaped(piece.path.absolute()) for piece in pieces))
    found = _of_frame(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in own.names)), pieces[0].form)
    # Spark knows moments, not the zone in which a column tells them.
    kinds = [mine.type if pa.types.is_timestamp(its.type) else its.type for mine, its in zip(own, found.kinds, strict=True)]
    return Source(found.cells, pa.schema(list(zip(own.names, kinds, strict=True))), found.form, _uris(pieces))


def _require_types(schema: pa.Schema) -> None:
    """Refuse what Spark has no type for, before it says so in its own words."""
    unknown = _is_nanoseconds, pa.types.is_time, pa.types.is_decimal256, pa.types.is_duration
    wrong = [field for field in schema if any(test(field.type) for test in unknown)]
    if wrong:
        told = [
            f"Column {field.name!r} is {field.type}, which Spark does not know. Write it as another type, {ELSE}"
            for field in wrong
        ]
        raise RequestError(told)


def _is_nanoseconds(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and str(kind.unit) == "ns"


@contextmanager
def _keys_as_text(spark: Any) -> Iterator[None]:
    """Folders named `zip=01` stand for the text 01, whatever it looks like."""
    before = spark.conf.get(KEYS_AS_TEXT)
    spark.conf.set(KEYS_AS_TEXT, "false")
    try:
        yield
    finally:
        spark.conf.set(KEYS_AS_TEXT, before)


def _escaped(path: Path) -> str:
    """A path as Spark reads names: marks of patterns stand for themselves."""
    return WILD.sub(r"\\\1", str(path))


def _uris(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(piece.path.absolute().as_uri() for piece in pieces)


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
    with _keys_as_text(spark):
        return _of_frame(spark.read.option("mergeSchema", "true").parquet(address), Format("parquet"))
