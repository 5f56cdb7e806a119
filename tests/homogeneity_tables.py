"""Tables of Mohapatra, Patra, and readers for graphs and pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

TABLE_2 = {
    "PID": ["1210**"] * 4 + ["134***"] * 4 + ["14****"] * 4,
    "STATE": ["*"] * 12,
    "AGE": ["<30"] * 4 + [">40"] * 4 + ["3*"] * 4,
    "DISEASE": ["Brain Cancer", "Malaria", "Heart Disease", "Malaria"]
    + ["Heart Disease", "Malaria"] * 2
    + ["Heart Disease", "Brain Cancer", "Malaria", "Brain Cancer"],
}


# --- graphml


def graph_of(path: Path) -> tuple[dict[str, dict[str, str]], dict[tuple[str, str], float]]:
    """Return the data of each node, and the weight of each edge."""
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ET.parse(path).getroot()  # noqa: S314 - the test wrote this file

    def data(element: ET.Element) -> dict[str, str]:
        return {str(one.get("key")): one.text or "" for one in element.iter(f"{space}data")}

    nodes = {str(node.get("id")): data(node) for node in root.iter(f"{space}node")}
    edges = {(str(e.get("source")), str(e.get("target"))): float(data(e)["weight"]) for e in root.iter(f"{space}edge")}
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges


# --- charts


def fits_the_page(panels: Any) -> bool:
    """Return whether all parts of the picture are inside the page."""
    figure = panels.flat[0].figure
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in panels] + [legend.get_window_extent() for legend in figure.legends]
    page = figure.bbox
    return all(page.x0 <= box.x0 < box.x1 <= page.x1 and page.y0 <= box.y0 < box.y1 <= page.y1 for box in boxes)
