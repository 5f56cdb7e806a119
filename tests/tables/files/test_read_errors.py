"""Bad files are refused without a cell in the message."""

from __future__ import annotations

import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from tests.tables.files.sample_files import BAD, RARE


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_without_its_cells(tmp_path, name):
    data, told = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RequestError, match=told) as caught:
        tables.read(tmp_path / name)
    assert RARE not in str(caught.value)
    assert name in str(caught.value) or "same name" in told
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(("name", "told"), [("none.csv", "no file"), ("none.parquet", "no file"), (".", "format|folder")])
def test_a_file_that_is_not_there(tmp_path, name, told):
    with pytest.raises(RequestError, match=told):
        tables.read(tmp_path / name)
