"""HTML views for notebooks."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import pytest

from kohort.auditor import Check, Evidence
from kohort.report import notebook
from tests.report.shown import Page

mpl.use("Agg")
CHECKS = (
    Check("k", 5, 7, "pass", "smallest group"),
    Check("wildcard", 5, None, "not run", "too many <groups>"),
    Check("cells", 0, 1234, "fail", "cells & values"),
)
LOSS = SimpleNamespace(leaf=0.125, per_column={"age": 0.25, "sex": 0.0})


def evidence(*checks: Check) -> Evidence:
    return Evidence(rows=12_000, classes=1500, k=7, dm=100_000, checks=checks, columns={"q1": "age"})


def release(loss=LOSS, *, checks=CHECKS[:2], output=None) -> str:
    return notebook.release_html(evidence(*checks), loss, {"age": "numbers, 70 distinct"}, output=output, method="mondrian", k=5)


def test_import_of_html_views_does_not_load_matplotlib():
    code = "import sys, kohort.report.notebook; print('matplotlib' in sys.modules, 'kohort.methods' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False False\n"


# --- HTML


@pytest.mark.parametrize("checks", [CHECKS, CHECKS[:2], ()])
def test_html_is_well_formed_and_has_no_script(checks):
    for html in (notebook.evidence_html(evidence(*checks)), release(checks=checks)):
        page = Page(html)
        assert not {"script", "style", "link", "img"} & set(page.tags)
        assert set(page.attributes) <= {"style", "class", "scope", "open"}


def test_verdict_comes_first():
    assert Page(notebook.evidence_html(evidence(*CHECKS[:2]))).texts[0] == "Audit passed"
    failed = Page(notebook.evidence_html(evidence(*CHECKS))).texts
    assert failed[:2] == ["Audit FAILED", ": cells. Do not publish this table."]
    warned = evidence(*CHECKS[:2], Check("undeclared", 0, 1, "warn", "columns without a role"))
    assert Page(notebook.evidence_html(warned)).texts[0] == "Audit passed with 1 warning"


def test_evidence_shows_figures_and_checks():
    texts = Page(notebook.evidence_html(evidence(*CHECKS))).texts
    assert {"k found", "7", "rows", "12,000", "groups", "1,500"} <= set(texts)
    rows = [texts[texts.index(name) - 1 :][:5] for name in ("wildcard", "cells")]
    assert rows == [["not run", "wildcard", "5", "-", "too many <groups>"], ["FAIL", "cells", "0", "1,234", "cells & values"]]


def test_release_shows_figures_and_detail_lost():
    page = Page(release(output="out/<release>.csv"))
    figures = ["7", "12,000", "1,500", "5", "12.5 %", "mondrian", "out/<release>.csv"]
    first = page.texts.index(figures[0])
    assert page.texts[first : first + len(figures)] == figures
    first = page.texts.index("age")
    assert page.texts[first : first + 5] == ["age", "25.0 %", "numbers, 70 distinct", "sex", "0 %"]
    assert "no file" in Page(release()).texts


def test_checks_are_unfolded_if_one_failed():
    assert "open" not in Page(release()).attributes
    assert "open" in Page(release(checks=CHECKS)).attributes


def test_names_are_escaped():
    names = ["<b>bold</b>", "<script>alert(1)</script>", "a&b", '"quoted"', "$x$"]
    html = release(SimpleNamespace(leaf=0.5, per_column=dict.fromkeys(names, 0.5)))
    page = Page(html)
    assert set(names) <= set(page.texts)
    assert not {"b", "script"} & set(page.tags)
    assert "mathjax_ignore" in html


def test_only_the_columns_with_most_loss_are_listed():
    texts = Page(release(SimpleNamespace(leaf=0.5, per_column={f"c{number}": number / 200 for number in range(200)}))).texts
    assert "and 170 more, at most 84.5 % each" in texts
    assert "c170" in texts
    assert "c169" not in texts


@pytest.mark.parametrize("share", [-0.1, 0, 1e-9, 0.5, 1, 1.0000001])
def test_bars_fit_their_cells(share):
    width = float(notebook._bar(share).rsplit(" ", 1)[1].rstrip("%)"))
    assert 0 <= width <= 100
