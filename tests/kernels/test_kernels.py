"""Kernels give the same results without the compiler, and work without a cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import kohort.kernels
from kohort.kernels import _cache_folder, kernel, on_compile

RUN = """
import json, kohort as kh
sample = kh.datasets.hospital(300)
options = [{"method": "mondrian", "option": {"relaxed": relaxed}} for relaxed in (False, True)]
made = [kh.anonymize(sample.table, sample.job, k=4, seed=1, **given) for given in (*options, {}, {"l": 3})]
print(json.dumps([[release.labels.tolist(), release.loss.to_dict()] for release in made]))
"""


@pytest.mark.slow
def test_results_without_the_compiler_are_the_same():
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


def test_kernels_run_without_a_cache_folder(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    _cache_folder.cache_clear()
    events = []
    with on_compile(lambda _starts: events.append("compiling")):
        assert kernel(lambda number: number + 1)(1) == 2
    _cache_folder.cache_clear()
    assert events


def test_cache_folder_changes_with_any_kernel_source(tmp_path):
    """Numba checks only the file of the function itself. The name of the cache folder depends on all kernel files."""
    package = tmp_path / "kernels"
    shutil.copytree(Path(kohort.kernels.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    run = "import sys; sys.path.insert(0, sys.argv[1]); import kernels; print(kernels._cache_folder())"
    folders = []
    for line in ("", "# changed\n"):
        widths = package / "core" / "widths.py"
        widths.write_text(widths.read_text() + line)
        done = subprocess.run([sys.executable, "-c", run, str(tmp_path)], check=True, capture_output=True, text=True)
        folders.append(done.stdout)
    assert folders[0] != folders[1]
