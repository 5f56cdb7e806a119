"""The method `auto`: which method it chooses, and its notes."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort import datasets
from kohort.methods import METHODS, auto
from kohort.progress import Progress
from tests.methods.small_tables import made, prepared, rows_in
from tests.oracles import gain_cuts as plain

# --- notes

LOWERED = re.compile(r"Improvement lowered the ([\w ]+) from (\d+\.\d) % to (\d+\.\d) % in (\d+) rounds?\.")
ONLY_K = "Method: top-down, chosen by `auto` because k is 5 and no other promise was made."


def anonymized(**requested):
    sample = datasets.hospital(600)
    return kh.anonymize(sample.table, sample.job, seed=7, **requested)


def test_notes_name_the_chosen_method_and_the_loss_before_and_after_improvement():
    release = anonymized(k=3, effort=2)
    method, improvement = release.notes
    assert re.fullmatch(
        r"Method: (merge|top-down), chosen by `auto` because it loses least\. Compared: merge, top-down\.", method
    )
    found = LOWERED.fullmatch(improvement)
    assert found is not None
    assert found[1] == "detail lost"
    assert found[4] == "2"
    assert float(found[2]) == pytest.approx(100 * anonymized(k=3, effort=0).loss.leaf, abs=0.06)
    assert float(found[3]) == pytest.approx(100 * release.loss.leaf, abs=0.06)
    assert float(found[3]) < float(found[2])
    assert release.summary()["told"] == list(release.notes)


def test_notes_say_why_only_one_method_was_tried():
    assert anonymized(k=5, effort=0).notes == (ONLY_K,)
    square = anonymized(k=5, objective="square-error").notes
    assert square == (
        "Method: mdav, chosen by `auto` because the objective is square-error.",
        "Improvement ran 1 round to lower the square error.",
    )
    assert anonymized(k=5, method="mondrian").notes == ()


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        ({"sensitive": "s", "l": 2, "drop": "u"}, "the other promises raise the loss by at most 25 %"),
        ({"other": "s", "unit": "u"}, "counting people instead of rows raises the loss by at most 25 %"),
    ],
)
def test_notes_say_that_other_promises_cost_little(roles, reason):
    table = pa.table({"x": list(range(60)), "s": ["a", "b"] * 30, "u": list(range(60))})
    release = kh.anonymize(table, quasi="x", k=5, effort=0, seed=7, **roles)
    assert release.notes == (f"Method: top-down, chosen by `auto` because k is 5 and {reason}.",)
    assert auto.EXPENSIVE == 1.25


def test_notes_say_in_how_many_blocks_each_method_was_chosen():
    release = anonymized(k=3, block=100)
    blocks = release.summary()["blocks"]
    assert blocks > 4
    note = release.notes[0]
    many = {name: int(count) for name, count in re.findall(rf"([\w-]+) in (\d+) of {blocks} blocks", note)}
    assert set(many) == {"merge", "top-down"}
    assert sum(many.values()) == blocks
    assert note.endswith("chosen by `auto` because each loses least in its blocks. Compared: merge, top-down.")
    only_k = anonymized(k=5, block=100, effort=0)
    where = f"top-down in all {only_k.summary()['blocks']} blocks,"
    assert only_k.notes == (ONLY_K.replace("top-down,", where),)


def test_notes_name_the_loss_of_the_objective():
    release = anonymized(k=5, objective="height")
    found = LOWERED.fullmatch(release.notes[-1])
    assert found is not None
    assert found[1] == "height loss"
    assert float(found[3]) == pytest.approx(100 * release.loss.height, abs=0.06)


def test_notes_say_what_a_method_does_not_use():
    assert anonymized(k=5, method="mondrian", objective="height").notes == (
        "Method mondrian does not use the objective height. Improvement does: set effort (--effort 1).",
    )


def test_the_default_is_auto_with_one_round_of_improvement():
    release = anonymized(k=5)
    assert release.summary()["method"] == "auto"
    assert release.labels.tolist() == anonymized(k=5, method="auto", effort=1).labels.tolist()


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


# --- choice of the method


def starts_of(columns, k, **requested):
    engine = prepared(columns, k, **requested)
    return METHODS["auto"].partition(engine.points, engine.constraints, METHODS["auto"].options(), 7, Progress(1))


@QUICK
@given(table=plain.requests(), k=st.integers(2, 6), objective=OBJECTIVES)
def test_auto_chooses_the_method_that_loses_least(table, k, objective):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)
    found = starts_of(columns, k, objective=objective, **requested)
    assert found.starts == (("top-down", "merge") if k <= 4 else ("top-down",))
    lost = {name: costs.total(made(name, columns, k, objective=objective, **requested)) for name in found.starts}
    assert costs.total(found.labels.tolist()) == lost[found.start] == min(lost.values())


@pytest.mark.parametrize(("k", "starts"), [(2, {"top-down", "merge"}), (4, {"top-down", "merge"}), (5, {"top-down"})])
def test_small_k_tries_merging(k, starts):
    assert set(starts_of({"x": list(range(40)), "y": [7 * n % 40 for n in range(40)]}, k).starts) == starts


def test_an_expensive_promise_makes_auto_try_other_methods():
    """In `expensive` the value depends on x, so cuts separate the values. In `cheap` it does not, so the promise costs little."""
    x = list(range(60))
    expensive = {"x": x, "s": ["a" if n < 30 else "b" for n in x]}
    cheap = {"x": x, "s": ["ab"[n % 2] for n in x]}
    requested: dict[str, Any] = {"quasi": "x", "sensitive": "s"}
    assert "k-member" in starts_of(expensive, 5, t=0.2, **requested).starts
    assert "merge" in starts_of(expensive, 5, l=2, **requested).starts
    assert starts_of(cheap, 6, t=0.4, **requested).starts == ("top-down",)
    assert starts_of(cheap, 5, l=2, **requested).starts == ("top-down",)
    assert starts_of({"x": x}, 5).starts == ("top-down",)


def test_auto_chooses_mdav_for_the_square_error():
    found = starts_of({"x": list(range(40))}, 3, objective="square-error")
    assert (found.start, found.starts) == ("mdav", ("mdav",))
    assert found.labels.tolist() == made("mdav", {"x": list(range(40))}, 3)
