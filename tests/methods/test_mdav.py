"""MDAV, compared with published errors and with a simple reference implementation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort.engines.choose import ENGINES
from kohort.errors import RequestError
from kohort.progress import Progress
from tests import oracles
from tests.oracles import kmeans as kmeans_oracles

pytestmark = pytest.mark.slow  # compiling the kernels takes long

QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
PUBLISHED = {
    "census": {3: "5.6922", 5: "9.0884", 10: "14.1559"},
    "tarragona": {3: "16.9326", 5: "22.4619", 10: "33.1929"},
    "eia": {3: "0.4829", 5: "1.6667", 10: "3.8397"},
}


def labels_of(columns, k, scale=None, **requested):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    option = {} if scale is None else {"scale": scale}
    quasi = table.column_names
    job = kohort.Job.build(quasi=quasi, hierarchy=hierarchy, method="mdav", option=option, row_order="given", k=k, **requested)
    engine = ENGINES["memory"](job, Progress(1))
    return engine.partition(engine.encode(table)).labels().tolist()


@pytest.mark.parametrize("name", PUBLISHED)
def test_errors_equal_the_published_ones(public_data, name):
    """100 * SSE / SST of the z-scores, for the three tables that all papers use."""
    table = pyarrow.csv.read_csv(public_data / f"micro_{name}" / f"micro_{name}.csv")
    if name == "eia":
        table = table.select([one for one in table.column_names if one == "UTILITYID" or one.endswith(("REVENUE", "SALES"))])
    cells = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    scores = (cells - cells.mean(axis=0)) / cells.std(axis=0)
    for k, printed in PUBLISHED[name].items():
        labels = np.array(labels_of(table, k))
        error = sum(((scores[labels == label] - scores[labels == label].mean(axis=0)) ** 2).sum() for label in set(labels))
        assert f"{100 * error / (scores**2).sum():.4f}" == printed


@given(table=oracles.tables(), k=st.integers(2, 6), weigh=st.booleans(), data=st.data())
@QUICK
def test_mdav_by_range_matches_the_oracle(table, k, weigh, data):
    columns, measures = table
    weights = [data.draw(st.sampled_from([1, 2, 4])) if weigh else 1 for _ in columns]
    plain = kmeans_oracles.Table(list(columns.values()), measures, k, 0, weights)
    if len(plain.rows) < k:
        return
    got = labels_of(columns, k, "range", weight=dict(zip(columns, weights, strict=True)))
    assert got == kmeans_oracles.mdav(plain, plain.distance, plain.middle)
    sizes = Counter(got).values()
    assert k <= min(sizes) <= max(sizes) < 2 * k


@given(
    columns=st.integers(2, 40).flatmap(
        lambda rows: st.lists(st.lists(st.integers(0, 60), min_size=rows, max_size=rows), min_size=1, max_size=3)
    ),
    k=st.integers(2, 6),
    weight=st.sampled_from([1, 4]),
)
@QUICK
def test_mdav_by_deviation_matches_the_oracle(columns, k, weight):
    rows = len(columns[0])
    if rows < k:
        return
    weights = [weight, *[1] * (len(columns) - 1)]
    positions = kmeans_oracles.deviations(columns, weights)
    plain = kmeans_oracles.Table(columns, [oracles.Numbers(column) for column in columns], k, 0)
    plain.rows = positions

    def squared(one, other):
        total = 0.0
        for a, b in zip(one, other, strict=True):
            total += (float(a) - float(b)) ** 2
        return total

    def mean(left):
        return tuple(
            round(sum(column) / len(left) * 2**16) / 2**16 for column in zip(*(positions[row] for row in left), strict=True)
        )

    named = {f"c{number}": column for number, column in enumerate(columns)}
    assert labels_of(named, k, weight={"c0": weight}) == kmeans_oracles.mdav(plain, squared, mean)


def test_the_furthest_rows_form_the_first_clusters():
    """k = 2: the mean of 0, 1, 9, 10, 11, 32 is 10.5. The furthest row is 32, with 11. The row furthest from 32 is 0, with 1."""
    assert labels_of({"x": [0, 1, 9, 10, 11, 32]}, 2) == [1, 1, 2, 2, 0, 0]


def test_equal_rows_are_clustered_in_their_order():
    assert labels_of({"x": [5] * 8}, 2) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_deviation_is_the_default_only_for_numbers_without_missing_values():
    """One column has a large range and a small deviation, so the two scales give different clusters."""
    x, y = [0, 1, 2, 12, 13, 14, 15, 100], [0, 9, 0, 9, 1, 8, 0, 9]
    default, deviation, by_range = (labels_of({"x": x, "y": y}, 2, scale) for scale in (None, "deviation", "range"))
    assert default == deviation != by_range
    with_missing = {"x": [None, *x[1:]], "y": y}
    assert labels_of(with_missing, 2) == labels_of(with_missing, 2, "range")


@pytest.mark.parametrize("cells", [["a", "b"] * 4, [None, *range(7)]], ids=["categories", "missing"])
def test_deviation_is_refused_for_categories_and_missing_values(cells):
    with pytest.raises(RequestError, match=r"'y' has categories or missing values\. Set scale to range"):
        labels_of({"x": list(range(8)), "y": cells}, 2, "deviation")


@pytest.mark.parametrize("block", [0, 5])
def test_a_missing_value_in_any_block_refuses_deviation(block):
    table = pa.table({"a": [None, *range(1, 40)]})
    with pytest.raises(RequestError, match="scale=range"):
        kohort.anonymize(table, quasi="a", k=3, method="mdav", option={"scale": "deviation"}, block=block)
