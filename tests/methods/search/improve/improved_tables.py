"""Small tables, improved, and checks of their groups."""

from __future__ import annotations

import numpy as np

from kohort.methods.search.improve import improve
from tests.methods.small_tables import prepared


def labels_of(columns, k, **asked):
    """The labels of a run up to the release, rows as they stand."""
    engine = prepared(columns, k, seed=7, **asked)
    return engine.labels().tolist()


def improved(columns, k, labels, *, rounds=1, seed=1, progress=None, **asked):
    """The labels after improvement alone."""
    engine = prepared(columns, k, **asked)
    given_labels = np.array(labels, np.int64)
    after = improve(engine.points, engine.constraints, given_labels, rounds, seed, progress or engine.progress)
    assert given_labels.tolist() == list(labels)  # what came in is the caller's
    return after.tolist()


def clouds(rows, seed=5, **more):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=rows).round(3).tolist(), "y": rng.normal(size=rows).round(3).tolist(), **more}
