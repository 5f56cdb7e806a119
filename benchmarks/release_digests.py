"""`python -m benchmarks.release_digests > before.txt`: print digests of many releases, to compare two versions of the code.

A change that only moves or renames code must not change any release. Run this before and after the change, and compare the two
files. It uses only public names. Every method runs on the sample with several promises, and some methods run on every engine.
If a promise cannot be kept, the line has the exit code instead of a digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import kohort
from kohort import datasets
from kohort.methods import METHODS

ROWS = int(os.environ.get("ROWS", "1500"))
REQUESTS: dict[str, dict[str, Any]] = {
    "k": {},
    "l": {"l": 3},
    "t": {"t": 0.3},
    "unit": {"unit": "patient"},
    "suppress": {"suppress": 0.05},
}
MORE: dict[str, dict[str, Any]] = {
    "auto, alpha": {"method": "auto", "alpha": 0.5},
    "auto, entropy l": {"method": "auto", "entropy_l": 2},
    "auto, recursive l": {"method": "auto", "recursive_l": (2, 3)},
    "auto, beta": {"method": "auto", "beta": 2},
    "auto, delta": {"method": "auto", "delta": 2},
    "auto, grid": {"method": "auto", "ranges": "grid"},
    "auto, mean": {"method": "auto", "statistic": {"age": "both"}},
    "auto, suppressed star": {"method": "auto", "suppress": 0.05, "suppressed": "star"},
    "auto, blocks": {"method": "auto", "block": 300},
    "gccg, blocks": {"method": "gccg", "block": 300},
    "gccg, parts": {"method": "gccg", "option": {"parts": 4}},
    "mondrian, relaxed": {"method": "mondrian", "option": {"relaxed": True}},
    "mondrian, improved": {"method": "mondrian", "effort": 1},
    "auto, height": {"method": "auto", "objective": "height"},
    "mondrian, public": {"method": "mondrian", "preset": "public"},
}
ON_EVERY_ENGINE = ("auto", "mondrian", "k-member", "gccg", "incognito", "kmeans-filled")


def main() -> None:
    """Print one line per release."""
    sample = datasets.hospital(ROWS)
    people = [number * 7 // 9 for number in range(sample.table.num_rows)]
    table = sample.table.append_column("patient", [people])
    with tempfile.TemporaryDirectory(prefix="kohort-digests-") as name:
        folder = Path(name)
        for title, settings in requests(list(METHODS)):
            print(f"{title}: {digest(table, sample.job, settings, folder)}", flush=True)


def requests(methods: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the settings of every release by name."""
    for method in methods:
        for name, promise in REQUESTS.items():
            yield f"memory, {method}, {name}", {"method": method, **promise}
    for name, settings in MORE.items():
        yield f"memory, {name}", settings
    for engine in ("disk", "spark"):
        for method in ON_EVERY_ENGINE:
            for name, promise in REQUESTS.items():
                yield f"{engine}, {method}, {name}", {"method": method, "engine": engine, **promise}


def digest(table: Any, job: kohort.Job, settings: dict[str, Any], folder: Path) -> str:
    """Return a digest of the release's rows (in the source's order if possible), its loss and its audit, or the exit code."""
    columns = {} if "unit" in settings else {"drop": "patient"}
    order = {} if settings.get("engine") in ("disk", "spark") else {"keep_order": True}
    request = {"k": 5, "seed": 7, "threads": 2, **columns, **order, **settings}
    if request.get("preset"):
        del request["k"]
    source, output = folder / "source.parquet", folder / "release.csv"
    if not source.exists():
        pq.write_table(table, source)
    try:
        release = kohort.anonymize(str(source), job, output=str(output), force=True, **request)
    except kohort.KohortError as error:
        return f"exit code {error.exit_code}"
    parts = sorted(output.rglob("*.csv")) if output.is_dir() else [output]
    lines = [line for part in parts for line in part.read_bytes().splitlines()]
    if not order:
        lines.sort()  # these engines always shuffle the rows
    summary = {key: release.summary()[key] for key in ("rows", "classes", "suppressed", "k", "loss", "seed")}
    checks = [(check.name, check.verdict, check.required, check.found) for check in release.evidence.checks]
    text = b"\n".join(lines) + json.dumps([summary, checks], sort_keys=True, default=str).encode()
    if output.is_dir():
        shutil.rmtree(output)
    else:
        output.unlink()
    return hashlib.sha256(text).hexdigest()[:24]


if __name__ == "__main__":
    main()
