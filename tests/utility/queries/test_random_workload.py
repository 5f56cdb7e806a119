"""Random workloads."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from kohort.errors import RequestError
from kohort.utility.queries.answers import Questions
from kohort.utility.queries.random_workload import random_workload
from tests.utility.queries.query_tables import published, table_of


def test_random_queries_select_about_the_requested_share():
    random = np.random.default_rng(5)
    table = table_of(
        [
            (int(n), float(r), str(t), date(2020, 1, 1) + timedelta(days=int(d)), "p", 1)
            for n, r, t, d in zip(
                random.integers(0, 100, 3_000), random.random(3_000), random.choice(list("abcde"), 3_000),
                random.integers(0, 400, 3_000), strict=True,
            )
        ]
    )  # fmt: skip
    publication = published(table, np.zeros(3_000, np.int64))
    drawn = random_workload(table, publication.encoded.schema, queries=60, selectivity=0.1, seed=3)
    share = Questions(drawn, table, publication.encoded.schema).truth / 3_000
    assert 0.08 < np.median(share) < 0.2
    assert share.min() > 0
    assert all(2 <= len(query.where) <= 3 for query in drawn.queries)
    assert drawn == random_workload(table, publication.encoded.schema, queries=60, selectivity=0.1, seed=3)
    assert drawn != random_workload(table, publication.encoded.schema, queries=60, selectivity=0.1, seed=4)
    with pytest.raises(RequestError, match="selectivity"):
        random_workload(table, publication.encoded.schema, selectivity=0)
