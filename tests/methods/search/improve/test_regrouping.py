"""Regrouping: when it ends, what it keeps, how it is cancelled."""

from __future__ import annotations

import threading
import time
from collections import Counter

import numpy as np
import pytest

from kohort.errors import CancelledError
from kohort.methods.run import partition_table
from kohort.methods.search.improve import regrouping
from kohort.progress import Progress
from tests import oracles
from tests.methods.search.improve.improved_tables import clouds, improved, labels_of
from tests.methods.small_tables import prepared
from tests.oracles import gain_cuts as plain

# --- number of sweeps


def sweeps_of(monkeypatch, columns, k, labels, rounds):
    """Return the tolerances of all sweeps, and the labels."""
    tolerances: list[float] = []
    sweep = regrouping._Regrouper.sweep

    def counted(self, labels, tolerance, *args):
        tolerances.append(tolerance)
        return sweep(self, labels, tolerance, *args)

    with monkeypatch.context() as patch:
        patch.setattr(regrouping._Regrouper, "sweep", counted)
        after = improved(columns, k, labels, rounds=rounds)
    return tolerances, after


def test_regrouping_ends_when_nothing_improves(monkeypatch):
    """Pairs of close values that are far from each other: no arrangement is better."""
    columns = {"x": [0, 1, 4, 5, 8, 9, 12, 13]}
    best = [0, 0, 1, 1, 2, 2, 3, 3]
    early, after = sweeps_of(monkeypatch, columns, 2, best, 3)
    assert plain.same_groups(oracles.groups(after), oracles.groups(best))
    assert early.count(0) == regrouping.IDLE
    assert sorted(early, reverse=True) == early
    monkeypatch.setattr(regrouping, "IDLE", 10**6)
    all_of_them, _ = sweeps_of(monkeypatch, columns, 2, best, 3)
    assert len(early) < len(all_of_them)
    assert all_of_them[: len(early)] == early


def test_the_best_state_of_all_sweeps_is_returned(monkeypatch):
    """Early sweeps can raise the loss. The result is the best of all states, including the first."""
    columns, rows = {"x": [0, 1, 4, 5, 8, 9, 12, 13]}, 8
    fine, middling, poor = [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1], [0] * rows
    for begin, seen, expected in (
        (poor, [middling, fine, poor, middling], fine),
        (middling, [poor, poor], middling),
        (poor, [middling, poor], middling),
    ):
        waiting = iter([*seen, *[poor] * 1000])
        with monkeypatch.context() as patch:
            patch.setattr(regrouping._Regrouper, "sweep", lambda *_, waiting=waiting: np.array(next(waiting)))
            assert improved(columns, 2, begin) == expected


def test_regrouping_ends_at_once_if_the_loss_is_0(monkeypatch):
    tolerances, after = sweeps_of(monkeypatch, {"x": [5] * 7}, 2, [0, 0, 0, 1, 1, 2, 2], 5)
    assert len(tolerances) <= 1
    assert after == [0, 0, 0, 1, 1, 2, 2]


def test_more_effort_runs_more_sweeps(monkeypatch):
    monkeypatch.setattr(regrouping, "IDLE", 10**6)
    start = [row // 4 for row in range(80)]
    once, thrice = (len(sweeps_of(monkeypatch, clouds(80), 4, start, rounds)[0]) for rounds in (1, 3))
    assert thrice == 3 * once


def test_regrouping_of_trivial_tables():
    assert improved({"x": [1, 2, 3]}, 2, [0, 0, 0]) == [0, 0, 0]
    assert improved({"x": [1, 2, 3]}, 2, [-1, -1, -1]) == [-1, -1, -1]
    assert improved({"x": [1, 9, 1, 9]}, 2, [0, 0, 1, 1], rounds=0) == [0, 0, 1, 1]
    assert improved({"x": [1, 9, 1, 9]}, 2, [0, 0, 1, 1]) in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_groups_are_cut_or_dissolved_if_that_lowers_the_loss():
    """One group with three clusters becomes three groups. Three groups that mix two clusters become two groups."""
    after = improved({"x": [0, 0, 50, 50, 99, 99]}, 2, [0] * 6)
    assert plain.same_groups(oracles.groups(after), [[0, 1], [2, 3], [4, 5]])
    after = improved({"x": [0, 0, 0, 9, 9, 9]}, 2, [0, 1, 2, 0, 1, 2])
    assert plain.same_groups(oracles.groups(after), [[0, 1, 2], [3, 4, 5]])


def test_more_effort_lowers_the_loss_on_average():
    sums = Counter[int]()
    for seed in range(4):
        columns = clouds(200, seed)
        costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
        for effort in (0, 1, 4):
            sums[effort] += costs.total(labels_of(columns, 5, method="auto", effort=effort))
    assert sums[0] > sums[1] >= sums[4]


# --- progress and cancelling


@pytest.mark.parametrize("block", [0, 40])
def test_progress_reports_the_cost(block, monkeypatch):
    columns, gains = clouds(200), list[int]()
    engine = prepared(columns, 4, method="mondrian" if not block else "gccg")
    progress = Progress(1)
    report = Progress.improved

    def recorded(self, by):
        before = self.cost_now
        report(self, by)
        gains.append(before - self.cost_now)

    monkeypatch.setattr(Progress, "improved", recorded)
    costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
    found = [
        partition_table(
            engine.job.algorithm,
            engine.points,
            engine.constraints,
            engine.job.method_options(),
            7,
            block,
            given_progress,
            rounds,
        ).labels.tolist()
        for given_progress, rounds in ((Progress(1), 0), (progress, 1))
    ]
    close = 2 * 200  # the oracle rounds exact fractions, the search rounds 64-bit numbers
    assert progress.cost_before == pytest.approx(costs.total(found[0]), abs=close)
    assert progress.cost_now == pytest.approx(costs.total(found[1]), abs=close)
    assert len(gains) > 3
    assert min(gains) > 0
    assert progress.cost_before - sum(gains) == progress.cost_now


def test_regrouping_can_be_cancelled_between_sweeps(monkeypatch):
    progress, calls = Progress(2), list[int]()
    sweep = regrouping._Regrouper.sweep

    def stopping(self, *args):
        calls.append(1)
        if len(calls) == 3:
            progress.cancel()
        return sweep(self, *args)

    monkeypatch.setattr(regrouping._Regrouper, "sweep", stopping)
    with pytest.raises(CancelledError):
        improved(clouds(200), 4, [row // 4 for row in range(200)], progress=progress)
    assert len(calls) == 3


def test_regrouping_can_be_cancelled_at_any_time():
    improved(clouds(400), 4, [row // 4 for row in range(400)])  # compile the kernels for codes of 16 bits before measuring time
    progress = Progress(2)
    timer = threading.Timer(0.5, progress.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        improved(clouds(4_000), 4, [row // 4 for row in range(4_000)], rounds=1000, progress=progress)
    assert time.monotonic() - started < 10  # without cancelling it would take minutes
    timer.join()
