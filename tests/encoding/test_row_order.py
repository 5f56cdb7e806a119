"""Canonical row order and seeds: they do not depend on the order of the input."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.encoding import encode as encoding
from kohort.encoding.row_order import canonical_order, own_seed, ties_of
from tests.encoding.encoded_tables import bind


def test_seeds_of_blocks_differ():
    assert len({own_seed(seed, number) for seed in range(20) for number in range(20)}) == 400


# --- canonical order


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from(["flu", "hiv", None])), min_size=1, max_size=12),
    st.data(),
)
def test_canonical_order_does_not_depend_on_the_input_order(rows, data):
    def ordered(rows, seed):
        q1, q2, s = zip(*rows, strict=True)
        table = pa.table({"q1": q1, "q2": q2, "s": pa.array(s, pa.string())})
        schema = bind(table, quasi=["q1", "q2"], sensitive="s")
        order = canonical_order(encoding.encode(table, schema), ties_of(table, schema, seed))
        assert sorted(order.tolist()) == list(range(len(rows)))
        return [rows[index] for index in order]

    expected = ordered(rows, 7)
    assert expected == ordered(data.draw(st.permutations(rows)), 7)
    assert [row[:2] for row in expected] == sorted(row[:2] for row in rows)
    assert sorted(map(str, ordered(rows, 8))) == sorted(map(str, rows))


def test_canonical_order_breaks_ties_by_the_seed():
    table = pa.table({"q": [1] * 20, "s": [f"s{number}" for number in range(20)]})
    schema = bind(table, quasi="q", sensitive="s")
    points = encoding.encode(table, schema)
    orders = {tuple(canonical_order(points, ties_of(table, schema, seed)).tolist()) for seed in range(5)}
    assert len(orders) == 5
