"""Helpers that improve the groups of small tables."""

from __future__ import annotations

import numpy as np

from kohort.methods.search.improve import improve
from tests.methods.small_tables import prepared


def labels_of(columns, k, **requested):
    """Return the labels of a whole run, without publishing, with the rows in the given order."""
    engine = prepared(columns, k, seed=7, **requested)
    return engine.labels().tolist()


def improved(columns, k, labels, *, rounds=1, seed=1, progress=None, **requested):
    """Return the labels after improvement, without running a method."""
    engine = prepared(columns, k, **requested)
    given_labels = np.array(labels, np.int64)
    after = improve(engine.points, engine.constraints, given_labels, rounds, seed, progress or engine.progress)
    assert given_labels.tolist() == list(labels)  # improvement must not change its input
    return after.tolist()


def clouds(rows, seed=5, **more):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=rows).round(3).tolist(), "y": rng.normal(size=rows).round(3).tolist(), **more}
