"""GraphML of the graph of values and groups."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from kohort.auditor import value_class_graph as graph
from tests.homogeneity_tables import TABLE_2, graph_of

TABLE_4 = {"Brain Cancer": [0.25, 0, 0.5], "Malaria": [0.5, 0.5, 0.25], "Heart Disease": [0.25, 0.5, 0.25]}
ROLES: dict[str, Any] = {"quasi": ["PID", "STATE", "AGE"], "sensitive": "DISEASE"}


def test_graphml_has_the_weights_of_the_matrix(tmp_path):
    kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.graphml")
    nodes, edges = graph_of(tmp_path / "g.graphml")
    values = {node["label"]: name for name, node in nodes.items() if node["kind"] == "value"}
    assert {label: [edges.get((name, f"E{e}"), 0) for e in (1, 2, 3)] for label, name in values.items()} == TABLE_4
    assert len(edges) == 8  # edges with weight 0 are not written
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
    assert sum(edges.values()) == pytest.approx(2)  # the shares in the only group, for both columns


def test_graphml_does_not_depend_on_the_page_size(tmp_path, monkeypatch):
    kh.audit(pa.table(TABLE_2), **ROLES, k=4, graph=tmp_path / "whole.graphml")
    monkeypatch.setattr(graph, "PAGE", 2)
    kh.audit(pa.table(TABLE_2), **ROLES, k=4, graph=tmp_path / "pages.graphml")
    assert (tmp_path / "whole.graphml").read_bytes() == (tmp_path / "pages.graphml").read_bytes()
