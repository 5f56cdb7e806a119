"""Test explanations: cuts contain only published values, gains add up, and no part has fewer than k rows."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.encoding import encode as encoding
from kohort.encoding.groups import total_cost
from kohort.methods import Partition
from kohort.methods.search.decisions import Decisions
from kohort.methods.search.gain_cuts import STEPS as STEPS_OF_A_BOX
from kohort.methods.search.gain_cuts import recorded_splits
from kohort.progress import Progress
from kohort.publishing.explanation import BLOCKS_ONLY, NO_CUTS, WITHHELD
from kohort.testing.sample_tables import QUASI, TREE, large_table, tables
from tests.recorded_runs import Prepared, prepare

QUICK = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None)
LARGE = large_table()
BROKEN = "A cut by a would break a promise."
WHOLE = "100 % of its range in the whole table."


def explained(ready: Prepared, partition: Partition | None = None) -> dict[str, Any]:
    """Return the explanation of a run. Check that it can be written as JSON."""
    found = ready.explained(partition or ready.recording().run())
    json.dumps(found, allow_nan=False)
    return found


def large(**requested):
    columns = {"quasi": LARGE.column_names[:4], "sensitive": "secret", "drop": [] if "unit" in requested else ["person"]}
    return prepare(LARGE, **{"k": 5, **columns, **requested})


# --- small examples


def test_explanation_of_one_cut():
    found = explained(prepare({"age": [1, 2, 3, 4, 11, 12], "sex": ["f", "f", "m", "m", "m", "m"]}, method="mondrian"))
    assert found["cuts"] == [
        {
            "node": 1,
            "rows": 6,
            "column": "age",
            "also": [],
            "left": {"node": 2, "rows": 3, "values": "[1 - 3]"},
            "right": {"node": 3, "rows": 3, "values": "[4 - 12]"},
            "gain": round((12 - 3 * (2 / 11 + 1) - 3 * 8 / 11) / 12, 6),
            "why": f"age has the widest range of values in this part: {WHOLE} It is cut at the median.",
        }
    ]
    assert found["leaves"] == [{"node": 2, "rows": 3, "groups": [0]}, {"node": 3, "rows": 3, "groups": [1]}]
    assert found["groups"] == [
        {"group": 0, "rows": 3, "values": {"age": "[1 - 3]", "sex": "*"}},
        {"group": 1, "rows": 3, "values": {"age": "[4 - 12]", "sex": "m"}},
    ]
    assert found["loss"] == {"one_group": 1.0, "leaves": round((3 * (2 / 11 + 1) + 3 * 8 / 11) / 12, 6)}
    assert (found["method"], found["note"], found["improvement"]) == ("mondrian", None, None)
    assert found["repair"] == {"merged_groups": 0, "suppressed_rows": 0}


def test_columns_that_cannot_be_cut_are_named():
    columns = {"a": [0, 0, 0, 0, 0, 9], "b": [1, 1, 1, 2, 2, 2]}
    found = explained(prepare(columns, method="mondrian", weight={"a": 2}))
    assert [cut["why"] for cut in found["cuts"]] == [
        f"b has the widest range of the columns that can be cut (weighted): {WHOLE} {BROKEN} It is cut at the median."
    ]


def test_cut_of_equal_rows_has_no_column():
    cut = explained(prepare({"a": [7] * 4}, method="mondrian", option={"relaxed": True}))["cuts"][0]
    assert (cut["column"], cut["left"], cut["gain"]) == (None, {"node": 2, "rows": 2, "values": "*"}, 0.0)
    assert cut["why"] == "All rows of this part have the same values. Half of them go to each side."


def test_cuts_for_a_workload_are_named():
    columns = {"a": [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13], "b": [0, 100] * 6}
    found = explained(prepare(columns, k=4, method="mondrian", workload={"query": [{"where": [["a", "<=", 5]]}]}))
    assert "workload" in found["cuts"][0]["why"]
    assert (found["cuts"][0]["column"], found["cuts"][0]["left"]["values"]) == ("a", "[1 - 4]")


def test_cut_by_several_columns_names_all_of_them():
    ready = large(method="top-down")
    made = recorded_splits(ready.points, ready.constraints, STEPS_OF_A_BOX, Progress(1), record=True)
    cuts = explained(ready, Partition(made.labels, decisions=made.decisions))["cuts"]
    boxes = [cut for cut in cuts if cut["also"]]
    assert boxes
    for cut in boxes:
        assert list(cut["left"]["also"]) == list(cut["right"]["also"]) == cut["also"]
        assert all(column in cut["why"] for column in [cut["column"], *cut["also"]])
    assert all("also" not in cut["left"] for cut in cuts if not cut["also"])


def test_values_of_the_label_column_are_not_shown():
    columns = {"a": [1, 2] * 20, "y": ["first label"] * 20 + ["second label"] * 20}
    requested: dict[str, Any] = {"quasi": "a", "other": "y", "allow": "y", "label": "y", "objective": "class"}
    found = explained(prepare(columns, k=5, method="top-down", effort=0, **requested))
    by_label = [cut for cut in found["cuts"] if cut["column"] == "y"]
    assert by_label
    assert {side["values"] for cut in by_label for side in (cut["left"], cut["right"])} == {"*"}
    assert not re.search("first|second", json.dumps(found))


def test_label_that_is_a_quasi_identifier_is_one_column():
    columns = {"a": [1, 2] * 20, "y": ["x"] * 20 + ["y"] * 20}
    found = explained(prepare(columns, label="y", objective="class", k=5, method="top-down", effort=0))
    sides = [side for cut in found["cuts"] if cut["column"] == "y" for side in (cut["left"], cut["right"])]
    assert {side["values"] for side in sides} == {"x", "y"}
    assert all(cut["column"] not in cut["also"] for cut in found["cuts"])


@pytest.mark.parametrize(("requested", "note"), [({}, NO_CUTS), ({"block": 300}, BLOCKS_ONLY)], ids=["one block", "blocks"])
def test_methods_without_cuts_have_a_note(requested, note):
    found = explained(large(method="k-member", **requested))
    assert found["note"] == note
    assert len(found["cuts"]) == (0 if note == NO_CUTS else len(found["leaves"]) - 1)
    assert (found["loss"] is None) == (note == NO_CUTS)
    assert sum(group["rows"] for group in found["groups"]) == LARGE.num_rows
    assert all("first cut into blocks" in cut["why"] for cut in found["cuts"])


def test_improvement_and_repair_are_counted():
    ready = prepare({"a": [*range(40), 1_000, 2_000]}, k=4, method="top-down", effort=1, suppress=0.05)
    made = ready.recording().run()
    found = explained(ready, made)
    improved = found["improvement"]
    assert improved["objective"] == "leaf"
    assert improved["loss_after"] < improved["loss_before"]
    assert improved["groups_after"] == len(found["groups"]) == made.labels.max() + 1
    suppressed = np.count_nonzero(made.labels < 0)
    assert found["repair"] == {"merged_groups": 0, "suppressed_rows": suppressed}
    assert suppressed > 0
    with_group = explained(ready, made.with_suppressed_group())
    assert with_group["repair"] == found["repair"]
    assert set(with_group["groups"][-1]["values"].values()) == {"*"}


def test_improvement_of_square_error_has_no_loss():
    found = explained(large(method="auto", objective="square-error", k=20, block=300, effort=1))
    assert found["improvement"]["sweeps"] > 0
    assert found["improvement"]["loss_before"] is found["improvement"]["loss_after"] is None


# --- gains


@pytest.mark.parametrize("objective", ["leaf", "height"])
@pytest.mark.parametrize("method", ["mondrian", "top-down", "auto"])
def test_gains_match_the_loss_of_the_search(method, objective):
    """If the leaves are published unchanged, the gains add up to the loss that the search computes."""
    ready = large(method=method, effort=0, weight={LARGE.column_names[0]: 2}, objective=objective)
    made = ready.recording().run()
    tables_of_search = ready.points.kernel_tables(ready.points.measure)
    whole, leaves = (total_cost(ready.points, labels, tables_of_search) for labels in (0 * made.labels, made.labels))
    cells = int(tables_of_search.full.sum()) * LARGE.num_rows
    found = explained(ready, made)
    assert sum(cut["gain"] for cut in found["cuts"]) == pytest.approx((whole - leaves) / cells, abs=1e-5)
    assert found["loss"]["one_group"] == pytest.approx(whole / cells, abs=1e-5)
    assert found["loss"]["leaves"] == pytest.approx(leaves / cells, abs=1e-5)


def require_consistent(found: dict[str, Any], k: int) -> None:
    """Check that parts and gains of the tree add up, and that no part has fewer than k rows."""
    rows = {cut["node"]: cut["rows"] for cut in found["cuts"]} | {leaf["node"]: leaf["rows"] for leaf in found["leaves"]}
    children = Counter(side["node"] for cut in found["cuts"] for side in (cut["left"], cut["right"]))
    if not found["leaves"]:
        assert not found["cuts"]
        return
    assert sorted(rows) == list(range(1, len(found["cuts"]) + len(found["leaves"]) + 1))
    assert children == Counter(node for node in rows if node > 1)
    for cut in found["cuts"]:
        assert cut["rows"] == cut["left"]["rows"] + cut["right"]["rows"]
        assert all(rows[side["node"]] == side["rows"] for side in (cut["left"], cut["right"]))
        assert cut["gain"] >= 0
    assert min(rows.values()) >= k
    gained = sum(cut["gain"] for cut in found["cuts"])
    assert gained == pytest.approx(found["loss"]["one_group"] - found["loss"]["leaves"], abs=1e-5)


# --- only published values

STEPS = {"few": 2, "many": 1000, "decimal": 0.5}
DAYS = st.none() | st.dates(dt.date(2015, 1, 1), dt.date(2023, 12, 31)).map(str)


@st.composite
def runs(draw):
    """Draw a table of numbers, decimals, text, a tree and dates, some missing, and the settings of a job."""
    table = draw(tables(least=12)).select([*QUASI])
    table = table.append_column("day", pa.array(draw(st.lists(DAYS, min_size=len(table), max_size=len(table))), pa.string()))
    names = draw(st.permutations(table.column_names))[: draw(st.integers(1, 6))]
    requested: dict[str, Any] = {
        "k": draw(st.integers(2, 4)),
        "method": draw(st.sampled_from(["mondrian", "top-down", "auto"])),
        "suppress": draw(st.sampled_from([0, 0.2])),
        "effort": draw(st.sampled_from([0, 1])),
        "block": draw(st.sampled_from([0, 12])),
    }
    if requested["method"] == "mondrian":
        requested["option"] = {"relaxed": draw(st.booleans())}
    if "tree" in names:
        requested["hierarchy"] = {"tree": TREE}
    if "day" in names:
        requested["type"] = {"day": "date"}
    if "many" in names:
        requested["statistic"] = {"many": draw(st.sampled_from(["range", "mean", "both"]))}
    if draw(st.booleans()) and (steps := {name: step for name, step in STEPS.items() if name in names}):
        requested |= {"ranges": "grid", "step": steps}
    return table.select(names), requested


def ends(text: str) -> list[str]:
    return re.sub(r"^\[(.+) - (.+)\]$", r"\1|\2", text).split("|")


def may_be_shown(name: str, text: str, published: set[str], requested: dict[str, Any]) -> bool:
    """Whether a text consists of values of this column that the release shows."""
    if text == "*" or text in published:
        return True
    if name == "tree":
        above = {row[0]: row for row in TREE} | {row[1]: row[1:] for row in TREE}
        return any(text in above[label] for label in published - {"*"})
    if name == "text":
        return False
    shown = {end for other in published - {"*"} for end in ends(other)}
    if name == "day":
        shown |= {end[:4] for end in shown} | {f"{end}-{month}" for end in shown if len(end) == 4 for month in ("01", "12")}
    step = requested.get("step", {}).get(name)
    return all(end in shown or (step and Decimal(end) % Decimal(str(step)) == 0) for end in ends(text))


@pytest.mark.slow
@QUICK
@given(runs(), st.booleans(), st.booleans())
def test_cuts_contain_only_published_values(run, with_group, binned):
    """Texts of the cuts consist of ends and labels of published groups."""
    table, requested = run
    with pytest.MonkeyPatch.context() as patch:
        if binned:
            patch.setattr(encoding, "MOST_NUMBERS", 3)
        ready = prepare(table, **requested)
    made = ready.recording().run()
    made = made.with_suppressed_group() if with_group and (made.labels < 0).any() else made
    found, texts = explained(ready, made), ready.texts(made)
    require_consistent(found, requested["k"])
    for cut in found["cuts"]:
        for side in (cut["left"], cut["right"]):
            values = {cut["column"]: side["values"], **side.get("also", {})} if cut["column"] else {}
            for name, text in values.items():
                published = {other for other in texts.get(name, ()) if other is not None}
                assert may_be_shown(name, text, published, requested), (name, text, published)
    for group in found["groups"]:
        assert all(text in texts[name] for name, text in group["values"].items())


@pytest.mark.parametrize("method", ["mondrian", "top-down"])
def test_suppressed_row_does_not_change_the_explanation(method):
    """Two tables that differ only in a suppressed row have the same explanation, including gains and sentences."""
    found = []
    for outlier in (1_000, 3_141):
        ready = prepare({"a": [*range(40), outlier]}, k=4, method=method, suppress=0.03, effort=int(method == "top-down"))
        made = ready.recording().run()
        assert np.flatnonzero(made.labels < 0).tolist() == [40]
        found.append({**explained(ready, made), "improvement": None})  # the losses of the improvement are in the notes too
    assert found[0] == found[1]


@pytest.mark.parametrize("method", ["mondrian", "top-down"])
@pytest.mark.parametrize("with_group", [False, True])
def test_suppressed_rows_cannot_be_found_by_subtraction(method, with_group):
    """Of eleven people, a man is suppressed. A part of six men and a published group of five would show that he is a man."""
    columns = {"sex": ["m"] * 5 + ["f"] * 5 + ["m"], "city": ["Oslo"] * 5 + ["Rome"] * 5 + ["Bonn"]}
    ready = prepare(columns, k=5, method=method, suppress=0.1, effort=0)
    made = ready.recording().run()
    assert np.flatnonzero(made.labels < 0).tolist() == [10]
    found = explained(ready, made.with_suppressed_group() if with_group else made)
    assert (found["cuts"], found["leaves"], found["note"]) == ([], [], WITHHELD)


# --- no parts of fewer than k


def cut_after(left: list[int], right: list[int]) -> Decisions:
    """Return one cut by the first axis."""
    order, none = np.array([*left, *right]), np.zeros(1, np.int64)
    return Decisions(order, none, none + len(left), none + len(order), none[:, np.newaxis], none, none > 0)


@pytest.mark.parametrize(("left", "cuts"), [(1, 0), (2, 1), (5, 0)])
def test_parts_of_fewer_than_k_rows_are_not_shown(left, cuts):
    ready = prepare({"a": [1, 2, 3, 4, 5, 6]})
    rows = list(range(6))
    partition = Partition(np.zeros(6, np.int64), decisions=cut_after(rows[:left], rows[left:]))
    found = explained(ready, partition)
    assert len(found["cuts"]) == cuts
    assert len(found["leaves"]) == cuts + 1
    assert sum(leaf["rows"] for leaf in found["leaves"]) == 6


@pytest.mark.parametrize(("people", "cuts"), [([1, 1, 1, 2, 3, 4], 0), ([1, 1, 2, 2, 3, 4], 1)])
def test_parts_of_fewer_than_k_people_are_not_shown(people, cuts):
    ready = prepare({"a": [1, 2, 3, 4, 5, 6], "p": people}, quasi="a", unit="p")
    found = explained(ready, Partition(np.zeros(6, np.int64), decisions=cut_after([0, 1, 2], [3, 4, 5])))
    assert len(found["cuts"]) == cuts


def test_groups_with_fewer_than_k_rows_in_a_leaf_are_not_named():
    """Improvement exchanged row 4 and row 5. The explanation must not show that one row of each group is in another leaf."""
    ready = prepare({"a": list(range(10))})
    labels = np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    found = explained(ready, Partition(labels, decisions=cut_after([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])))
    assert [leaf["groups"] for leaf in found["leaves"]] == [[0], [1]]


@pytest.mark.parametrize(
    "requested",
    [{"method": "mondrian", "unit": "person"}, {"method": "auto", "l": 2, "block": 300, "suppress": 0.03}],
    ids=["people", "auto in blocks"],
)
def test_explanations_of_larger_tables_are_consistent(requested):
    require_consistent(explained(large(**requested)), 5)
