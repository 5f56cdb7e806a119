"""Mondrian, compared with Murthy, Srinivas and with a simple reference implementation."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort import datasets
from kohort.engines.choose import ENGINES
from kohort.progress import Progress
from tests import oracles

RELAXED = pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def partition(columns, k, *, relaxed=False, hierarchy=None, threads=1, **job):
    """Return the labels of the memory engine, without an audit, and the sorted group sizes."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    quasi = [name for name in table.column_names if name != "s1"]
    requested = kohort.Job.build(
        method="mondrian",
        quasi=quasi,
        drop=["s1"] if "s1" in table.column_names else [],
        hierarchy=hierarchy or {},
        option={"relaxed": relaxed},
        row_order="given",
        k=k,
        **job,
    )
    engine = ENGINES["memory"](requested, Progress(threads))
    labels = engine.partition(engine.encode(table)).labels().tolist()
    return labels, sorted(Counter(labels).values())


def wide_tree(leaves):
    """Return a tree with so many leaves that codes need 32 bits. Neighbours in the file are not neighbours in the tree."""
    return [(f"v{number}", f"g{number % 97}", f"h{number % 97 % 7}", "*") for number in range(leaves)]


# --- the table of Murthy, Srinivas (Tables 1, 3 and 4, corrected)

PATIENTS = pa.table(
    {
        "Age": [35, 35, 36, 37, 37, 38],
        "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "Zipcode": ["53711", "53712", "53711", "53710", "53712", "53711"],
        "Disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
    }
)
TABLE_3 = {
    "Age": ["[35 - 36]", "[35 - 37]", "[35 - 36]", "[37 - 38]", "[35 - 37]", "[37 - 38]"],
    "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
    "Zipcode": ["53711", "53712", "53711", "[53710 - 53711]", "53712", "[53710 - 53711]"],
    "Disease": PATIENTS["Disease"].to_pylist(),
}


def patients(**changes):
    requested: dict[str, Any] = {
        "quasi": ["Zipcode", "Sex", "Age"],
        "sensitive": "Disease",
        "type": {"Zipcode": "integer"},
        "k": 2,
    }
    return kohort.anonymize(PATIENTS, method="mondrian", keep_order=True, **requested, **changes)


def test_table_3_of_the_paper():
    release = patients()
    assert release.table.to_pydict() == TABLE_3
    assert (release.loss.dm, release.loss.cavg, release.evidence.classes, release.evidence.dm) == (12, 1.0, 3, 12)
    assert (release.loss.dm_clusters, release.loss.cavg_clusters) == (12, 1.0)


def test_table_4_of_the_paper_has_means_and_ranges():
    published = patients(statistic={"Age": "both"}).table.to_pydict()
    assert published == {**TABLE_3, "Age.mean": ["35.5", "36", "35.5", "37.5", "36", "37.5"]}
    assert list(published) == ["Age", "Age.mean", "Sex", "Zipcode", "Disease"]


# --- small examples


def test_another_cut_is_used_if_the_median_is_not_valid():
    """Three 1s, nine 2s, one 3, k = 3: the cut at the median separates one row, the cut after the 1s gives 3 and 10 rows."""
    labels, _ = partition({"a": [2] * 5 + [1] * 3 + [3] + [2] * 4}, k=3)
    assert labels == [1] * 5 + [0] * 3 + [1] * 5


def test_the_valid_cut_nearest_to_balance_is_used():
    """Values with 1, 4, 6, 8, 9, 1 of 29 rows: the cut at the median, 19|10, is valid up to k = 10. Then 11|18 is nearest."""
    column = [value for value, count in enumerate([1, 4, 6, 8, 9, 1]) for _ in range(count)]
    assert partition({"a": column}, k=10)[1] == [10, 19]
    assert partition({"a": column}, k=11)[1] == [11, 18]


def test_the_next_widest_axis_is_cut_if_the_widest_has_no_valid_cut():
    columns = {"a": [0, 0, 0, 0, 0, 9], "b": [1, 1, 1, 2, 2, 2], "c": [0, 0, 0, 0, 0, 1000]}
    assert partition(columns, k=2)[0] == [0, 0, 0, 1, 1, 1]


def test_ties_go_to_the_first_column():
    """Both columns have the full width, so the first one in the job is cut."""
    one, other = [0, 0, 1, 1], [0, 1, 0, 1]
    assert partition({"a": one, "b": other}, k=2)[0] == [0, 0, 1, 1]
    assert partition({"b": other, "a": one}, k=2)[0] == [0, 1, 0, 1]


def test_ties_of_widths_that_are_not_binary_fractions():
    """After the cut at a = 1 both axes have the width 1/3 exactly, so the first axis, a, is cut."""
    columns = {"a": [0, 0, 1, 1, 3, 3, 3, 3], "b": [1, 2, 1, 2, 0, 0, 3, 3]}
    assert partition(columns, k=2)[0] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_weight_decides_which_axis_is_cut():
    columns = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    assert partition(columns, k=2, weight={"b": 2})[0] == [0, 1, 0, 1]
    measures = [oracles.Numbers(column) for column in columns.values()]
    assert oracles.mondrian(list(columns.values()), measures, 2, weights=[1, 2]) == [0, 1, 0, 1]


def test_relaxed_halves_equal_points():
    labels, sizes = partition({"a": [7] * 10}, k=2, relaxed=True)
    assert sizes == [2, 2, 3, 3]  # 10 = 5 + 5, 5 = 3 + 2: halves differ by at most one
    assert labels == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert partition({"a": [7] * 10}, k=2)[1] == [10]


def test_relaxed_cuts_of_a_small_example():
    """Seven rows: 1 | 2 2 2 2 | 3 3. The left half has the 1 and the first three 2s in row order. Then it is halved again."""
    table = pa.table({"a": [2, 1, 2, 3, 2, 3, 2]})
    requested: dict[str, Any] = {"method": "mondrian", "option": {"relaxed": True}, "row_order": "given"}
    release = kohort.anonymize(table, quasi="a", k=2, **requested, keep_order=True)
    assert release.labels.tolist() == [0, 0, 1, 2, 1, 2, 2]
    assert release.table["a"].to_pylist() == ["[1 - 2]", "[1 - 2]", "2", "[2 - 3]", "2", "[2 - 3]", "[2 - 3]"]


def test_relaxed_cuts_in_canonical_order_do_not_depend_on_the_order_of_the_rows():
    table = pa.table({"a": [2, 1, 2, 3, 2, 3, 2], "b": [1, 1, 2, 2, 3, 3, 4]})
    job: dict[str, Any] = {"method": "mondrian", "quasi": ["a", "b"], "k": 2, "option": {"relaxed": True}, "seed": 1}
    job["keep_order"] = True
    one = kohort.anonymize(table, **job).table.to_pylist()
    other = kohort.anonymize(table.take(pa.array(range(6, -1, -1))), **job).table.to_pylist()
    assert one == other[::-1]


def test_a_column_with_missing_and_other_values_has_the_full_width():
    """Column a has missing values and equal numbers. Its width is 1. Missing values are left of all other values."""
    columns = {"b": [0, 3, 0, 3, 8, 0], "a": [5, None, 5, None, 5, None]}
    assert partition({"a": [5, None, 5, None, 5, None], "b": [0, 3, 0, 3, 7, 0]}, k=3)[0] == [1, 0, 1, 0, 1, 0]
    assert partition(columns, k=3)[0] == [0, 1, 0, 1, 1, 0]


# --- compared with the reference implementation


@RELAXED
@QUICK
@given(made=oracles.tables(), k=st.integers(2, 6))
def test_labels_match_the_oracle(relaxed, made, k):
    columns, measures = made
    k = min(k, len(next(iter(columns.values()))))
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    labels, sizes = partition(columns, k, relaxed=relaxed, hierarchy=hierarchy)
    assert labels == oracles.mondrian(list(columns.values()), measures, k, relaxed=relaxed)
    points = Counter(zip(*columns.values(), strict=True))
    assert max(sizes) <= (2 * k - 1 if relaxed else 2 * len(columns) * (k - 1) + max(points.values()))
    if not relaxed:  # equal rows are never separated
        assert len(set(zip(labels, *columns.values(), strict=True))) == len(points)


@RELAXED
@pytest.mark.parametrize(
    ("rows", "axes", "distinct"), [(900, 3, 200), (2_000, 3, 40_000), (500, 12, 2**16), (300, 15, 2**16)], ids=str
)
def test_codes_of_8_and_16_bits_match_the_oracle(rows, axes, distinct, relaxed):
    """A row has one, two or three words. In small parts of axes with many values, codes are sorted instead of counted."""
    draw = random.Random(rows)
    span = 1 << (distinct - 1).bit_length()
    columns = {f"a{axis}": [0, span, *draw.choices(range(distinct), k=rows)] for axis in range(axes)}
    measures = [oracles.Numbers(column) for column in columns.values()]
    assert partition(columns, 3, relaxed=relaxed)[0] == oracles.mondrian(list(columns.values()), measures, 3, relaxed=relaxed)


@pytest.mark.slow
@RELAXED
def test_codes_of_32_bits_match_the_oracle(relaxed):
    """Trees with 66,000 leaves need 17 bits per code. There are few rows, so codes are sorted from the first cut on."""
    draw = random.Random(32)
    rows = wide_tree(66_000)
    columns = {"t": [row[0] for row in draw.choices(rows, k=150)], "u": [row[0] for row in draw.choices(rows[:2_000], k=150)]}
    columns["t"][:40] = columns["t"][40:80]
    measure = oracles.Categories((), rows)
    labels, _ = partition(columns, 4, relaxed=relaxed, hierarchy=dict.fromkeys(columns, rows))
    assert labels == oracles.mondrian(list(columns.values()), [measure, measure], 4, relaxed=relaxed)


@RELAXED
@pytest.mark.parametrize("seed", [1, 2])
def test_mondrian_of_a_census_matches_the_oracle(relaxed, seed):
    table = datasets.census(2_000, quasi=6, seed=seed)
    draw = random.Random(seed)
    columns = {name: [None if draw.random() < 0.02 else value for value in table[name].to_pylist()] for name in ("q2", "q5")}
    columns = {name: [*column, 0, 128] for name, column in columns.items()}  # a range of 128 makes all widths binary fractions
    columns["q4"] = [f"v{value}" for value in table["q4"].to_pylist()] + ["v0", None]
    measures: list[oracles.Measure] = [
        *(oracles.Numbers(columns[name]) for name in ("q2", "q5")),
        oracles.Categories(columns["q4"]),
    ]
    labels, _ = partition(columns, 5, relaxed=relaxed)
    assert labels == oracles.mondrian(list(columns.values()), measures, 5, relaxed=relaxed)


# --- many rows: parts with more than SMALL rows are separate tasks


@RELAXED
def test_tasks_do_not_change_the_labels(relaxed, monkeypatch):
    table = datasets.census(100_000, quasi=5)
    found = []
    for small in (1 << 40, 1 << 15, 64):
        monkeypatch.setattr("kohort.methods.search.median_cuts.SMALL", small)
        labels, sizes = partition(table, 10, relaxed=relaxed, threads=2)
        found.append(np.array(labels))
        assert sizes[0] >= 10
        assert not relaxed or sizes[-1] <= 19
    assert found[0].max() > 3_000
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_large_part_without_a_valid_cut_is_a_group(monkeypatch):
    """After the only possible cut, both sides have equal rows. Their tasks find no cut and finish."""
    monkeypatch.setattr("kohort.methods.search.median_cuts.SMALL", 10)
    labels, sizes = partition({"a": [1] * 300 + [2] * 200}, k=4)
    assert sizes == [200, 300]
    assert labels == [0] * 300 + [1] * 200
