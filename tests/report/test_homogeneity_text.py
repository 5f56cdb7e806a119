"""Homogeneity on the command line, in JSON and in notebooks."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from tests.homogeneity_tables import TABLE_2
from tests.report.shown import Page

ROLES: dict[str, Any] = {"quasi": ["PID", "STATE", "AGE"], "sensitive": "DISEASE"}


AUDIT = "audit patients.csv --quasi sex --sensitive disease --drop name,age,zip"


def test_command_line_output(kohort, tmp_path):
    ran = kohort("audit patients.csv --quasi sex --sensitive disease --k 2")
    assert ran.code == 0
    text = ran.out[ran.out.index("Column 'disease'") :].splitlines()
    assert text == [
        "Column 'disease': no group reveals the value. Each of the 2 groups has at least 2 different values.",
        "  In the worst group, 66.7 % of the rows have the same value.",
        "  In the whole table, the most frequent value has 66.7 % of the rows.",
        "  For each value, its share in the group where it is most frequent (alpha), from 33.3 % to 66.7 %:",
        "      66.7 %       60 rows  flu",
        "      33.3 %       30 rows  hiv",
        "  Groups with only one value: 0 found, less than 0.001 expected by chance.",
        "  If all values were equally frequent: less than 0.001 expected.",
        "  By the formula of Mohapatra and Patra (n = 90 rows, k = 45, K = 2 values): less than 0.001 expected.",
    ]
    assert "homogeneity" in json.loads(kohort("audit patients.csv --quasi sex --k 2 --json").out)
    assert list(tmp_path.iterdir()) == [tmp_path / "patients.csv"]


def test_json_keys(kohort):
    texts = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --json").out)
    assert " ".join(texts) == "rows classes k dm homogeneity audit file"
    (found,) = texts["homogeneity"]
    assert " ".join(found) == "column values alphas max min spread alike_classes alike_share base_rate se"
    assert found["alphas"][0] == {"value": "flu", "alpha": 2 / 3, "rows": 60}
    assert list(found["se"]) == ["formula", "unequal", "predicted", "observed"]
    texts = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease,age --k 2 --json").out)
    assert len(texts["homogeneity"]) == 2
    assert texts["homogeneity_all"]["columns"] == ["disease", "age"]


def test_long_lists_are_cut_and_missing_is_listed(kohort, tmp_path):
    cells = [f"v{number:02}" for number in range(30) for _ in range(number + 5)] + ["?"] * 5 + [""] * 5
    (tmp_path / "many.csv").write_text("q,s\n" + "".join(f"x,{cell}\n" for cell in cells), encoding="utf-8")
    out = kohort("audit many.csv --quasi q --sensitive s --missing '?'").out
    assert "K = 31 values" in out
    assert "    and 19 more values, from 0.8 % to 3.7 %\n" in out
    assert out.count("v2") == 10
    texts = json.loads(kohort("audit many.csv --quasi q --sensitive s --missing '?' --json").out)["homogeneity"][0]["alphas"]
    assert {"value": "(missing)", "alpha": 10 / len(cells), "rows": 10} in texts
    assert len(texts) == 31


def test_notebook_shows_the_same_text():
    table = pa.table(TABLE_2).append_column("<b>", pa.array(TABLE_2["DISEASE"]))
    evidence = kh.audit(table, quasi=ROLES["quasi"], sensitive=["DISEASE", "<b>"], k=3)
    texts = Page(evidence._repr_html_()).texts
    assert {"Brain Cancer", "50.0 %"} <= set(texts)
    for name in ("Column 'DISEASE'", "Column '<b>'", "Columns 'DISEASE', '<b>' together"):
        assert any(text.startswith(f"{name}: no group reveals") for text in texts)
    assert "For each value, its share in the group where it is most frequent (alpha), 50.0 %:" in texts
    assert "In the whole table, the most frequent value has 41.7 % of the rows." in texts


WRONG = {
    "--graph g.png": "End the name in .svg or .graphml",
    "--curves c.graphml": "End the name in .svg",
    "--graph no/g.svg": "no folder",
    "--curves there.svg": "exists",
    "--graph g.svg --curves ./g.svg": "the same file",
    "--graph .svg/": "give a name|not|folder",
}


@pytest.mark.parametrize("flags", WRONG)
def test_wrong_file_names_are_errors_before_the_table_is_read(kohort, tmp_path, monkeypatch, flags):
    (tmp_path / "there.svg").write_text("old", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("kohort.tables.files.source_file.detected_format", lambda *_given: pytest.fail("the table is read"))
    ran = kohort(f"{AUDIT} {flags}")
    assert (ran.code, ran.out) == (2, "")
    assert any(text in ran.err for text in WRONG[flags].split("|"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_picture_needs_a_sensitive_column_and_another_file(kohort, tmp_path):
    assert "needs a sensitive column" in kohort("audit patients.csv --quasi sex --graph g.svg").err
    (tmp_path / "own.graphml").hardlink_to(tmp_path / "patients.csv")
    ran = kohort(f"{AUDIT} --graph own.graphml --force")
    assert (ran.code, "Choose another name" in ran.err) == (2, True)


def test_pictures_are_replaced_with_force(kohort, tmp_path):
    (tmp_path / "g.svg").write_text("old", encoding="utf-8")
    ran = kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --graph g.svg --curves c.svg --force")
    assert ran.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.svg", "g.svg", "patients.csv"]
    assert (tmp_path / "g.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_rare_values_and_small_groups_are_never_named(kohort, tmp_path):
    """No rare sensitive value and no quasi-identifier of a small group is shown, also if the audit fails."""
    rows = (
        ["x,flu,low\n"] * 8 + ["y,gout,low\n"] * 6 + ["Rarezip,flu,Rareincome\n", "x,Raredisease,low\n", "y,Raregout,low\n"] * 3
    )
    (tmp_path / "small.csv").write_text("zip,disease,income\n" + "".join(rows), encoding="utf-8")
    audit = "audit small.csv --quasi zip --sensitive disease,income --k 4 --force"
    runs = [kohort(f"{audit} {flags}") for flags in ("--graph g.svg --curves c.svg", "--graph g.graphml", "--json")]
    assert [ran.code for ran in runs] == [1, 1, 1]
    html = kh.audit(tmp_path / "small.csv", quasi="zip", sensitive=["disease", "income"], k=4)._repr_html_()
    files = [(tmp_path / name).read_text(encoding="utf-8") for name in ("g.svg", "c.svg", "g.graphml")]
    texts = [*(ran.out + ran.err for ran in runs), html, *files]
    assert not any("Rare" in text for text in texts)
    assert all("held by fewer than 4" in text for text in (runs[0].out, runs[2].out, html, files[0], files[2]))
    assert "fewer than 4 rows" in files[2]
