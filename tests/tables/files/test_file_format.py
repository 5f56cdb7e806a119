"""The format that a file's name asks for."""

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
    ("name", "source", "form"),
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
def test_a_name_asks_for_a_format(name, source, form):
    assert tables.format_of(Path(name), CsvFormat(source)) == form


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xlsx", "a.parquet.gz", "a.arrow.zst", "csv", ".csv.gz.gz"])
def test_a_name_that_asks_for_none(name):
    with pytest.raises(RequestError, match="does not say a format"):
        tables.format_of(Path(name))
