"""Distances between the distributions of a release and of its source."""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics

import numpy as np
import pyarrow as pa
import pytest

import kohort
from kohort import datasets
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.utility.queries.value_domains import domain_of
from tests.utility.drawn_tables import TREES, drawn, measured, published, schema_of


def test_tree_is_made_from_all_rows():
    """Without the suppressed rows, another value would be rare. Cells must be read with the tree of the whole source."""
    table = pa.table({"t": ["a"] * 8 + ["b"] * 8 + ["c"] * 3, "n": [1] * 8 + [2] * 6 + [30, 60] + [1, 1, 2]})
    release = kohort.anonymize(table, quasi=["t", "n"], hierarchy={"t": "rare:4"}, k=5, suppress=0.3, method="mondrian", seed=7)
    aligned = release.aligned()
    assert aligned.source.num_rows < table.num_rows
    for name in ("t", "n"):
        read, made = aligned.domain(name), domain_of(table, aligned.schema, name)
        assert (read.runs, read.ends) == (made.runs, made.ends)
    assert 0 <= release.structure().total.total_variation < 1


# --- examples computed by hand


def test_unchanged_release_has_distance_0():
    table = drawn(seed=3)[0].drop_columns(["d"])  # single days are never published
    found = measured(table, table, schema_of(table, hierarchy=TREES))
    figures = [figure for column in found.per_column.values() for figure in vars(column).values()]
    assert figures == pytest.approx([0.0] * len(figures), abs=1e-12)
    assert (found.pairs.largest, found.correlations.largest) == (0.0, 0.0)


def test_release_of_only_stars():
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


def test_star_counts_as_present():
    table = pa.table({"n": [1, 2, None, None]})
    found = measured(table, pa.table({"n": ["*"] * 4}), schema_of(table))
    n = found.per_column["n"]
    assert (n.total_variation, n.earth_mover) == (0.5, 0.5)
    half_a_row = 0.125 / 1.125
    assert n.kullback_leibler == pytest.approx(0.5 * math.log2(0.25 / (0.5 / 1.125)) + 0.5 * math.log2(0.5 / half_a_row))
    assert (n.entropy_loss, n.entropy_share) == (1.5, 1.0)
    assert found.pairs is None


def test_present_values_published_as_missing():
    table = pa.table({"n": [1, None, 2, 4]})
    (n,) = measured(table, pa.table({"n": ["2", None, None, "4"]}), schema_of(table)).per_column.values()
    # The cheapest plan moves 1 to missing, or 1 to 2 and a 2 to missing.
    assert (n.total_variation, n.earth_mover) == (0.25, 0.25)


def test_means_without_ranges():
    table = pa.table({"n": [1, 2, 6, 5, 6, 7], "m": [4, 3, 8, 2, 9, 7]})
    source, release, schema = published(table, [0, 0, 0, 1, 1, 1], statistic={"n": "mean", "m": "both"})
    assert release.column("n.mean").to_pylist() == ["3"] * 3 + ["6"] * 3
    found = measured(source, release, schema)
    n, m = found.per_column["n"], found.per_column["m"]
    assert (n.total_variation, n.entropy_loss, n.entropy_share) == (pytest.approx(4 / 6), None, None)
    assert found.total.entropy_loss == m.entropy_loss == pytest.approx((math.log2(4) + math.log2(6)) / 2)
    assert found.correlations.mean == pytest.approx(1 - statistics.correlation([1, 2, 6, 5, 6, 7], [4, 3, 8, 2, 9, 7]))


def test_columns_with_one_value_or_only_missing_values():
    table = pa.table({"gone": pa.nulls(4, pa.string()), "lost": pa.nulls(4, pa.int64()), "same": [7] * 4, "n": [1, 2, 3, 4]})
    nothing = pa.table(
        {"gone": [None, None, "*", "*"], "lost": pa.nulls(4, pa.string()), "same": ["7"] * 4, "n": ["[1 - 4]"] * 4}
    )
    found = measured(table, nothing, schema_of(table))
    assert [column.total_variation for column in found.per_column.values()] == [0.5, 0, 0, 0]
    assert [column.entropy_loss for column in found.per_column.values()] == [0, 0, 0, 2]
    assert found.correlations.largest == 0


# --- requests, figures and messages


def test_order_of_rows_does_not_matter():
    sample = datasets.hospital(300)
    source, release, schema = published(sample.table, job=sample.job)
    shuffled = release.take(pa.array(np.random.default_rng(1).permutation(release.num_rows)))
    one, other = measured(source, release, schema).to_dict(), measured(source, shuffled, schema).to_dict()
    assert one["total"] == pytest.approx(other["total"])
    assert {**one["pairs"], "between": 0} == pytest.approx({**other["pairs"], "between": 0})


def test_json_and_sentences():
    sample = datasets.hospital(300)
    found = measured(*published(sample.table, job=sample.job))
    assert set(json.loads(json.dumps(found.to_dict()))["per_column"]) == {"age", "sex", "zip", "occupation"}
    assert re.fullmatch(
        r"To match the source, a column must .* on average \(at most \d+\.\d %: '.*' and '.*'\)\. Information .* \d+ %\.",
        found.in_words(),
    )


def test_all_types_of_columns_are_read():
    """A cell without a value of the source would be an error."""
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


def test_wrong_releases_are_errors_without_a_cell():
    table = pa.table({"n": [17, 18, 19], "c": ["sick", "well", "well"]})
    schema = schema_of(table)
    for release, message in (
        (table.slice(1), "the source has 3 rows, the release 2"),
        (table.drop_columns(["c"]), "no column 'c'"),
        (table.set_column(0, "n", pa.array([17, 18, 99])), "column 'n'"),
        (table.set_column(1, "c", pa.array(["sick", "well", None])), "column 'c'"),
    ):
        with pytest.raises(RequestError, match=message) as error:
            measured(table, release, schema)
        assert str(error.value).endswith(".")
        assert not re.search("99|17|sick|well", str(error.value))
    with pytest.raises(RequestError, match="0 rows"):
        measured(table.slice(3), table.slice(3), schema)
