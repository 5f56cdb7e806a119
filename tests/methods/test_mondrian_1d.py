"""Single-dimensional Mondrian, compared with Murthy, Srinivas and with a simple reference implementation."""

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
from kohort import datasets, testing
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.engines.choose import ENGINES
from kohort.methods import Options, mondrian_1d
from kohort.progress import Progress
from kohort.schema import columns as schema
from kohort.schema.promises import Promise
from tests import oracles
from tests.oracles import full_domain as plain

QUICK = settings(max_examples=70, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def partition(columns, k, **job):
    """Return the labels of the memory engine, without an audit. Column s is sensitive, column p is the person."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    names = table.column_names
    requested = {
        "hierarchy": {"tree": oracles.TREE} if "tree" in names else {},
        "sensitive": [name for name in names if name == "s"],
        **job,
    }
    quasi = [name for name in names if name not in ("s", "p")]
    engine = ENGINES["memory"](
        kohort.Job.build(quasi=quasi, method="mondrian-1d", k=k, row_order="given", **requested), Progress(1)
    )
    return engine.partition(engine.encode(table)).labels().tolist()


# --- the table of Murthy, Srinivas (Table 1, corrected; their Table 2 contradicts itself)


def test_the_table_of_the_paper():
    patients = pa.table(
        {
            "Age": [35, 35, 36, 37, 37, 38],
            "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
            "Zipcode": ["53711", "53712", "53711", "53710", "53712", "53711"],
            "Disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
        }
    )
    job: dict[str, Any] = {"quasi": ["Zipcode", "Sex", "Age"], "sensitive": "Disease", "type": {"Zipcode": "integer"}, "k": 2}
    release = kohort.anonymize(patients, method="mondrian-1d", keep_order=True, **job)
    men, women = ("[35 - 38]", "Male", "[53710 - 53711]"), ("[35 - 38]", "Female", "53712")
    published = [tuple(row[name] for name in ("Age", "Sex", "Zipcode")) for row in release.table.to_pylist()]
    assert published == [men, women, men, men, women, men]
    assert (release.loss.dm, release.loss.cavg) == (20, 1.5)


# --- small examples


def test_a_cut_must_be_valid_in_every_region():
    """The first column is cut. A cut of the second column would be valid in the left region, but not in the right region."""
    columns = {"a": [0, 0, 0, 0, 9, 9, 9, 9], "b": [0, 0, 1, 1, 0, 1, 1, 1]}
    assert partition(columns, 2) == [0] * 4 + [1] * 4
    columns["b"] = [0, 0, 1, 1, 1, 1, 1, 1]  # in the right region the left side of the cut is empty
    assert partition(columns, 2) == [0, 0, 1, 1, 2, 2, 2, 2]


def test_the_widest_interval_of_all_columns_is_cut_next():
    """Column a is cut at 4. Its right half has the width 4/8; b has less because of its weight. Then b has no valid cut."""
    columns = {"a": [0, 0, 4, 4, 6, 6, 8, 8], "b": [0, 1, 0, 1, 0, 1, 0, 1]}
    assert partition(columns, 2, weight={"b": 0.3}) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (
        partition(columns, 2, weight={"b": 2}) == [0, 1, 0, 1, 0, 1, 0, 1]
        or len(set(partition(columns, 2, weight={"b": 2}))) == 4
    )


def test_ties_go_to_the_first_column():
    one, other = [0, 0, 1, 1], [0, 1, 0, 1]
    assert partition({"a": one, "b": other}, 2) == [0, 0, 1, 1]
    assert partition({"b": other, "a": one}, 2) == [0, 1, 0, 1]


def test_another_cut_is_used_if_the_median_is_not_valid():
    assert partition({"a": [2] * 5 + [1] * 3 + [3] + [2] * 4}, 3) == [1] * 5 + [0] * 3 + [1] * 5
    column = [value for value, count in enumerate([1, 4, 6, 8, 9, 1]) for _ in range(count)]
    assert sorted(Counter(partition({"a": column}, 10)).values()) == [10, 19]
    assert sorted(Counter(partition({"a": column}, 11)).values()) == [11, 18]


def test_the_left_one_of_two_equally_balanced_cuts_is_used():
    """Column b is cut first. The median cut of a, after 1, would separate the two rows with b = 1.

    The cuts after 0 and after 2 give 2|5 and 5|2 rows. After one of them no cut is valid.
    """
    columns = {"b": [0, 0, 0, 0, 0, 1, 1], "a": [0, 0, 1, 3, 3, 1, 2]}
    assert partition(columns, 2) == [0, 0, 1, 1, 1, 2, 2]


def test_an_interval_is_published_as_in_the_whole_table():
    """Column b is cut first, then a after 1. No row with b = 0 has a = 1, but the interval is [0 - 1] there too."""
    table = pa.table({"a": [0, 0, 0, 1, 8, 8], "b": [0, 0, 1, 1, 1, 1]})
    release = kohort.anonymize(table, quasi=["b", "a"], k=2, method="mondrian-1d", keep_order=True)
    assert release.table["a"].to_pylist() == ["[0 - 1]"] * 4 + ["8"] * 2
    assert release.table["b"].to_pylist() == ["0"] * 2 + ["1"] * 4


def test_no_row_is_suppressed():
    columns = {"a": [1] * 9 + [50]}
    assert partition(columns, 2, suppress=0.5) == [0] * 10


def test_a_table_without_rows_has_no_groups():
    table = pa.table({"a": [1, 2]})
    points = encoding.encode(table, schema.resolve(kohort.Job.build(quasi="a").columns, table)).take(np.arange(0))
    made = mondrian_1d.partition(points, Constraints(Promise(k=2), 0), Options(), 0, Progress(1))
    assert made.labels.size == 0
    assert made.boxes is not None
    assert made.boxes[0].shape == (0, 1)


# --- compared with the reference implementation


@QUICK
@given(made=oracles.tables(), k=st.integers(2, 5), doubled=st.booleans())
def test_labels_match_the_oracle(made, k, doubled):
    columns, measures = made
    k = min(k, len(next(iter(columns.values()))))
    weights = [2 if doubled and number == 0 else 1 for number in range(len(columns))]
    labels = partition(columns, k, weight=dict(zip(columns, weights, strict=True)))
    assert labels == plain.mondrian_1d(list(columns.values()), measures, lambda part: len(part) >= k, weights)


@QUICK
@given(
    made=oracles.tables(),
    k=st.integers(2, 4),
    requested=st.sampled_from([{"l": 2}, {"l": 3}, {"alpha": 0.5}, {"alpha": 0.75}]),
    draw=st.randoms(use_true_random=False),
    by_person=st.booleans(),
)
def test_every_region_keeps_all_promises(made, k, requested, draw, by_person):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    secrets = [draw.choice("wxyz") for _ in range(rows)]
    persons = [draw.randrange(rows) for _ in range(rows)] if by_person else list(range(rows))

    def is_valid(part):
        pairs = {(persons[row], secrets[row]) for row in part}
        held, size = Counter(value for _person, value in pairs), len({person for person, _value in pairs})
        return size >= k and len(held) >= requested.get("l", 1) and max(held.values()) <= requested.get("alpha", 1) * size

    if not is_valid(range(rows)) or (by_person and "alpha" in requested):  # regions published identically can be repaired then
        return
    table = {**columns, "s": secrets, "p": persons}
    labels = partition(table, k, **requested, **({"unit": "p"} if by_person else {"drop": "p"}))
    assert labels == plain.mondrian_1d(list(columns.values()), measures, is_valid, [1] * len(columns))


@pytest.mark.parametrize("distinct", [20, 60_000], ids=str)
def test_codes_of_8_and_16_bits_match_the_oracle(distinct):
    draw = random.Random(distinct)
    columns = {f"a{axis}": [0, 2**16, *draw.choices(range(distinct), k=300)] for axis in range(2)}
    measures = [oracles.Numbers(column) for column in columns.values()]
    assert partition(columns, 3) == plain.mondrian_1d(list(columns.values()), measures, lambda part: len(part) >= 3, [1, 1])


@settings(QUICK, max_examples=20)
@given(table=testing.tables(least=12), k=st.integers(2, 5), ranges=st.sampled_from(["tight", "grid"]))
def test_equal_values_are_published_identically(table, k, ranges):
    release = kohort.anonymize(table, testing.job_for(mondrian_1d.METHOD, {}, k, ranges=ranges), keep_order=True)
    for name in testing.QUASI:
        pairs = set(
            zip((None if cell == "" else cell for cell in table[name].to_pylist()), release.table[name].to_pylist(), strict=True)
        )
        assert len({cell for cell, _text in pairs}) == len(pairs)


def test_loss_on_adult(public_data):
    del public_data
    sample = datasets.adult(datasets.ADULT_B, ["occupation"])
    release = kohort.anonymize(sample.table, sample.job, method="mondrian-1d", k=10)
    assert release.evidence.k >= 10
    assert release.loss.leaf == pytest.approx(0.3634, abs=1e-4)
