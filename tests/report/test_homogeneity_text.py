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


# --- the command line

AUDIT = "audit patients.csv --quasi sex --sensitive disease --drop name,age,zip"


def test_the_command_line_tells_it(kohort, tmp_path):
    ran = kohort("audit patients.csv --quasi sex --sensitive disease --k 2")
    assert ran.code == 0
    told = ran.out[ran.out.index("disease: 2 values") :].splitlines()
    assert told == [
        "disease: 2 values",
        "  alpha   records  value (alpha: its largest share of a class)",
        "  0.6667       60  flu",
        "  0.3333       30  hiv",
        "  alpha: max 0.6667, min 0.3333, spread 0.3333",
        "  all alike: 0 of 2 classes, 0 % of the records; a guess without the class is right for 66.7 %",
        "  SE: 1.1e-13 classes alike to expect by the formula, for n = 90, k = 45, K = 2",
        "  SE here: 1.1e-13 with the sizes of the classes, 2.4e-08 with the frequencies of the values too; 0 observed",
    ]
    assert "homogeneity" in json.loads(kohort("audit patients.csv --quasi sex --k 2 --json").out)
    assert list(tmp_path.iterdir()) == [tmp_path / "patients.csv"]


def test_the_agreed_keys(kohort):
    told = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --json").out)
    assert " ".join(told) == "rows classes k dm homogeneity audit file"
    (found,) = told["homogeneity"]
    assert " ".join(found) == "column values alphas max min spread alike_classes alike_share base_rate se"
    assert found["alphas"][0] == {"value": "flu", "alpha": 2 / 3, "rows": 60}
    assert list(found["se"]) == ["formula", "unequal", "predicted", "observed"]
    told = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease,age --k 2 --json").out)
    assert len(told["homogeneity"]) == 2
    assert told["homogeneity_all"]["columns"] == ["disease", "age"]


def test_long_lists_are_cut_short_and_missing_is_named(kohort, tmp_path):
    cells = [f"v{number:02}" for number in range(30) for _ in range(number + 5)] + ["?"] * 5 + [""] * 5
    (tmp_path / "many.csv").write_text("q,s\n" + "".join(f"x,{cell}\n" for cell in cells), encoding="utf-8")
    out = kohort("audit many.csv --quasi q --sensitive s --missing '?'").out
    assert "s: 31 values" in out
    assert "  ... and 19 more between 0.0084 and 0.0370\n" in out
    assert out.count("v2") == 10
    told = json.loads(kohort("audit many.csv --quasi q --sensitive s --missing '?' --json").out)["homogeneity"][0]["alphas"]
    assert {"value": "(missing)", "alpha": 10 / len(cells), "rows": 10} in told
    assert len(told) == 31


def test_a_notebook_shows_the_same():
    table = pa.table(TABLE_2).append_column("<b>", pa.array(TABLE_2["DISEASE"]))
    evidence = kh.audit(table, quasi=ROLES["quasi"], sensitive=["DISEASE", "<b>"], k=3)
    texts = Page(evidence._repr_html_()).texts
    assert {"DISEASE", "<b>", "Brain Cancer", "0.5000", "DISEASE, <b>"} <= set(texts)
    assert "max 0.5000, min 0.5000, spread 0.0000" in texts
    assert any("a guess without the class is right for 41.7 %" in text for text in texts)


WRONG = {
    "--graph g.png": "can be .svg or .graphml",
    "--curves c.graphml": "can be .svg, not",
    "--graph no/g.svg": "no folder",
    "--curves there.svg": "exists",
    "--graph g.svg --curves ./g.svg": "the same file",
    "--graph .svg/": "give a name|not|folder",
}


@pytest.mark.parametrize("flags", WRONG)
def test_wrong_files_are_refused_before_any_work(kohort, tmp_path, monkeypatch, flags):
    (tmp_path / "there.svg").write_text("old", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("kohort.tables.files.source_file.detected_format", lambda *_given: pytest.fail("the table is read"))
    ran = kohort(f"{AUDIT} {flags}")
    assert (ran.code, ran.out) == (2, "")
    assert any(told in ran.err for told in WRONG[flags].split("|"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_picture_needs_a_sensitive_column_and_is_not_the_table(kohort, tmp_path):
    assert "Name them with" in kohort("audit patients.csv --quasi sex --graph g.svg").err
    (tmp_path / "own.graphml").hardlink_to(tmp_path / "patients.csv")
    ran = kohort(f"{AUDIT} --graph own.graphml --force")
    assert (ran.code, "Choose another name" in ran.err) == (2, True)


def test_pictures_are_replaced_only_by_force(kohort, tmp_path):
    (tmp_path / "g.svg").write_text("old", encoding="utf-8")
    ran = kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --graph g.svg --curves c.svg --force")
    assert ran.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.svg", "g.svg", "patients.csv"]
    assert (tmp_path / "g.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_no_value_held_by_too_few_is_told_anywhere(kohort, tmp_path):
    """Neither a sensitive value nor a quasi-identifier of a class that is too small; the audit fails and draws all the same."""
    rows = (
        ["x,flu,low\n"] * 8 + ["y,gout,low\n"] * 6 + ["Rarezip,flu,Rareincome\n", "x,Raredisease,low\n", "y,Raregout,low\n"] * 3
    )
    (tmp_path / "told.csv").write_text("zip,disease,income\n" + "".join(rows), encoding="utf-8")
    audit = "audit told.csv --quasi zip --sensitive disease,income --k 4 --force"
    said = [kohort(f"{audit} {flags}") for flags in ("--graph g.svg --curves c.svg", "--graph g.graphml", "--json")]
    assert [ran.code for ran in said] == [1, 1, 1]
    html = kh.audit(tmp_path / "told.csv", quasi="zip", sensitive=["disease", "income"], k=4)._repr_html_()
    files = [(tmp_path / name).read_text(encoding="utf-8") for name in ("g.svg", "c.svg", "g.graphml")]
    told = [*(ran.out + ran.err for ran in said), html, *files]
    assert not any("Rare" in text for text in told)
    assert all("held by fewer than 4" in text for text in (said[0].out, said[2].out, html, files[0], files[2]))
    assert "fewer than 4 records" in files[2]
