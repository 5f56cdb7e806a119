"""Test that damaged files are rejected, with a message that contains no cell."""

from __future__ import annotations

import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from tests.tables.files.sample_files import BAD, RARE


@pytest.mark.parametrize("name", BAD)
def test_damaged_file_is_rejected_without_cells_in_the_message(tmp_path, name):
    data, message = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RequestError, match=message) as caught:
        tables.read(tmp_path / name)
    assert RARE not in str(caught.value)
    assert name in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(("name", "message"), [("none.csv", "no file"), ("none.parquet", "no file"), (".", "format|folder")])
def test_missing_file_is_rejected(tmp_path, name, message):
    with pytest.raises(RequestError, match=message):
        tables.read(tmp_path / name)
