"""Test quotes at the end of a block."""

from __future__ import annotations

import pytest

from kohort.tables import tables
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import csv_structure as csv_rows


@pytest.mark.parametrize("shift", range(8))
def test_quote_inside_a_cell_does_not_open_a_quoted_cell(tmp_path, monkeypatch, shift):
    """The result does not depend on where the reader's blocks begin."""
    monkeypatch.setattr(csv_text, "BLOCK", 32)
    monkeypatch.setattr(csv_rows, "PIECE", 32)
    (tmp_path / "in.csv").write_text("a,b\n" + "1,xxxx\n" * 3 + "x" * shift + ',5" disk\n1,"q,""r"""\n2,z\n', encoding="utf-8")
    assert tables.read(tmp_path / "in.csv")[0].column("b").to_pylist() == ["xxxx"] * 3 + ['5" disk', 'q,"r"', "z"]
