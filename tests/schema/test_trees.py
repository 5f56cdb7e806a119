"""Trees: all ways to write them, and errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.schema import trees as hierarchies
from kohort.schema.trees import Tree
from tests.schema.tree_paths import paths, require_runs

RARE = "Xanthippe-4711"


def load(tmp_path, text: str, encoding: str = "utf-8") -> Tree:
    (tmp_path / "tree.csv").write_bytes(text.encode(encoding))
    return hierarchies.load(tmp_path / "tree.csv")


SAME = {
    "semicolon": "a;x;*\nb;y;*\nc;x;*\n",
    "comma": "a,x,*\nb,y,*\nc,x,*\n",
    "tab": "a\tx\t*\nb\ty\t*\nc\tx\t*\n",
    "windows": "a;x;*\r\nb;y;*\r\nc;x;*\r\n",
    "no last line end": "a;x;*\nb;y;*\nc;x;*",
    "byte order mark": "\ufeffa;x;*\nb;y;*\nc;x;*\n",
    "quoted": '"a";"x";"*"\n"b";"y";"*"\n"c";"x";"*"\n',
    "lines twice": "a;x;*\nb;y;*\nb;y;*\nc;x;*\na;x;*\n",
    "blank lines": "a;x;*\n\nb;y;*\nc;x;*\n\n",
    "blank first line": "\na,x,*\nb,y,*\nc,x,*\n",
    "no root": "a;x\nb;y\nc;x\n",
    "trailing delimiters": "a;x;*;\nb;y;*;\nc;x;*;\n",
}


@pytest.mark.parametrize("name", SAME)
def test_all_spellings_of_a_file_give_the_same_tree(tmp_path, name):
    tree = load(tmp_path, SAME[name])
    assert tree.leaves == ("a", "c", "b")  # depth-first, children in order of first appearance
    assert paths(tree) == {"a": ["a", "x", "*"], "c": ["c", "x", "*"], "b": ["b", "y", "*"]}
    assert tree.height == 2


@pytest.mark.parametrize("leaf", ["a;b", "a,b", 'say "a"', " a ", "é💉", "x\ny", "x\r\ny", "a\u2028b", "\x85", "a\x0bb"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_values_with_special_characters_are_read_unchanged(tmp_path, leaf, delimiter):
    quoted = '"' + leaf.replace('"', '""') + '"'
    tree = load(tmp_path, f"{quoted}{delimiter}top{delimiter}*\nb{delimiter}top{delimiter}*\n")
    assert tree.leaves == (leaf, "b")


def test_root_may_have_any_label(tmp_path):
    tree = load(tmp_path, "a;x;Any\nb;y;Any\n")
    assert tree.labels[-1] == "Any"
    assert tree.height == 2


def test_short_lines_keep_their_labels(tmp_path):
    tree = load(tmp_path, "a;x;*\nb;y1;y2;*\nc;*\nd;x;*\n")
    once = {leaf: list(dict.fromkeys(labels)) for leaf, labels in paths(tree).items()}
    assert once == {"a": ["a", "x", "*"], "d": ["d", "x", "*"], "b": ["b", "y1", "y2", "*"], "c": ["c", "*"]}
    assert tree.height == 3
    assert all(len(labels) == 4 for labels in paths(tree).values())


def test_leaves_without_levels_get_a_root(tmp_path):
    assert paths(load(tmp_path, f"a\n{RARE}\n")) == {"a": ["a", "*"], RARE: [RARE, "*"]}


WRONG = {
    "empty": ("", "empty"),
    "blank": ("\n\n", "empty"),
    "two parents": (f"{RARE};x;*\nb;y;*\n{RARE};y;*\n", "lines 1 and 3 "),
    "after blank lines": (f"a;x;*\n\n\n{RARE};x;*\n{RARE};y;*\n", "lines 4 and 5 "),
    "after a long value": (f'"a\nb";x;*\n{RARE};x;*\n{RARE};y;*\n', "lines 3 and 4 "),
    "a label with two parents": (f"a;{RARE};p;*\nb;{RARE};q;*\n", "lines 1 and 2 "),
    "open quote": (f'a;"{RARE};*\nb;x;*\n', "CSV|quote"),
}


@pytest.mark.parametrize("name", WRONG)
def test_message_about_a_wrong_tree_names_lines_and_no_values(tmp_path, name):
    text, message = WRONG[name]
    with pytest.raises(RequestError, match=message) as caught:
        load(tmp_path, text)
    assert "tree.csv" in str(caught.value)
    assert RARE not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RequestError, match="UTF-8"):
        load(tmp_path, "é;*\n", "latin-1")
    for path, message in ((tmp_path, "cannot be read"), (tmp_path / "none.csv", "There is no tree file '.*none.csv'")):
        with pytest.raises(RequestError, match=f"{message}.*--hierarchy"):
            hierarchies.load(path)


def test_public_trees_load(public_data):
    files = sorted((public_data / "adult" / "hierarchies").glob("*.csv"))
    assert files
    for file in files:
        tree = hierarchies.load(file)
        rows = [line.split(";") for line in file.read_text(encoding="utf-8").splitlines()]
        assert set(tree.leaves) == {row[0] for row in rows}
        assert {leaf: labels[-1] for leaf, labels in paths(tree).items()} == {row[0]: row[-1] for row in rows}
        require_runs(tree)


@st.composite
def tree_rows(draw) -> list[tuple[str, ...]]:
    """Rows of a random tree, in any order, some of them twice; labels are unique per node, so that each has one parent."""
    height = draw(st.integers(1, 4))
    leaves = draw(st.lists(st.lists(st.integers(0, 2), min_size=height, max_size=height), min_size=1, max_size=12))
    rows = [tuple("/".join(map(str, path[: height - level])) or "*" for level in range(height + 1)) for path in leaves]
    return list(draw(st.permutations(rows)))


@settings(max_examples=150, deadline=None)
@given(tree_rows(), st.data())
def test_numbering_matches_a_recursive_walk(rows, data):
    tree = hierarchies.build(rows)
    assert sorted(tree.leaves) == sorted({row[0] for row in rows})
    assert paths(tree) == {row[0]: list(row) for row in rows}
    require_runs(tree)
    assert tree.leaves == tuple(row[0] for row in walk(list(dict.fromkeys(rows))))

    chosen = data.draw(st.lists(st.sampled_from(tree.leaves), min_size=1))
    codes = [tree.leaves.index(leaf) for leaf in chosen]
    above = paths(tree)
    lowest = next(label for label in above[chosen[0]] if all(label in above[leaf] for leaf in chosen))
    found = tree.common_ancestor(np.array([min(codes)]), np.array([max(codes)]))
    assert tree.labels[found[0]] == lowest


def walk(rows: list[tuple[str, ...]], level: int = 0) -> list[tuple[str, ...]]:
    """Return the rows depth-first from the root, by recursion; children in order of first appearance."""
    if level == len(rows[0]):
        return rows
    children: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        children.setdefault(row[-1 - level], []).append(row)
    return [row for child in children.values() for row in walk(child, level + 1)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abc*"), min_size=1, max_size=4), min_size=1, max_size=6))
def test_any_rows_give_a_tree_or_a_request_error(rows):
    try:
        tree = hierarchies.build(rows)
    except RequestError:
        return
    require_runs(tree)
    assert set(tree.leaves) == {row[0] for row in rows}
    assert len({tree.ancestors[-1, number] for number in range(len(tree.leaves))}) == 1  # one root


def test_published_label_is_never_empty():
    """An empty label would look like a missing value."""
    rows = [["a", "", "*"], ["b", "", "*"], ["c", "x", "*"]]
    try:
        release = kh.anonymize(pa.table({"q": ["a", "b", "c", "c"]}), quasi="q", hierarchy={"q": rows}, k=2)
    except RequestError:
        return
    assert "" not in release.table.column("q").to_pylist()
