"""Publish a given partition of a small table. Tables of Ni, Xie, Qian 2017."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import kohort
from kohort.engines.base import run
from kohort.engines.choose import ENGINES
from kohort.methods import METHODS, Method, Partition
from kohort.methods.method import Options
from kohort.progress import Progress
from tests import oracles


def publish(columns, labels, **job):
    """Publish these groups without an audit. Return the published rows and the loss."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    fixed = Method(
        name="fixed",
        summary="",
        paper="",
        cost="",
        good_for="",
        options=Options,
        partition=lambda *_: Partition(np.array(labels, np.int64)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "fixed", fixed)
        requested = kohort.Job.build(
            quasi=table.column_names, method="fixed", row_order="given", keep_order=True, **{"k": 2, **job}
        )
        publication = run(ENGINES["memory"](requested, Progress(1)), table)
        _, published = publication.preview(np.flatnonzero(np.array(labels) >= 0))
    return published, publication.result.loss


@st.composite
def partitions(draw):
    """Draw a table of `oracles` and random groups of at least two rows, numbered without gaps."""
    columns, measures = draw(oracles.tables(most=24))
    rows = len(next(iter(columns.values())))
    clusters = draw(st.integers(1, rows // 2))
    free = draw(st.lists(st.integers(0, clusters - 1), min_size=rows - 2 * clusters, max_size=rows - 2 * clusters))
    return columns, measures, draw(st.permutations([*range(clusters), *range(clusters), *free]))


def trees(columns):
    return {"tree": oracles.TREE} if "tree" in columns else {}


# --- Ni, Xie, Qian 2017: tables 3, 7 and 8 with the education tree A2, and the numbers for them in ALGORITHMS.md

EDUCATION_A2 = (
    ("9th", "Low", "Senior high", "*"),
    ("11th", "Low", "Senior high", "*"),
    ("HS-grad", "HS-grad (completed)", "Senior high", "*"),
    ("Bachelors", "High", "Above senior high", "*"),
    ("Masters", "High", "Above senior high", "*"),
)
EDUCATION_N4 = (
    ("9th", "9th (jh)", "Junior high", "Low", "*"),
    ("11th", "Not completed", "Senior high", "Low", "*"),
    ("HS-grad", "Completed", "Senior high", "Low", "*"),
    ("Bachelors", "High", "High", "High", "*"),
    ("Masters", "High", "High", "High", "*"),
)
TEN = [
    ("Bachelors", "White", "Male", 39),
    ("Bachelors", "White", "Male", 50),
    ("HS-grad", "White", "Male", 38),
    ("11th", "Black", "Male", 53),
    ("Bachelors", "Black", "Female", 28),
    ("Masters", "White", "Female", 37),
    ("9th", "Black", "Female", 49),
    ("HS-grad", "White", "Male", 52),
    ("Masters", "White", "Female", 31),
    ("Bachelors", "White", "Male", 42),
]
