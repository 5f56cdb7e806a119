"""Kernels: the same without the compiler, usable without a cache, and shuffles that are fair."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort.kernels
from kohort.encoding import encode as encoding
from kohort.job.job import Job
from kohort.kernels import _cache_folder, kernel, on_compile
from kohort.kernels.core import widths
from kohort.kernels.core.shuffle import shuffle
from kohort.schema import columns as schema
from tests.oracles import TREE, tables

RUN = """
import json, kohort as kh
sample = kh.datasets.hospital(300)
asked = [{"method": "mondrian", "option": {"relaxed": relaxed}} for relaxed in (False, True)]
made = [kh.anonymize(sample.table, sample.job, k=4, seed=1, **given) for given in (*asked, {}, {"l": 3})]
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


def test_no_folder_for_the_cache_is_no_obstacle(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    _cache_folder.cache_clear()
    said = []
    with on_compile(lambda _starts: said.append("compiling")):
        assert kernel(lambda number: number + 1)(1) == 2
    _cache_folder.cache_clear()
    assert said


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changes(tmp_path):
    """numba looks at a function's own file only; the folder of the cache looks at all."""
    package = tmp_path / "kernels"
    shutil.copytree(Path(kohort.kernels.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    run = "import sys; sys.path.insert(0, sys.argv[1]); import kernels; print(kernels._cache_folder())"
    folders = []
    for line in ("", "# changed\n"):
        widths = package / "widths.py"
        widths.write_text(widths.read_text() + line)
        done = subprocess.run([sys.executable, "-c", run, str(tmp_path)], check=True, capture_output=True, text=True)
        folders.append(done.stdout)
    assert folders[0] != folders[1]


def test_every_order_is_about_equally_likely():
    words = np.random.default_rng(7).integers(0, 2**64, (60_000, 3), np.uint64)
    seen: Counter[tuple[int, ...]] = Counter()
    for word in words:
        rows = np.arange(3)
        shuffle(rows, word)
        seen[tuple(rows.tolist())] += 1
    assert len(seen) == 6
    assert max(seen.values()) - min(seen.values()) < 600  # six standard deviations of a fair draw


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(tables(), st.data())
def test_many_widths_at_once_are_the_single_ones(made, data):
    columns, _measures = made
    table = pa.table({name: pa.array(cells) for name, cells in columns.items()})
    job = Job.build(quasi=list(columns), hierarchy={"tree": TREE} if "tree" in columns else {})
    points = encoding.encode(table, schema.resolve(job.columns, table))
    axes = points.kernel_tables()
    for number, axis in enumerate(points.axes):
        low, high = sorted(data.draw(st.tuples(*[st.integers(0, axis.size - 1)] * 2)))
        values, costs = np.arange(axis.size), np.empty(axis.size, np.int64)
        widths.widths_with(axes, number, low, high, values, np.empty(axis.size, np.int64), costs)
        assert costs.tolist() == [widths.width(axes, number, min(low, value), max(high, value)) for value in range(axis.size)]
