"""The format that a file's name asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.tables import Format

# --- formats


@pytest.mark.parametrize(
    ("name", "source", "form"),
    [
        ("a.csv", ",", Format("csv")),
        ("a.CSV", "\t", Format("csv")),
        ("a.csv", ";", Format("csv", ";")),
        ("a.csv.gz", "|", Format("csv", "|", "gzip")),
        ("a.tsv", ";", Format("csv", "\t")),
        ("a.tab.zst", ",", Format("csv", "\t", "zstd")),
        ("a.txt", "\t", Format("csv", "\t")),
        ("a.b.parquet", ",", Format("parquet")),
        ("a.feather", ",", Format("arrow")),
    ],
)
def test_a_name_asks_for_a_format(name, source, form):
    assert tables.format_of(Path(name), source) == form


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xlsx", "a.parquet.gz", "a.arrow.zst", "csv", ".csv.gz.gz"])
def test_a_name_that_asks_for_none(name):
    with pytest.raises(RequestError, match="does not say a format"):
        tables.format_of(Path(name))
