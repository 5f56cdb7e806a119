"""Distances of columns and pairs, compared with plain loops over rows."""

from __future__ import annotations

import calendar
import itertools
import math
import re
import statistics
from collections import defaultdict
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

from tests.utility.drawn_tables import TREES, drawn, measured, published

SEEDS = range(20)


# --- plain Python


def shares() -> defaultdict[Any, float]:
    return defaultdict(float)


class PlainColumn:
    """One column in plain Python: its values, its published texts, and its bins."""

    def __init__(self, name, values, texts):
        self.name, self.values, self.texts = name, values, texts
        self.present = sorted({value for value in values if value is not None})
        below = defaultdict(list)
        for leaf, *above in TREES.get(name, [(value, "*") for value in self.present]):
            for label in (leaf, *above):
                below[label].append(leaf)
        self.below = below
        self.ordered = name in "nrdz"
        numbers = [int(leaf) for leaf in below["*"]] if name == "z" else self.present
        if self.ordered:
            self.low, self.high = self.number(min(numbers)), self.number(max(numbers))
            self.size = self.high - self.low if name == "r" else self.high - self.low + 1
            self.bins = min(self.size, 50) if name != "r" else 50 if self.size else 1
        else:
            self.bins = len(below["*"])

    @staticmethod
    def number(value):
        return value.toordinal() if isinstance(value, date) else float(value) if isinstance(value, float) else int(value)

    def ends(self, text):
        """Return the first and last number of a cell."""
        if text == "*":
            return self.low, self.high
        if self.name == "d":
            periods = re.findall(r"(\d{4})(?:-(\d{2}))?", text)
            year, month = int(periods[-1][0]), int(periods[-1][1] or 12)
            first = date(int(periods[0][0]), int(periods[0][1] or 1), 1)
            return first.toordinal(), date(year, month, calendar.monthrange(year, month)[1]).toordinal()
        found = re.fullmatch(r"\[(\S+) - (\S+)\]", text)
        low, high = found.groups() if found else (text, text)
        return (float(low), float(high)) if self.name == "r" else (int(low), int(high))

    def bin(self, number):
        if self.name == "r":
            return 0 if not self.size else min(int((number - self.low) * 50 / self.size), 49)
        return min(max((number - self.low) * self.bins // self.size, 0), self.bins - 1)

    def bin_of(self, value):
        if value is None:
            return "missing"
        return self.bin(self.number(value)) if self.ordered else self.below["*"].index(value)

    def shares(self, text):
        """Return the share of a published cell in each bin."""
        if text is None:
            return {"missing": 1.0}
        found = shares()
        if self.name in "tzc":
            for leaf in self.below[text]:
                found[self.bin_of(leaf)] += 1 / len(self.below[text])
            return found
        low, high = self.ends(text)
        if self.name != "r":
            for number in range(low, high + 1):
                found[self.bin(number)] += 1 / (high - low + 1)
        elif low == high:
            found[self.bin(low)] = 1.0
        else:
            for at in range(50):
                begin, end = self.low + self.size * at / 50, self.low + self.size * (at + 1) / 50
                found[at] = max(min(end, high) - max(begin, low), 0) / (high - low)
        return found

    def holds(self, text, value):
        """Return whether a cell contains a value."""
        if text is None or text == "*" or value is None:
            return text == "*" or text is value
        if self.name in "tzc":
            return value in self.below[text]
        return self.ends(text)[0] <= self.number(value) <= self.ends(text)[1]

    def middle(self, text):
        if text is None:
            return None
        return statistics.fmean(map(int, self.below[text])) if self.name == "z" else statistics.fmean(self.ends(text))

    def masses(self):
        source, release = shares(), shares()
        for value, text in zip(self.values, self.texts, strict=True):
            source[self.bin_of(value)] += 1 / len(self.values)
            for at, share in self.shares(text).items():
                release[at] += share / len(self.values)
        return source, release


def variation(source, release):
    return sum(abs(source[at] - release[at]) for at in {*source, *release}) / 2


def transported(source, release, bins):
    """Return the cheapest plan to move shares from bin to bin, as a linear program. To and from missing, the distance is 1."""
    have, want = ([at for at, share in mass.items() if share > 0] for mass in (source, release))
    cost = [
        float(at != to) if "missing" in (at, to) else abs(at - to) / max(bins - 1, 1) for at, to in itertools.product(have, want)
    ]
    leaving = np.kron(np.eye(len(have)), np.ones(len(want)))
    arriving = np.kron(np.ones(len(have)), np.eye(len(want)))
    masses = [*(source[at] for at in have), *(release[to] for to in want)]
    found = linprog(cost, A_eq=np.vstack([leaving, arriving])[:-1], b_eq=masses[:-1])
    return found.fun


def divergence(source, release, rows):
    filled = {at: release[at] if release[at] > 0 else 0.5 / rows for at, mass in source.items() if mass > 0}
    total = sum(release.values()) + sum(0.5 / rows for at in filled if release[at] == 0)
    return sum(source[at] * math.log2(source[at] * total / filled[at]) for at in filled)


def entropy(column):
    lost = [
        -math.log2(sum(value == other for other in column.values) / sum(column.holds(text, other) for other in column.values))
        for value, text in zip(column.values, column.texts, strict=True)
    ]
    most = [-math.log2(sum(value == other for other in column.values) / len(column.values)) for value in column.values]
    return statistics.fmean(lost), statistics.fmean(lost) / statistics.fmean(most) if any(most) else 0.0


def coarse(column, at):
    return at * 50 // column.bins if at != "missing" and column.bins > 50 else at


def variation_of_pair(one, other):
    source, release = shares(), shares()
    for values, texts in zip(zip(one.values, other.values, strict=True), zip(one.texts, other.texts, strict=True), strict=True):
        source[coarse(one, one.bin_of(values[0])), coarse(other, other.bin_of(values[1]))] += 1 / len(one.values)
        for (at, share), (to, part) in itertools.product(one.shares(texts[0]).items(), other.shares(texts[1]).items()):
            release[coarse(one, at), coarse(other, to)] += share * part / len(one.values)
    return variation(source, release)


def correlation(one, other):
    known = [pair for pair in zip(one, other, strict=True) if None not in pair]
    if len({pair[0] for pair in known}) < 2 or len({pair[1] for pair in known}) < 2:
        return 0.0
    return statistics.correlation(*zip(*known, strict=True))


def plain_columns(source, release):
    texts = {name: release.column(name).cast(pa.string()).to_pylist() for name in release.column_names}
    return {name: PlainColumn(name, source.column(name).to_pylist(), texts[name]) for name in source.column_names}


# --- comparison


@pytest.mark.parametrize("seed", SEEDS)
def test_column_distances_match_loops_over_rows(seed):
    table, labels = drawn(seed)
    source, release, schema = published(table, labels, hierarchy=TREES)
    found = measured(source, release, schema)
    for name, column in plain_columns(source, release).items():
        figures, (before, after) = found.per_column[name], column.masses()
        assert figures.total_variation == pytest.approx(variation(before, after)), name
        moved = transported(before, after, column.bins) if column.ordered else variation(before, after)
        assert figures.earth_mover == pytest.approx(moved, abs=1e-7), name
        assert figures.kullback_leibler == pytest.approx(divergence(before, after, table.num_rows), abs=1e-9), name
        assert (figures.entropy_loss, figures.entropy_share) == pytest.approx(entropy(column), abs=1e-9), name
        assert 0 <= figures.earth_mover <= figures.total_variation + 1e-9 <= 1 + 1e-9
    for name, mean in vars(found.total).items():
        assert mean == pytest.approx(statistics.fmean(getattr(figures, name) for figures in found.per_column.values()))


@pytest.mark.parametrize("seed", SEEDS)
def test_pair_distances_match_loops_over_rows(seed):
    table, labels = drawn(seed)
    source, release, schema = published(table, labels, hierarchy=TREES)
    found, columns = measured(source, release, schema), plain_columns(source, release)
    pairs = {(one, other): variation_of_pair(columns[one], columns[other]) for one, other in itertools.combinations(columns, 2)}
    assert found.pairs.mean == pytest.approx(statistics.fmean(pairs.values()))
    assert found.pairs.largest == pytest.approx(max(pairs.values())) == pytest.approx(pairs[found.pairs.between])
    held = {
        name: [None if value is None else column.number(value) for value in column.values]
        for name, column in columns.items()
        if column.ordered
    }
    published_middles = {name: list(map(columns[name].middle, columns[name].texts)) for name in held}
    changes = {
        (one, other): abs(correlation(held[one], held[other]) - correlation(published_middles[one], published_middles[other]))
        for one, other in itertools.combinations(held, 2)
    }
    assert found.correlations.mean == pytest.approx(statistics.fmean(changes.values()), abs=1e-7)
    assert found.correlations.largest == pytest.approx(max(changes.values()), abs=1e-7)
