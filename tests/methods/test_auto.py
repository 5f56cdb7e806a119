"""The method `auto`: which start it takes and what it says about it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort import datasets
from kohort.methods import METHODS
from kohort.progress import Progress
from tests.methods.small_tables import made, prepared, rows_in
from tests.oracles import gain_cuts as plain

# --- what auto tells

FELL = re.compile(r"Improved by effort (\d+): (\w+) loss in the search fell from (0\.\d{4}) to (0\.\d{4})\.")


def told(**asked):
    sample = datasets.hospital(600)
    return kh.anonymize(sample.table, sample.job, seed=7, **asked)


def test_auto_tells_its_start_and_the_fall():
    release = told(k=3, effort=2)
    start, fall = release.notes
    assert re.fullmatch(r"Started with (merge|top-down), which lost least of merge, top-down\.", start)
    found = FELL.fullmatch(fall)
    assert found is not None
    assert found[1] == "2"
    assert found[2] == "leaf"
    assert float(found[3]) == pytest.approx(told(k=3, effort=0).loss.leaf, abs=1e-4)
    assert float(found[4]) == pytest.approx(release.loss.leaf, abs=1e-4)
    assert float(found[4]) < float(found[3])
    assert release.summary()["told"] == list(release.notes)


def test_auto_tells_when_there_was_no_choice():
    assert told(k=5, effort=0).notes == ("Started with top-down, which suits what is asked.",)
    square = told(k=5, objective="square-error").notes
    assert square == ("Started with mdav, which suits what is asked.", "Improved the square error by effort 1.")
    assert told(k=5, method="mondrian").notes == ()


def test_auto_tells_the_starts_of_blocks():
    release = told(k=3, block=100)
    blocks = release.summary()["blocks"]
    assert blocks > 4
    start = release.notes[0]
    many = {name: int(count) for name, count in re.findall(rf"([\w-]+) in (\d+) of {blocks} blocks", start)}
    assert set(many) <= {"merge", "top-down"}
    assert sum(many.values()) == blocks
    assert start.endswith("which lost least of merge, top-down.")


def test_other_objectives_are_told_by_their_name():
    release = told(k=5, objective="height")
    found = FELL.fullmatch(release.notes[-1])
    assert found is not None
    assert found[2] == "height"
    assert float(found[4]) == pytest.approx(release.loss.height, abs=1e-4)


def test_the_default_is_auto_improved_once():
    release = told(k=5)
    assert release.summary()["method"] == "auto"
    assert release.labels.tolist() == told(k=5, method="auto", effort=1).labels.tolist()


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


# --- auto


def starts_of(columns, k, **asked):
    engine = prepared(columns, k, **asked)
    return METHODS["auto"].partition(engine.points, engine.constraints, METHODS["auto"].options(), 7, Progress(1))


@QUICK
@given(table=plain.asked(), k=st.integers(2, 6), objective=OBJECTIVES)
def test_auto_takes_the_start_that_loses_least(table, k, objective):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
    found = starts_of(columns, k, objective=objective, **asked)
    assert found.starts == (("top-down", "merge") if k <= 4 else ("top-down",))
    lost = {name: costs.total(made(name, columns, k, objective=objective, **asked)) for name in found.starts}
    assert costs.total(found.labels.tolist()) == lost[found.start] == min(lost.values())


@pytest.mark.parametrize(("k", "starts"), [(2, {"top-down", "merge"}), (4, {"top-down", "merge"}), (5, {"top-down"})])
def test_small_k_tries_merging(k, starts):
    assert set(starts_of({"x": list(range(40)), "y": [7 * n % 40 for n in range(40)]}, k).starts) == starts


def test_an_expensive_promise_tries_other_starts():
    """The value follows the number, so that cuts part the values; where it does not, cuts are as good as without it."""
    x = list(range(60))
    dear = {"x": x, "s": ["a" if n < 30 else "b" for n in x]}
    cheap = {"x": x, "s": ["ab"[n % 2] for n in x]}
    asked: dict[str, Any] = {"quasi": "x", "sensitive": "s"}
    assert "k-member" in starts_of(dear, 5, t=0.2, **asked).starts
    assert "merge" in starts_of(dear, 5, l=2, **asked).starts
    assert starts_of(cheap, 6, t=0.4, **asked).starts == ("top-down",)
    assert starts_of(cheap, 5, l=2, **asked).starts == ("top-down",)
    assert starts_of({"x": x}, 5).starts == ("top-down",)


def test_square_error_starts_with_mdav():
    found = starts_of({"x": list(range(40))}, 3, objective="square-error")
    assert (found.start, found.starts) == ("mdav", ("mdav",))
    assert found.labels.tolist() == made("mdav", {"x": list(range(40))}, 3)
