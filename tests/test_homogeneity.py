"""The homogeneity analysis: paper 003's own tables, a plain oracle, and no value told that fewer than k records hold."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.auditor import value_class_graph as bipartite
from kohort.auditor.homogeneity import Homogeneity, expected_alike
from kohort.errors import RequestError
from kohort.report import homogeneity_chart as curves
from kohort.report.graph_chart import MOST_CLASSES
from tests.test_cli import kohort  # noqa: F401 - a fixture
from tests.test_notebook import Page

TABLE_2 = {
    "PID": ["1210**"] * 4 + ["134***"] * 4 + ["14****"] * 4,
    "STATE": ["*"] * 12,
    "AGE": ["<30"] * 4 + [">40"] * 4 + ["3*"] * 4,
    "DISEASE": ["Brain Cancer", "Malaria", "Heart Disease", "Malaria"]
    + ["Heart Disease", "Malaria"] * 2
    + ["Heart Disease", "Brain Cancer", "Malaria", "Brain Cancer"],
}
TABLE_4 = {"Brain Cancer": [0.25, 0, 0.5], "Malaria": [0.5, 0.5, 0.25], "Heart Disease": [0.25, 0.5, 0.25]}
ROLES: dict[str, Any] = {"quasi": ["PID", "STATE", "AGE"], "sensitive": "DISEASE"}
SE_BY_N = {2: 125, 3: 24.6914, 5: 3.2, 10: 0.2}  # for n = 10,000 and k = 5; the paper's case 1 goes on to 60,000
SE_BY_K = {  # for n = 60,000, the paper's case 2
    2: {2: 15000, 3: 5000, 4: 1875, 5: 750, 6: 312.5, 8: 58.5938, 10: 11.7188},
    3: {2: 10000, 3: 2222.22, 4: 555.556, 5: 148.148, 6: 41.1523, 8: 3.42936, 10: 0.304832},
    5: {2: 6000, 3: 800, 4: 120, 5: 19.2, 6: 3.2, 8: 0.096, 10: 0.003072},
    10: {2: 3000, 3: 200, 4: 15, 5: 1.2, 6: 0.1, 8: 0.00075, 10: 6e-06},
}


def alphas(found: Homogeneity) -> dict[str, float]:
    return {one.value.label: one.alpha for one in found.alphas}


def by_label(found: Homogeneity) -> dict[str, list[float]]:
    assert found.matrix is not None
    return {value.label: row for value, row in zip(found.matrix.values, found.matrix.rows(), strict=True)}


# --- the paper's own figures


def test_tables_3_and_4_of_the_paper():
    (found,) = kh.audit(pa.table(TABLE_2), **ROLES, k=3).homogeneity
    assert alphas(found) == {"Malaria": 0.5, "Heart Disease": 0.5, "Brain Cancer": 0.5}
    assert (found.max, found.min, found.spread) == (0.5, 0.5, 0)
    assert by_label(found) == TABLE_4
    assert found.matrix is not None
    assert [group.name for group in found.matrix.groups] == ["E1", "E2", "E3"]
    assert found.matrix.groups[0].label == "PID=1210**; STATE=*; AGE=<30"
    assert found.se.formula == found.se.unequal == pytest.approx(1 / 9)
    assert (found.alike_classes, found.alike_share, found.base_rate) == (0, 0, 5 / 12)


def test_a_value_held_by_too_few_keeps_its_figures_but_not_its_name():
    """Brain Cancer is held by three, and by nobody to be told at k = 4."""
    (found,) = kh.audit(pa.table(TABLE_2), **ROLES, k=4).homogeneity
    assert alphas(found) == {"Malaria": 0.5, "Heart Disease": 0.5, "held by fewer than 4": 0.5}
    assert by_label(found)["held by fewer than 4"] == TABLE_4["Brain Cancer"]
    assert found.to_dict()["alphas"][-1] == {"value": "held by fewer than 4", "alpha": 0.5, "rows": 3, "pooled": 1}


@pytest.mark.parametrize("values", SE_BY_K)
def test_the_grid_of_se(values):
    for times in range(1, 7):
        assert expected_alike([values], 10_000 * times, 5) == pytest.approx(times * SE_BY_N[values], rel=1e-5)
    for k, se in SE_BY_K[values].items():
        assert expected_alike([values], 60_000, k) == pytest.approx(se, rel=1e-5)


def test_se_of_large_classes_is_nothing():
    assert expected_alike([10**6, 10**6], 10**9, 10**6) == 0
    assert expected_alike([1], 10**6, 10**3) == 1000


# --- against a plain oracle

cells = st.sampled_from(["a", "b", "c", "rare", "?", "", None])
tables = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from(["1", "2"]), cells, cells), min_size=1, max_size=40
)


def classes_of(rows: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    classes = defaultdict(list)
    for row in rows:
        classes[row[:2]].append(tuple(None if cell in ("", "?") else cell for cell in row[2:]))
    return list(classes.values())


def alike(classes: list[list[tuple[Any, ...]]], *columns: int) -> list[int]:
    """The sizes of the classes that are alike in all these columns."""
    return [len(one) for one in classes if all(len({row[column] for row in one}) == 1 for column in columns)]


def shown(value: str | None, held: int, k: int) -> str:
    return f"held by fewer than {k}" if held < k else "(missing)" if value is None else value


@settings(max_examples=40)
@given(rows=tables, k=st.integers(2, 6))
def test_the_figures_are_those_of_a_plain_count(rows, k):
    names = ["q", "r", "s", "t"]
    table = pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    evidence = kh.audit(table, quasi=["q", "r"], sensitive=["s", "t"], missing="?", k=k, threads=1)
    classes, n = classes_of(rows), len(rows)
    sizes = [len(one) for one in classes]
    counts = [Counter(row[column] for one in classes for row in one) for column in (0, 1)]
    for column, found in enumerate(evidence.homogeneity):
        shares = {value: [sum(row[column] == value for row in one) / len(one) for one in classes] for value in counts[column]}
        told: dict[str, float] = {}
        weights: dict[str, list[float]] = {}
        for value, held in counts[column].items():
            label = shown(value, held, k)
            told[label] = max(told.get(label, 0), *shares[value])
            weights[label] = [one + more for one, more in zip(weights.get(label, [0] * len(classes)), shares[value], strict=True)]
        assert alphas(found) == told
        assert [one.alpha for one in found.alphas] == sorted(told.values(), reverse=True)
        assert by_label(found) == {label: pytest.approx(row) for label, row in weights.items()}
        assert (found.max, found.min) == (max(map(max, shares.values())), min(map(max, shares.values())))
        assert found.values == len(counts[column])
        same = alike(classes, column)
        assert found.alike_classes == len(same)
        assert found.alike_share == pytest.approx(sum(same) / n)
        assert found.base_rate == max(counts[column].values()) / n
    together = evidence.homogeneity_all
    assert together is not None
    same = alike(classes, 0, 1)
    assert together.alike_classes == len(same)
    assert together.alike_share == pytest.approx(sum(same) / n)
    assert together.base_rate == max(Counter(row for one in classes for row in one).values()) / n
    for se, columns in ((evidence.homogeneity[0].se, [0]), (evidence.homogeneity[1].se, [1]), (together.se, [0, 1])):
        kinds = math.prod(len(counts[column]) for column in columns)
        assert se.formula == pytest.approx(kinds / kinds ** min(sizes) * n / min(sizes))
        assert se.unequal == pytest.approx(sum(kinds / kinds**size for size in sizes))
        drawn = [math.prod(sum((held / n) ** size for held in counts[c].values()) for c in columns) for size in sizes]
        assert se.predicted == pytest.approx(sum(drawn))
        assert se.observed == len(alike(classes, *columns))


def test_pooled_values_are_pooled_in_the_graph_but_not_in_their_alpha():
    """Two rare values fill a class between them, yet nobody in it is found out."""
    table = pa.table({"q": ["x"] * 2 + ["y"] * 4, "s": ["one", "two"] + ["many"] * 4})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2).homogeneity
    assert alphas(found) == {"many": 1, "held by fewer than 2": 0.5}
    assert by_label(found) == {"many": [0, 1], "held by fewer than 2": [1, 0]}
    assert found.alike_classes == 1


def test_numbers_are_named_as_elsewhere_and_not_a_number_is_missing():
    table = pa.table({"q": ["x"] * 6, "s": [1.0, 1.0, 2.5, 2.5, math.nan, None]})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2).homogeneity
    assert set(alphas(found)) == {"1", "2.5", "(missing)"}


def test_it_passes_no_verdict():
    table = pa.table({"q": ["x"] * 3, "s": ["same"] * 3})
    evidence = kh.audit(table, quasi="q", sensitive="s", k=2)
    assert evidence.passed
    assert evidence.homogeneity[0].alike_share == 1
    assert kh.audit(table, quasi="q", k=2).homogeneity == ()
    assert kh.audit(table.slice(0, 0), quasi="q", sensitive="s", k=2).homogeneity == ()


def test_classes_are_numbered_as_they_appear():
    """Many rows: several threads read them."""
    place = np.random.default_rng(3).integers(0, 400, 200_000)
    table = pa.table({"q": place.astype(str), "s": (place % 7).astype(str)})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2, threads=4).homogeneity
    assert found.matrix is not None
    assert [group.label for group in found.matrix.groups] == [f"q={one}" for one in dict.fromkeys(place.tolist())]


# --- graphml


def graph_of(path: Path) -> tuple[dict[str, dict[str, str]], dict[tuple[str, str], float]]:
    """The nodes with what is said of them, and the weights by their ends."""
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ET.parse(path).getroot()  # noqa: S314 - we wrote it

    def data(element: ET.Element) -> dict[str, str]:
        return {str(one.get("key")): one.text or "" for one in element.iter(f"{space}data")}

    nodes = {str(node.get("id")): data(node) for node in root.iter(f"{space}node")}
    edges = {(str(e.get("source")), str(e.get("target"))): float(data(e)["weight"]) for e in root.iter(f"{space}edge")}
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges


def test_graphml_read_back_is_the_matrix(tmp_path):
    kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.graphml")
    nodes, edges = graph_of(tmp_path / "g.graphml")
    values = {node["label"]: name for name, node in nodes.items() if node["kind"] == "value"}
    assert {label: [edges.get((name, f"E{e}"), 0) for e in (1, 2, 3)] for label, name in values.items()} == TABLE_4
    assert len(edges) == 8  # zeros are left out
    assert nodes["E2"] == {"kind": "class", "label": "PID=134***; STATE=*; AGE=>40", "size": "4"}
    malaria = nodes[values["Malaria"]]
    assert malaria == {"kind": "value", "label": "Malaria", "size": "5", "column": "DISEASE", "alpha": "0.5"}


ODD = ["<b>&amp;</b>", "a]]>b", "\x00\x1b[31m", "two\r\nlines", "😀", '"quoted"', "(missing)", None, "held by fewer than 2", "￾"]


def test_graphml_of_odd_texts_and_several_columns(tmp_path):
    table = pa.table({"<q>": ["x\x01&", "x\x01&"] * len(ODD), "s&": ODD * 2, "t": ODD * 2})
    kh.audit(table, quasi="<q>", sensitive=["s&", "t"], k=2, graph=tmp_path / "g.graphml")
    nodes, edges = graph_of(tmp_path / "g.graphml")
    assert nodes["E1"]["label"] == "<q>=x\ufffd&"
    for column in ("s&", "t"):
        labels = [node["label"] for node in nodes.values() if node.get("column") == column]
        plain = ["(missing)" if text is None else text.translate({0: 0xFFFD, 0x1B: 0xFFFD, 0xFFFE: 0xFFFD}) for text in ODD]
        assert sorted(labels) == sorted(plain)
    assert sum(edges.values()) == pytest.approx(2)  # the shares of the one class in each column


def test_graphml_is_the_same_page_by_page(tmp_path, monkeypatch):
    kh.audit(pa.table(TABLE_2), **ROLES, k=4, graph=tmp_path / "whole.graphml")
    monkeypatch.setattr(bipartite, "PAGE", 2)
    kh.audit(pa.table(TABLE_2), **ROLES, k=4, graph=tmp_path / "pages.graphml")
    assert (tmp_path / "whole.graphml").read_bytes() == (tmp_path / "pages.graphml").read_bytes()


# --- pictures


def fits_the_page(panels: Any) -> bool:
    figure = panels.flat[0].figure
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in panels] + [legend.get_window_extent() for legend in figure.legends]
    page = figure.bbox
    return all(page.x0 <= box.x0 < box.x1 <= page.x1 and page.y0 <= box.y0 < box.y1 <= page.y1 for box in boxes)


def overlapping(texts: list[Any]) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    pairs = ((one, other) for place, one in enumerate(boxes) for other in boxes[place + 1 :])
    return [(one, other) for (one, box), (other, below) in pairs if box.overlaps(below)]


@pytest.mark.parametrize("classes", [1, 3, MOST_CLASSES])
@pytest.mark.parametrize("names", [["a"], ["Brain Cancer", "$x_1^2$", "W" * 70, "two\nlines", None], ODD])
def test_nothing_is_cut_off_or_written_over(names, classes):
    rows = 4 * len(names) * classes
    table = pa.table({"zip": [f"E{n % classes}" * 9 for n in range(rows)], "s": (names * (rows // len(names)))})
    panels = kh.audit(table, quasi="zip", sensitive="s", k=2).graph()
    assert fits_the_page(panels)
    assert overlapping(panels[0].texts) == []
    assert panels._repr_png_() is not None


def test_the_graph_of_table_2_has_its_weights(tmp_path):
    evidence = kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.svg", curves=tmp_path / "c.svg")
    (axes,) = evidence.graph()
    texts = [text.get_text() for text in axes.texts]
    assert sorted(text for text in texts if text in ("0.25", "0.5", "1")) == ["0.25"] * 4 + ["0.5"] * 4
    assert {"Brain Cancer", "E1", "E3", "DISEASE"} <= set(texts)
    for name in ("g", "c"):
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")  # noqa: S314 - we wrote it
    before = (tmp_path / "g.svg").read_bytes()
    assert b"Malaria" in before  # else searching a picture for a name would find nothing
    kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.svg", force=True)
    assert (tmp_path / "g.svg").read_bytes() == before


def test_a_class_that_is_all_alike_stands_out():
    table = pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": ["a"] * 4 + ["a", "b"] * 2})
    (axes,) = kh.audit(table, quasi="q", sensitive="s", k=2).graph()
    colours = Counter(line.get_color() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-")
    assert sorted(colours.values()) == [1, 2]
    assert any("orange" in text.get_text() for text in axes.texts)


def test_a_graph_too_large_to_read_is_refused(tmp_path):
    table = pa.table({"q": [str(n // 2) for n in range(200)], "s": ["a", "b"] * 100})
    with pytest.raises(RequestError, match=r"2 values and 100 classes .* up to 20 values and 20 classes.*\.graphml"):
        kh.audit(table, quasi="q", sensitive="s", k=2, graph=tmp_path / "g.svg", curves=tmp_path / "c.svg")
    assert list(tmp_path.iterdir()) == []
    kh.audit(table, quasi="q", sensitive="s", k=2, graph=tmp_path / "g.graphml")
    assert len(graph_of(tmp_path / "g.graphml")[1]) == 200


def release_of(rows: int, k: int, *kinds: int) -> kh.Evidence:
    """An audited table of classes of k, with columns of so many values."""
    columns = {f"s{number}": [str(n % values) for n in range(rows)] for number, values in enumerate(kinds)}
    table = pa.table({"q": [str(n // k) for n in range(rows)], **columns})
    return kh.audit(table, quasi="q", sensitive=list(columns), k=2)


@pytest.mark.parametrize(
    ("rows", "k", "kinds"), [(12, 4, [3]), (600, 5, [2, 3, 50]), (400, 400, [7]), (20, 1, [1]), (90, 3, [4] * 9)]
)
def test_the_curves_are_those_of_the_formula(rows, k, kinds):
    left, right = panels = release_of(rows, k, *kinds).curves()
    assert fits_the_page(panels)
    values = min(kinds)
    for place, se in zip(*left.lines[0].get_data(), strict=True):
        assert se == pytest.approx(values ** (1 - k) * place / k)
    for place, se in zip(*right.lines[0].get_data(), strict=True):
        assert se == pytest.approx(float(values) ** (1 - place) * rows / place, rel=1e-6)
    assert left.get_xlabel().startswith("n ")
    assert right.get_xlabel().startswith("k ")
    assert len([line for line in left.lines if len(line.get_xdata()) > 2]) == min(len(kinds), 6) + (len(kinds) > 1)


def test_log_scales_where_they_help():
    assert [axes.get_yscale() for axes in release_of(12, 4, 3).curves()] == ["linear", "log"]
    assert [axes.get_yscale() for axes in release_of(600, 5, 2, 50).curves()] == ["log", "log"]
    assert [axes.get_yscale() for axes in release_of(12, 4, 1).curves()] == ["linear", "linear"]


def test_an_se_too_small_to_draw_is_not_drawn():
    left, right = panels = release_of(3000, 1500, 9).curves()
    assert fits_the_page(panels)
    assert "far to the right" in " ".join(text.get_text() for text in right.texts)
    assert left.get_yscale() == "linear"
    assert curves.Line("", [9], {}).se(3000, 1500) == 0


# --- the command line

AUDIT = "audit patients.csv --quasi sex --sensitive disease --drop name,age,zip"


def test_the_command_line_tells_it(kohort, tmp_path):  # noqa: F811
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


def test_the_agreed_keys(kohort):  # noqa: F811
    told = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --json").out)
    assert " ".join(told) == "rows classes k dm homogeneity audit file"
    (found,) = told["homogeneity"]
    assert " ".join(found) == "column values alphas max min spread alike_classes alike_share base_rate se"
    assert found["alphas"][0] == {"value": "flu", "alpha": 2 / 3, "rows": 60}
    assert list(found["se"]) == ["formula", "unequal", "predicted", "observed"]
    told = json.loads(kohort("audit patients.csv --quasi sex --sensitive disease,age --k 2 --json").out)
    assert len(told["homogeneity"]) == 2
    assert told["homogeneity_all"]["columns"] == ["disease", "age"]


def test_long_lists_are_cut_short_and_missing_is_named(kohort, tmp_path):  # noqa: F811
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
def test_wrong_files_are_refused_before_any_work(kohort, tmp_path, monkeypatch, flags):  # noqa: F811
    (tmp_path / "there.svg").write_text("old", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("kohort.tables.files.source_file.detected_format", lambda *_given: pytest.fail("the table is read"))
    ran = kohort(f"{AUDIT} {flags}")
    assert (ran.code, ran.out) == (2, "")
    assert any(told in ran.err for told in WRONG[flags].split("|"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_picture_needs_a_sensitive_column_and_is_not_the_table(kohort, tmp_path):  # noqa: F811
    assert "Name them with" in kohort("audit patients.csv --quasi sex --graph g.svg").err
    (tmp_path / "own.graphml").hardlink_to(tmp_path / "patients.csv")
    ran = kohort(f"{AUDIT} --graph own.graphml --force")
    assert (ran.code, "Choose another name" in ran.err) == (2, True)


def test_pictures_are_replaced_only_by_force(kohort, tmp_path):  # noqa: F811
    (tmp_path / "g.svg").write_text("old", encoding="utf-8")
    ran = kohort("audit patients.csv --quasi sex --sensitive disease --k 2 --graph g.svg --curves c.svg --force")
    assert ran.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.svg", "g.svg", "patients.csv"]
    assert (tmp_path / "g.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_no_value_held_by_too_few_is_told_anywhere(kohort, tmp_path):  # noqa: F811
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
