"""Compile the kernels that the tests need, once, before the workers of a run start.

Compiling takes much of a cold run's time, and every worker would compile for itself what all of them need. Here it is done
once, in two processes; the workers then load the kernels from kohort's cache on disk. A kernel that is missing here costs
time, nothing else: the worker that needs it compiles it. `python -m tests.compile_kernels quick cuts` works off one list.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 120
SMALL, LARGE = 50, 300  # values of a column whose codes take one byte, or two
PROMISE: dict[str, Any] = {"l": 2}
PERSONS: dict[str, Any] = {"unit": "u", "l": 2}
LEAVE_OUT: dict[str, Any] = {"suppress": 0.1}
MONDRIAN: dict[str, Any] = {"method": "mondrian"}
WORKLOAD: dict[str, Any] = {**MONDRIAN, "workload": {"query": [{"where": [["a", "<=", 20]]}, {"where": [["b", "=", "b1"]]}]}}
ON_DISK: dict[str, Any] = {**MONDRIAN, "engine": "disk"}
AT_ONCE = 40  # rows that the disk engine may hold, so that it cuts with counts
CENTROIDS = ("mdav", "oka", "kmeans-adjusted", "kmeans-filled", "kmeans-then-adjusted", "c-means")
CUTS = ("mondrian", "mondrian-1d", "incognito", "datafly")


class Wanted(NamedTuple):
    """What one process compiles: the kernels of these jobs, and those of methods whose codes are read-only, another type."""

    small: list[dict[str, Any]]
    large: list[dict[str, Any]]
    read_only: list[str]


def quick() -> dict[str, Wanted]:
    """What `make test` needs. The lists share few kernels: two processes should not save versions of one at the same time."""
    cuts: list[dict[str, Any]] = [
        *(asked | more for asked in (MONDRIAN, WORKLOAD, ON_DISK, {"method": "mondrian-1d"}) for more in ({}, PROMISE)),
        {**ON_DISK, **PERSONS},
        {"method": "datafly", **LEAVE_OUT},
        {"method": "incognito"},
        {"objective": "square-error", "quasi": "a"},
        {"method": "oka"},
        {"method": "kmeans-adjusted", **LEAVE_OUT},
    ]
    groups: list[dict[str, Any]] = [
        *({}, PROMISE, {**PERSONS, **LEAVE_OUT}),
        *({"method": "k-member", **more} for more in ({}, PROMISE, PERSONS)),
        *({"method": method} for method in ("gccg", "threshold")),
    ]
    return {
        "cuts": Wanted(cuts, [MONDRIAN, MONDRIAN | PROMISE], ["mondrian"]),
        "groups": Wanted(groups, [{}, PROMISE], ["auto"]),
    }


def every() -> dict[str, Wanted]:
    """What `make test-all` needs: also every other method, with and without a promise."""
    from kohort.methods import METHODS

    lists = quick()
    for method in METHODS:
        wanted = lists["cuts" if method in (*CENTROIDS, *CUTS) else "groups"]
        wanted.small.extend({"method": method, **more} for more in ({}, PROMISE, PERSONS, LEAVE_OUT))
        wanted.large.append({"method": method, **PROMISE})
        wanted.read_only.append(method)
    return lists


LISTS = {"quick": quick, "every": every}


def compile_all(name: str) -> None:
    """Compile in two processes, unless that has been done since the kernels changed."""
    from kohort.kernels import _cache_folder

    folder = _cache_folder()
    if folder is None:
        return
    done = folder / f"compiled-{name}-{_state()}"
    if not done.exists():
        commands = [[sys.executable, "-m", "tests.compile_kernels", name, part] for part in ("cuts", "groups")]
        running = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for command in commands]
        ended = [process.wait() for process in running]
        if not any(ended):
            done.touch()


def _state() -> str:
    """Changes with this file and with whatever makes numba compile anew: the time at which a kernel's file was written."""
    import kohort.kernels

    files = sorted(Path(kohort.kernels.__file__).parent.rglob("*.py"))
    times = [f"{file} {file.stat().st_mtime_ns}" for file in files]
    return sha256("\n".join([Path(__file__).read_text(encoding="utf-8"), *times]).encode()).hexdigest()[:16]


def run(wanted: Wanted) -> None:
    import pyarrow as pa

    import kohort as kh
    from kohort.engines.disk.engine import DiskEngine
    from kohort.methods import METHODS
    from kohort.progress import Progress
    from kohort.testing import inputs_untouched
    from kohort.testing.engine_contracts import released

    for values, asked in (*product([SMALL], wanted.small), *product([LARGE], wanted.large)):
        rows = range(max(ROWS, 2 * values))
        columns: dict[str, list[Any]] = {"a": [row * 7 % values for row in rows], "b": [f"b{row % 5}" for row in rows]}
        columns["s"] = [f"s{row % 4}" for row in rows]
        if "unit" in asked:
            columns["u"] = [row // 2 for row in rows]
        if "quasi" in asked:
            del columns["b"]
        job = kh.Job.build(**{"quasi": ["a", "b"], "sensitive": "s", "k": 3, "seed": 1, **asked})
        if asked.get("engine") == "disk":
            released(DiskEngine(job, Progress(1), AT_ONCE), pa.table(columns))
        else:
            kh.anonymize(pa.table(columns), job)
    for method in wanted.read_only:
        inputs_untouched(METHODS[method])


if __name__ == "__main__":
    run(LISTS[sys.argv[1]]()[sys.argv[2]])
