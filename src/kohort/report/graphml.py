"""Write the bipartite graph of sensitive values and groups as GraphML. It is written line by line, because it may have millions
of edges.

Uses only the basic part of the format, which networkx and Gephi can read (see graphml.graphdrawing.org). The labels of values and
groups are those of `auditor.value_class_graph`, which does not name rare values and small groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from kohort.auditor.homogeneity import Homogeneity
from kohort.auditor.value_class_graph import ReleaseView, Value

NODE_KEYS = {"kind": "string", "label": "string", "size": "long", "column": "string", "alpha": "double"}
EDGE_KEYS = {"weight": "double", "records": "long"}
Facts = dict[str, str | int | float]
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graphml(path: Path, found: tuple[Homogeneity, ...], view: ReleaseView) -> None:
    """Write the graph of all sensitive columns to one file. The values of all columns are nodes of the same graph."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lines(found, view))


def _lines(found: tuple[Homogeneity, ...], view: ReleaseView) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for on, keys in (("node", NODE_KEYS), ("edge", EDGE_KEYS)):
        for name, kind in keys.items():
            yield f'<key id="{name}" for="{on}" attr.name="{name}" attr.type="{kind}"/>'
    yield '<graph id="homogeneity" edgedefault="undirected">'
    names: dict[tuple[str, Value], str] = {}
    for column in found:
        for one in column.alphas:
            name = names[column.column, one.value] = f"S{len(names) + 1}"
            facts: Facts = {
                "kind": "value",
                "label": one.value.label,
                "size": one.rows,
                "column": column.column,
                "alpha": one.alpha,
            }
            yield f'<node id="{name}">{_data(facts)}</node>'
    for group in view.groups():
        yield f'<node id="{group.name}">{_data({"kind": "class", "label": group.label, "size": group.size})}</node>'
    for alias, column_name in view.sensitive.items():
        for edge in view.edges(alias):
            ends = f'source="{names[column_name, edge.value]}" target="E{edge.group + 1}"'
            yield f"<edge {ends}>{_data({'weight': edge.weight, 'records': edge.records})}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _data(facts: Facts) -> str:
    return "".join(f'<data key="{key}">{_text(str(value))}</data>' for key, value in facts.items())


def _text(text: str) -> str:
    """Escape a text for XML.

    XML cannot contain most control characters, so they are replaced. A plain carriage return would be dropped by readers, so it
    is escaped.
    """
    return escape(_NOT_XML.sub("\ufffd", text), quote=False).replace("\r", "&#13;")
