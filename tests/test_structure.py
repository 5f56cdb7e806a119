"""Distances between a release and its source, against plain loops over records and places that share no code with them."""

from __future__ import annotations

import calendar
import itertools
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import kohort
from kohort import datasets
from kohort.engines.memory import MemoryEngine
from kohort.errors import MachineError, RequestError
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.schema import columns as schemas
from kohort.utility.aligned import AlignedTables
from kohort.utility.queries.value_domains import domain_of
from kohort.utility.structure import structure

TREES: dict[str, Any] = {
    "t": [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "y", "*")],
    "z": [("10", "p", "*"), ("30", "p", "*"), ("20", "q", "*"), ("100", "q", "*"), ("55", "q", "*")],  # not by size
    "c": [(f"c{number:03d}", "*") for number in range(120)],
}
SEEDS = range(20)


def test_what_was_left_out_still_makes_the_tree():
    """With rows suppressed, another value would be rare: cells are read by the tree that they were published by."""
    table = pa.table({"t": ["a"] * 8 + ["b"] * 8 + ["c"] * 3, "n": [1] * 8 + [2] * 6 + [30, 60] + [1, 1, 2]})
    release = kohort.anonymize(table, quasi=["t", "n"], hierarchy={"t": "rare:4"}, k=5, suppress=0.3, method="mondrian", seed=7)
    pair = release._engine.aligned()
    assert pair.source.num_rows < table.num_rows
    for name in ("t", "n"):
        read, made = pair.domain(name), domain_of(table, pair.schema, name)
        assert (read.runs, read.ends) == (made.runs, made.ends)
    assert 0 <= release.structure().total.total_variation < 1


def measured(*given, **asked):
    return structure(AlignedTables(*given), **asked)  # of no type, since tests know which figures there are


def schema_of(table: pa.Table, **asked) -> schemas.Schema:
    job = Job.build(quasi=table.column_names, k=2, **asked)
    return schemas.resolve(job.columns, table)


def published(table: pa.Table, labels=None, job=None, **asked):
    """The records that were released, the release row by row, and the schema: by a method, or in the groups given."""
    job = Job.build(job or {}, **({} if job else {"quasi": table.column_names}), k=2, method="mondrian", seed=1, **asked)
    engine = MemoryEngine(job, Progress(1))
    engine.read(table)
    engine.encode()
    if labels is None:
        engine.partition()
    else:
        engine._partition = Partition(np.array(labels, np.int64))
    engine.publish()
    pair = engine.aligned()
    return pair.source, pair.release, pair.schema


def drawn(seed: int) -> tuple[pa.Table, list[int]]:
    """Numbers, whole and real, days, categories; numbers below a tree; more texts than a table of pairs has room for."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(2, 40))
    most = int(random.choice([3, 40, 200]))

    def some(values):
        gone = random.random(rows) < random.choice([0, 0.2])
        gone[0] = False  # a column of nothing but missing is text
        return [None if out else value for out, value in zip(gone, values, strict=True)]

    days = [date(2019, 11, 1) + timedelta(days=int(day)) for day in random.integers(0, 5 * most, rows)]
    columns = {
        "n": pa.array(some(random.integers(-most, most, rows).tolist()), pa.int64()),
        "r": pa.array(some(random.normal(size=rows).round(5).tolist()), pa.float64()),
        "d": pa.array(some(days), pa.date32()),
        "t": pa.array(some(random.choice(list("abcde"), rows).tolist())),
        "z": pa.array(some(random.choice(["10", "30", "20", "100"], rows).tolist())),
        "c": pa.array(some(random.choice([leaf for leaf, _root in TREES["c"]], rows).tolist())),
    }
    return pa.table(columns), random.permutation(np.arange(rows) % max(rows // 4, 1)).tolist()


# --- the oracle


def shares() -> defaultdict[Any, float]:
    return defaultdict(float)


class Told:
    """One column in plain Python: what its records hold, and the bins that a published text lies in."""

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
        """The first and the last number of a cell."""
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
        """Bin by bin: the share of a published cell."""
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
        """Whether a cell may stand for a value."""
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
    """The cheapest way to carry mass from bin to bin, as a linear program; to and from missing it goes all the way."""
    have, want = ([at for at, share in mass.items() if share > 0] for mass in (source, release))
    cost = [
        float(at != to) if "missing" in (at, to) else abs(at - to) / max(bins - 1, 1) for at, to in itertools.product(have, want)
    ]
    leaves = np.kron(np.eye(len(have)), np.ones(len(want)))
    arrives = np.kron(np.ones(len(have)), np.eye(len(want)))
    masses = [*(source[at] for at in have), *(release[to] for to in want)]
    found = linprog(cost, A_eq=np.vstack([leaves, arrives])[:-1], b_eq=masses[:-1])
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


def told_columns(source, release):
    texts = {name: release.column(name).cast(pa.string()).to_pylist() for name in release.column_names}
    return {name: Told(name, source.column(name).to_pylist(), texts[name]) for name in source.column_names}


# --- against it


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_are_as_far_apart_as_loops_over_records_find(seed):
    table, labels = drawn(seed)
    source, release, schema = published(table, labels, hierarchy=TREES)
    found = measured(source, release, schema)
    for name, column in told_columns(source, release).items():
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
def test_pairs_and_correlations_change_as_loops_over_records_find(seed):
    table, labels = drawn(seed)
    source, release, schema = published(table, labels, hierarchy=TREES)
    found, columns = measured(source, release, schema), told_columns(source, release)
    pairs = {(one, other): variation_of_pair(columns[one], columns[other]) for one, other in itertools.combinations(columns, 2)}
    assert found.pairs.mean == pytest.approx(statistics.fmean(pairs.values()))
    assert found.pairs.largest == pytest.approx(max(pairs.values())) == pytest.approx(pairs[found.pairs.between])
    held = {
        name: [None if value is None else column.number(value) for value in column.values]
        for name, column in columns.items()
        if column.ordered
    }
    told = {name: list(map(columns[name].middle, columns[name].texts)) for name in held}
    changes = {
        (one, other): abs(correlation(held[one], held[other]) - correlation(told[one], told[other]))
        for one, other in itertools.combinations(held, 2)
    }
    assert found.correlations.mean == pytest.approx(statistics.fmean(changes.values()), abs=1e-7)
    assert found.correlations.largest == pytest.approx(max(changes.values()), abs=1e-7)


# --- by hand


def test_a_release_that_tells_everything_is_no_distance_away():
    table = drawn(seed=3)[0].drop_columns(["d"])  # days are never told
    found = measured(table, table, schema_of(table, hierarchy=TREES))
    figures = [figure for column in found.per_column.values() for figure in vars(column).values()]
    assert figures == pytest.approx([0.0] * len(figures), abs=1e-12)
    assert (found.pairs.largest, found.correlations.largest) == (0.0, 0.0)


def test_a_release_that_tells_nothing():
    table = pa.table({"c": ["a", "a", "a", "b"], "n": [1, 1, 2, 4]})
    found = measured(table, pa.table({"c": ["*"] * 4, "n": ["*"] * 4}), schema_of(table))
    c, n = found.per_column["c"], found.per_column["n"]
    assert (c.total_variation, c.earth_mover) == (0.25, 0.25)
    assert c.kullback_leibler == pytest.approx(0.75 * math.log2(0.75 / 0.5) + 0.25 * math.log2(0.25 / 0.5))
    assert (c.entropy_loss, c.entropy_share) == (pytest.approx(-0.75 * math.log2(0.75) - 0.25 * math.log2(0.25)), 1.0)
    assert (n.total_variation, n.earth_mover) == (0.25, pytest.approx((0.25 + 0.5 - 0.25) / 3))
    assert (n.kullback_leibler, n.entropy_loss, n.entropy_share) == (0.5, 1.5, 1.0)
    assert found.pairs.mean == found.pairs.largest == 0.5 - 0.125 + 2 * (0.25 - 0.125)
    assert found.pairs.between == ("c", "n")
    assert found.correlations is None


def test_a_star_for_missing_values_counts_as_present():
    table = pa.table({"n": [1, 2, None, None]})
    found = measured(table, pa.table({"n": ["*"] * 4}), schema_of(table))
    n = found.per_column["n"]
    assert (n.total_variation, n.earth_mover) == (0.5, 0.5)
    half_a_record = 0.125 / 1.125
    assert n.kullback_leibler == pytest.approx(0.5 * math.log2(0.25 / (0.5 / 1.125)) + 0.5 * math.log2(0.5 / half_a_record))
    assert (n.entropy_loss, n.entropy_share) == (1.5, 1.0)
    assert found.pairs is None


def test_values_may_be_missing_that_were_not():
    table = pa.table({"n": [1, None, 2, 4]})
    (n,) = measured(table, pa.table({"n": ["2", None, None, "4"]}), schema_of(table)).per_column.values()
    assert (n.total_variation, n.earth_mover) == (0.25, 0.25)  # 1 is gone, or it is 2 by a third of the way and that is gone


def test_a_mean_stands_for_all_of_its_records():
    table = pa.table({"n": [1, 2, 6, 5, 6, 7], "m": [4, 3, 8, 2, 9, 7]})
    source, release, schema = published(table, [0, 0, 0, 1, 1, 1], statistic={"n": "mean", "m": "both"})
    assert release.column("n.mean").to_pylist() == ["3"] * 3 + ["6"] * 3
    found = measured(source, release, schema)
    n, m = found.per_column["n"], found.per_column["m"]
    assert (n.total_variation, n.entropy_loss, n.entropy_share) == (pytest.approx(4 / 6), None, None)
    assert found.total.entropy_loss == m.entropy_loss == pytest.approx((math.log2(4) + math.log2(6)) / 2)
    assert found.correlations.mean == pytest.approx(1 - statistics.correlation([1, 2, 6, 5, 6, 7], [4, 3, 8, 2, 9, 7]))


def test_columns_of_nothing_but_missing_or_one_value():
    table = pa.table({"gone": pa.nulls(4, pa.string()), "lost": pa.nulls(4, pa.int64()), "same": [7] * 4, "n": [1, 2, 3, 4]})
    nothing = pa.table(
        {"gone": [None, None, "*", "*"], "lost": pa.nulls(4, pa.string()), "same": ["7"] * 4, "n": ["[1 - 4]"] * 4}
    )
    found = measured(table, nothing, schema_of(table))
    assert [column.total_variation for column in found.per_column.values()] == [0.5, 0, 0, 0]
    assert [column.entropy_loss for column in found.per_column.values()] == [0, 0, 0, 2]
    assert found.correlations.largest == 0


# --- what is asked and what is said


def test_rows_may_stand_in_any_order():
    sample = datasets.hospital(300)
    source, release, schema = published(sample.table, job=sample.job)
    shuffled = release.take(pa.array(np.random.default_rng(1).permutation(release.num_rows)))
    one, other = measured(source, release, schema).to_dict(), measured(source, shuffled, schema).to_dict()
    assert one["total"] == pytest.approx(other["total"])
    assert {**one["pairs"], "between": 0} == pytest.approx({**other["pairs"], "between": 0})


def test_figures_are_for_json_and_one_sentence():
    sample = datasets.hospital(300)
    found = measured(*published(sample.table, job=sample.job))
    assert set(json.loads(json.dumps(found.to_dict()))["per_column"]) == {"age", "sex", "zip", "occupation"}
    assert re.fullmatch(r"Columns are off by [^.]*\.\d% .*'.*' and '.*'\); \d+% of the entropy is lost\.", found.in_words())


def test_every_kind_of_column_of_every_method_is_read():
    """A cell that the source has no value in would be refused."""
    sample = datasets.hospital(400)
    for ranges, method in itertools.product(("tight", "grid"), ("mondrian", "auto")):
        job = Job.build(
            sample.job,
            quasi=["age", "zip", "birth_date", "cost", "occupation"],
            identifier=["name"],
            hierarchy={"zip": "prefix:3,2"},
            ranges=ranges,
            method=method,
        )
        found = measured(*published(sample.table, job=job))
        assert 0 < found.total.total_variation < found.pairs.mean < found.pairs.largest < 1
        assert 0 < found.total.entropy_share < 1


def test_what_does_not_fit_is_refused_without_a_cell():
    table = pa.table({"n": [17, 18, 19], "c": ["sick", "well", "well"]})
    schema = schema_of(table)
    for release, said in (
        (table.slice(1), "the source has 3 rows, the release 2"),
        (table.drop_columns(["c"]), "no column 'c'"),
        (table.set_column(0, "n", pa.array([17, 18, 99])), "column 'n'"),
        (table.set_column(1, "c", pa.array(["sick", "well", None])), "column 'c'"),
    ):
        with pytest.raises(RequestError, match=said) as refused:
            measured(table, release, schema)
        assert str(refused.value).endswith(".")
        assert not re.search("99|17|sick|well", str(refused.value))
    with pytest.raises(RequestError, match="0 rows"):
        measured(table.slice(3), table.slice(3), schema)


# --- propensity


def sample_of(seed: int, rows: int) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, rows)
    gone = random.random(rows) < 0.1
    columns = {"age": age, "income": (age * 3 + random.normal(size=rows) * 50).round(2), "c": random.choice(list("abcd"), rows)}
    return pa.table({**columns, "n": pa.array(random.integers(0, 5, rows), mask=gone)})


def test_nothing_tells_a_table_from_itself_and_little_from_what_is_drawn_from_it():
    pytest.importorskip("sklearn.linear_model")
    table = sample_of(seed=1, rows=3000)
    schema = schema_of(table)
    assert measured(table, table, schema, propensity=True).propensity.pmse == pytest.approx(0, abs=1e-12)
    ratios = []
    for seed in range(40):
        again = table.take(pa.array(np.random.default_rng(seed).integers(0, table.num_rows, table.num_rows)))
        ratios.append(measured(table, again, schema, propensity=True, seed=seed).propensity.ratio)
    assert statistics.fmean(ratios) == pytest.approx(1, abs=0.2)  # three standard errors: by 13 features, each deviates by 0.4


def test_draws_from_cells_are_told_by_their_seed_and_the_wider_cells_are_the_better():
    pytest.importorskip("sklearn.linear_model")
    table = sample_of(seed=2, rows=2000)
    source, release, schema = published(table)
    one, again, other = (measured(source, release, schema, propensity=True, seed=seed).propensity for seed in (1, 1, 2))
    assert one == again != other
    everything = pa.table(dict.fromkeys(table.column_names, ["*"] * table.num_rows))
    far = measured(table, everything, schema, propensity=True)
    assert one.ratio < far.propensity.ratio
    assert one.pmse < far.propensity.pmse < 0.25
    assert far.to_dict()["propensity"]["ratio"] == far.propensity.ratio
    assert far.in_words().endswith("times the difference of another sample.")


def test_what_is_spread_evenly_is_not_told_from_its_stars():
    pytest.importorskip("sklearn.linear_model")
    each = np.arange(2000)
    table = pa.table({"n": each % 10, "r": each / 7, "z": np.array(["10", "30", "20", "100", "55"])[each // 3 % 5]})
    stars = pa.table(dict.fromkeys(table.column_names, ["*"] * len(each)))
    found = measured(table, stars, schema_of(table, hierarchy={"z": TREES["z"]}), propensity=True)
    assert found.total.total_variation < 0.01
    assert found.propensity.ratio < 3


def test_what_is_wholly_told_apart_or_says_nothing_has_a_score_too():
    pytest.importorskip("sklearn.linear_model")
    table = pa.table({"n": [1, 2] * 50, "m": [1, 2] * 50, "c": [None, "a"] * 50})
    found = measured(table, pa.table({"n": ["*"] * 100, "m": ["*"] * 100, "c": ["*"] * 100}), schema_of(table), propensity=True)
    assert 0 < found.propensity.pmse <= 0.25
    constant = pa.table({"n": [1] * 5})
    assert measured(constant, constant, schema_of(constant), propensity=True).propensity.ratio == 0


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    table = pa.table({"n": [1, 2, 3]})
    with pytest.raises(MachineError, match=r"kohort\[ml\]"):
        measured(table, table, schema_of(table), propensity=True)
    assert measured(table, table, schema_of(table)).propensity is None
