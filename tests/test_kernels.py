"""Kernels: the same without the compiler, usable without a cache, and shuffles that are fair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import numba
import numpy as np
import pytest

from kohort.kernels import kernel, on_compile
from kohort.kernels.shuffle import shuffle

RUN = """
import json, kohort as kh
sample = kh.datasets.hospital(300)
made = [kh.anonymize(sample.table, sample.job, k=4, seed=1, option={"relaxed": relaxed}) for relaxed in (False, True)]
print(json.dumps([[release.labels.tolist(), release.loss.to_dict()] for release in made]))
"""


@pytest.mark.slow
def test_the_same_without_the_compiler():
    compiled, plain = (
        subprocess.run(
            [sys.executable, "-c", RUN],
            check=True,
            capture_output=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
        ).stdout
        for off in ("0", "1")
    )
    for one, other in zip(json.loads(compiled), json.loads(plain), strict=True):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1])


def test_no_folder_for_the_cache_is_no_obstacle(monkeypatch):
    njit = numba.njit

    def without_cache(*functions, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*functions, **options)

    monkeypatch.setattr(numba, "njit", without_cache)
    said = []
    with on_compile(lambda: said.append("compiling")):
        assert kernel(lambda number: number + 1)(1) == 2
    assert said


def test_every_order_is_about_equally_likely():
    words = np.random.default_rng(7).integers(0, 2**64, (60_000, 3), np.uint64)
    seen: Counter[tuple[int, ...]] = Counter()
    for word in words:
        rows = np.arange(3)
        shuffle(rows, word)
        seen[tuple(rows.tolist())] += 1
    assert len(seen) == 6
    assert max(seen.values()) - min(seen.values()) < 600  # six standard deviations of a fair draw
