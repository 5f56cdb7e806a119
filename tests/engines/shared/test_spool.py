"""A spool returns the rows that were appended."""

from __future__ import annotations

import numpy as np

from kohort.engines.shared.spool import Reader, Spool


def test_spool_returns_the_appended_rows_in_pieces_of_any_size(tmp_path):
    spool = Spool(tmp_path / "s", np.uint16, 2)
    rows = np.arange(2_000, dtype=np.uint16).reshape(-1, 2)
    for first in range(0, 1_000, 300):
        spool.append(rows[first : first + 300])
    assert np.array_equal(spool.read(), rows)
    assert np.array_equal(spool.read(10, 20), rows[10:20])
    reader = Reader(spool.chunks(7))
    assert np.array_equal(np.vstack([reader.take(many) for many in (1, 0, 500, 499)]), rows)
