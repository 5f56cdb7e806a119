"""The audit checks that ranges start and end on the grid."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import kohort
from kohort.auditor.grid import on_grid
from kohort.encoding import encode as encoding
from kohort.errors import AuditError
from kohort.publishing.boxes import Boxes


def test_preset_public_publishes_on_a_grid():
    table = pa.table({"a": [n % 37 for n in range(400)]})
    release = kohort.anonymize(table, quasi="a", preset="public")
    texts = set(release.table["a"].to_pylist())
    assert texts
    assert all(on_grid(text, Decimal(5)) for text in texts)


# --- the audit

SOURCE = pa.table({"a": [17, 19, 23, None, 40, 40, 41, 44], "b": ["0,5", "1,5", "1,5", "2", "7,1", "7,2", "7,3", "7,4"]})
JOB: dict[str, Any] = {"quasi": ["a", "b"], "k": 4, "ranges": "grid", "step": {"b": 0.1}, "keep_order": True}


def found(release):
    return {check.name: (check.required, check.found, check.verdict) for check in release.evidence.checks}


def test_audit_has_a_grid_check_if_the_job_has_a_grid(tmp_path):
    for target in (None, tmp_path / "out.csv", tmp_path / "out.parquet"):
        release = kohort.anonymize(SOURCE, **JOB, output=target)
        assert release.table.to_pydict() == {"a": ["*"] * 4 + ["[40 - 45]"] * 4, "b": ["[0,5 - 2]"] * 4 + ["[7,1 - 7,4]"] * 4}
        assert found(release)["grid"] == (0, 0, "pass")
        check = next(check for check in release.evidence.checks if check.name == "grid")
        assert check.meaning.endswith("step of their column.")
        assert len(check.sql) == 2
    tight = kohort.anonymize(SOURCE, quasi=["a", "b"], k=4)
    assert "grid" not in found(tight)
    texts = kohort.anonymize(SOURCE.select(["b"]), quasi="b", k=4, type={"b": "text"}, ranges="grid")
    assert "grid" not in found(texts)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("a", "[40 - 44]"),
        ("a", "[39 - 45]"),
        ("a", "[40 - 45.0000000000000001]"),
        ("b", "[7 - 7,45]"),
        ("b", "[7,10000000000000001 - 8]"),
    ],
)
def test_release_off_the_grid_fails(column, text, tmp_path, monkeypatch):
    """The cells contain their values and the groups are large enough. Only the ends of a range are not on the grid."""
    original = Boxes.texts

    def texts(self, number, axis):
        published = original(self, number, axis).to_pylist()
        return pa.array([published[0], text] if axis.name == column else published).dictionary_encode()

    monkeypatch.setattr(Boxes, "texts", texts)
    with pytest.raises(AuditError, match=r"\(grid: required 0, found 4\)"):
        kohort.anonymize(SOURCE, **JOB, method="mondrian", output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_encoder_without_grid_fails_the_audit(monkeypatch):
    monkeypatch.setattr(encoding, "_grid", lambda *_: None)
    with pytest.raises(AuditError, match="grid: required 0, found 8"):
        kohort.anonymize(pa.table({"a": [1, 2, 3, 4, 11, 12, 13, 14]}), quasi="a", k=4, ranges="grid")


@pytest.mark.parametrize(
    ("text", "step", "expected"),
    [
        ("*", "5", True),
        ("7", "5", True),
        ("[5 - 10]", "5", True),
        ("[-5 - 0]", "5", True),
        ("[5 - 11]", "5", False),
        ("[7 - 7]", "5", False),
        ("[1e+22 - 1.5e+23]", "5", True),
        (f"[{5 * 10**300} - {5 * 10**301 + 1}]", "5", False),
        ("[0 - 1e999999999]", "5", False),
        ("[1e-999999999 - 5]", "5", False),
        ("[0.3 - 0.7]", "0.1", True),
        ("[0.3 - 0.7000000000000000000000000000000000000000001]", "0.1", False),
        ("[10 - 5]", "5", False),
        ("young", "5", False),
    ],
)
def test_on_grid(text, step, expected):
    assert on_grid(text, Decimal(step)) is expected
