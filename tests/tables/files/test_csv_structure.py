"""Quotes at the border of a block."""

from __future__ import annotations

import pytest

from kohort.tables import tables
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import csv_structure as csv_rows


@pytest.mark.parametrize("shift", range(8))
def test_a_quote_at_the_border_of_a_block(tmp_path, monkeypatch, shift):
    """An inch mark inside a cell is no opening quote, wherever the reader's blocks begin."""
    monkeypatch.setattr(csv_text, "BLOCK", 32)
    monkeypatch.setattr(csv_rows, "PIECE", 32)
    (tmp_path / "in.csv").write_text("a,b\n" + "1,xxxx\n" * 3 + "x" * shift + ',5" disk\n1,"q,""r"""\n2,z\n', encoding="utf-8")
    assert tables.read(tmp_path / "in.csv")[0].column("b").to_pylist() == ["xxxx"] * 3 + ['5" disk', 'q,"r"', "z"]
