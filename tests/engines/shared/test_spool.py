"""A spool returns the rows that were added."""

from __future__ import annotations

import numpy as np

from kohort.engines.shared.spool import Reader, Spool


def test_a_spool_gives_back_what_was_added(tmp_path):
    kept = Spool(tmp_path / "s", np.uint16, 2)
    rows = np.arange(2_000, dtype=np.uint16).reshape(-1, 2)
    for first in range(0, 1_000, 300):
        kept.append(rows[first : first + 300])
    assert np.array_equal(kept.read(), rows)
    assert np.array_equal(kept.read(10, 20), rows[10:20])
    reader = Reader(kept.chunks(7))
    assert np.array_equal(np.vstack([reader.take(many) for many in (1, 0, 500, 499)]), rows)
