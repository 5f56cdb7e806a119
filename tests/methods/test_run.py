"""Methods in blocks: every block is processed as a separate table."""

from __future__ import annotations

import numpy as np
import pytest

import kohort as kh
from kohort.encoding.row_order import block_number, own_seed
from kohort.methods import METHODS
from kohort.methods.run import partition_table, rows_of_blocks
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress
from tests.methods.census_table import QUASI, TABLE, bound


@pytest.mark.parametrize("block", [0, 450, 10_000, 449, 225, 100])
def test_a_table_of_up_to_twice_the_block_size_is_one_block(block):
    release = kh.anonymize(TABLE, quasi=QUASI, sensitive="s1", k=5, method="gccg", block=block, seed=7)
    blocks = release.summary()["blocks"]
    assert blocks == 1 if block in (0, 450, 10_000) else 900 / block <= blocks < 900 / block * 2


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.in_blocks])
def test_groups_of_a_block_do_not_depend_on_other_blocks(method):
    job, points, checks = bound(method=method, block=120)
    options, progress = job.method_options(), Progress(2)
    whole = partition_table(job.algorithm, points, checks, options, 7, 120, progress).labels
    for rows in rows_of_blocks(cut_table(points, checks, progress, largest=120)):
        block, bound_to = points.take(rows), checks.take(rows)
        separate = job.algorithm.partition(block, bound_to, options, own_seed(7, block_number(block)), progress).labels
        assert np.array_equal(np.unique(whole[rows], return_inverse=True)[1], np.unique(separate, return_inverse=True)[1])
    assert sorted(set(whole.tolist())) == list(range(whole.max() + 1))


def test_other_methods_ignore_the_block_size():
    for method in (name for name, method in METHODS.items() if not method.in_blocks):
        release = kh.anonymize(TABLE, quasi=QUASI, sensitive="s1", k=5, method=method, block=50, seed=7)
        assert release.summary()["blocks"] == 1


def test_suppressed_rows_of_blocks_stay_within_the_limit():
    requested = {"quasi": QUASI, "sensitive": "s1", "k": 5, "method": "k-member", "block": 60, "seed": 7}
    release = kh.anonymize(TABLE, suppress=0.1, **requested)
    assert release.summary()["blocks"] > 8
    assert 0 < release.summary()["suppressed"] <= 90
    assert release.loss.leaf < kh.anonymize(TABLE, **requested).loss.leaf
