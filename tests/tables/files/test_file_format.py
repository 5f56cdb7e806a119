"""Test which format a file name selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files.arrow_file import ArrowFormat
from kohort.tables.files.parquet_file import ParquetFormat
from kohort.tables.tables import CsvFormat

# --- formats


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.csv", ",", CsvFormat()),
        ("a.CSV", "\t", CsvFormat()),
        ("a.csv", ";", CsvFormat(";")),
        ("a.csv.gz", "|", CsvFormat("|", "gzip")),
        ("a.tsv", ";", CsvFormat("\t")),
        ("a.tab.zst", ",", CsvFormat("\t", "zstd")),
        ("a.txt", "\t", CsvFormat("\t")),
        ("a.b.parquet", ",", ParquetFormat()),
        ("a.feather", ",", ArrowFormat()),
    ],
)
def test_format_of_file_name(name, source, expected):
    assert tables.format_of(Path(name), CsvFormat(source)) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a", "cannot find the format of 'a'.*Add the ending.*for example .csv"),
        ("a.gz", "cannot find the format of 'a.gz'.*for example .csv.gz"),
        ("a.xlsx", "cannot write .xlsx files.*Change the end of the file name"),
        ("a.parquet.gz", "cannot write .parquet.gz files.*Write a .parquet file"),
        ("a.arrow.zst", "cannot write .arrow.zst files.*Write a .arrow file"),
        ("csv", "cannot find the format of 'csv'"),
        (".csv.gz.gz", "cannot write .gz.gz files"),
    ],
)
def test_file_name_without_known_format_is_rejected(name, message):
    with pytest.raises(RequestError, match=message):
        tables.format_of(Path(name))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.dta", "cannot read .dta files.*CSV .*Parquet .*Arrow.*Export the table as CSV"),
        ("a.xlsx", "cannot read .xlsx files.*Save the sheet as CSV"),
        ("a.parquet.gz", "cannot read .parquet.gz files.*Decompress the file"),
        ("a", "cannot find the format of 'a'.*Add the ending"),
    ],
)
def test_source_name_without_known_format_is_rejected(name, message):
    with pytest.raises(RequestError, match=message):
        tables.read(Path(name))
