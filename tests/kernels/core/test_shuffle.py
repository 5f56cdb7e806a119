"""All orders of a shuffle are equally likely."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kohort.kernels.core.shuffle import shuffle


def test_all_orders_are_about_equally_likely():
    words = np.random.default_rng(7).integers(0, 2**64, (60_000, 3), np.uint64)
    seen: Counter[tuple[int, ...]] = Counter()
    for word in words:
        rows = np.arange(3)
        shuffle(rows, word)
        seen[tuple(rows.tolist())] += 1
    assert len(seen) == 6
    assert max(seen.values()) - min(seen.values()) < 600  # six standard deviations, if all orders are equally likely
