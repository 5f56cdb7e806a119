"""Compile the kernels that the tests need once, before the workers of a test run start.

Compiling takes much of the time of a run without a cache, and every worker would compile the same kernels. Here two processes
compile them once. The workers then load the kernels from kohort's cache on disk. A kernel that is missing here only costs time:
the worker that needs it compiles it. `python -m tests.compile_kernels quick cuts` compiles the kernels of one list.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 120
SMALL, LARGE = 50, 300  # number of values of a column whose codes need one byte, or two
PROMISE: dict[str, Any] = {"l": 2}
PEOPLE: dict[str, Any] = {"unit": "u", "l": 2}
SUPPRESS: dict[str, Any] = {"suppress": 0.1}
MONDRIAN: dict[str, Any] = {"method": "mondrian"}
WORKLOAD: dict[str, Any] = {**MONDRIAN, "workload": {"query": [{"where": [["a", "<=", 20]]}, {"where": [["b", "=", "b1"]]}]}}
ON_DISK: dict[str, Any] = {**MONDRIAN, "engine": "disk"}
AT_ONCE = 40  # rows that the disk engine may keep in memory, so few that it cuts with counts
CENTROIDS = ("mdav", "oka", "kmeans-adjusted", "kmeans-filled", "kmeans-then-adjusted", "c-means")
CUTS = ("mondrian", "mondrian-1d", "incognito", "datafly")


class ToCompile(NamedTuple):
    """The kernels that one process compiles: those of these jobs, and those of methods with read-only codes (another type)."""

    small: list[dict[str, Any]]
    large: list[dict[str, Any]]
    read_only: list[str]


def quick() -> dict[str, ToCompile]:
    """Return what `make test` needs. The lists share few kernels, so that two processes rarely save the same kernel at once."""
    cuts: list[dict[str, Any]] = [
        *(settings | more for settings in (MONDRIAN, WORKLOAD, ON_DISK, {"method": "mondrian-1d"}) for more in ({}, PROMISE)),
        {**ON_DISK, **PEOPLE},
        {"method": "datafly", **SUPPRESS},
        {"method": "incognito"},
        {"objective": "square-error", "quasi": "a"},
        {"method": "oka"},
        {"method": "kmeans-adjusted", **SUPPRESS},
    ]
    groups: list[dict[str, Any]] = [
        *({}, PROMISE, {**PEOPLE, **SUPPRESS}),
        *({"method": "k-member", **more} for more in ({}, PROMISE, PEOPLE)),
        *({"method": method} for method in ("gccg", "threshold")),
    ]
    return {
        "cuts": ToCompile(cuts, [MONDRIAN, MONDRIAN | PROMISE], ["mondrian"]),
        "groups": ToCompile(groups, [{}, PROMISE], ["auto"]),
    }


def every() -> dict[str, ToCompile]:
    """Return what `make test-all` needs: in addition every other method, with and without a promise."""
    from kohort.methods import METHODS

    lists = quick()
    for method in METHODS:
        to_compile = lists["cuts" if method in (*CENTROIDS, *CUTS) else "groups"]
        to_compile.small.extend({"method": method, **more} for more in ({}, PROMISE, PEOPLE, SUPPRESS))
        to_compile.large.append({"method": method, **PROMISE})
        to_compile.read_only.append(method)
    return lists


LISTS = {"quick": quick, "every": every}


def compile_all(name: str) -> None:
    """Compile in two processes, unless this was done after the last change of the kernels."""
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
    """Return a hash of this file and of the times of the kernel files. numba compiles again if these times change."""
    import kohort.kernels

    files = sorted(Path(kohort.kernels.__file__).parent.rglob("*.py"))
    times = [f"{file} {file.stat().st_mtime_ns}" for file in files]
    return sha256("\n".join([Path(__file__).read_text(encoding="utf-8"), *times]).encode()).hexdigest()[:16]


def run(to_compile: ToCompile) -> None:
    import pyarrow as pa

    import kohort as kh
    from kohort.engines.disk.engine import DiskEngine
    from kohort.methods import METHODS
    from kohort.progress import Progress
    from kohort.testing import inputs_untouched
    from kohort.testing.engine_contracts import released

    for values, settings in (*product([SMALL], to_compile.small), *product([LARGE], to_compile.large)):
        rows = range(max(ROWS, 2 * values))
        columns: dict[str, list[Any]] = {"a": [row * 7 % values for row in rows], "b": [f"b{row % 5}" for row in rows]}
        columns["s"] = [f"s{row % 4}" for row in rows]
        if "unit" in settings:
            columns["u"] = [row // 2 for row in rows]
        if "quasi" in settings:
            del columns["b"]
        job = kh.Job.build(**{"quasi": ["a", "b"], "sensitive": "s", "k": 3, "seed": 1, **settings})
        if settings.get("engine") == "disk":
            released(DiskEngine(job, Progress(1), AT_ONCE), pa.table(columns))
        else:
            kh.anonymize(pa.table(columns), job)
    for method in to_compile.read_only:
        inputs_untouched(METHODS[method])


if __name__ == "__main__":
    run(LISTS[sys.argv[1]]()[sys.argv[2]])
