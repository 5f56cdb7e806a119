"""Compile the kernels that the tests need, once, before the workers of a run start.

Compiling takes most of a cold run's time, and every worker would compile for itself what all of them need. Here it is done
once, in two processes; the workers then load the kernels from kohort's cache on disk. A kernel that is missing here costs time,
not truth: the worker that needs it compiles it. `python -m tests.compile_kernels quick cuts` compiles one list.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

Jobs = list[tuple[int, dict[str, Any]]]  # how many values the first column has, which decides the size of codes; the settings

ROWS = 120
SMALL, LARGE = 50, 300  # values whose codes take one byte, or two
PERSONS: dict[str, Any] = {"unit": "u", "l": 2}
MONDRIAN: dict[str, Any] = {"method": "mondrian"}
WORKLOAD: dict[str, Any] = {"workload": [{"count": True, "where": [{"column": "a", "op": "<", "value": 20}]}]}


def quick() -> dict[str, Jobs]:
    """What `make test` needs: the kernels of cuts in one process, those of the default method in another."""
    return {
        "cuts": [
            (SMALL, MONDRIAN),
            (SMALL, {**MONDRIAN, "l": 2}),
            (LARGE, MONDRIAN),
            (LARGE, {**MONDRIAN, "l": 2}),
        ],
        "groups": [
            (SMALL, {}),
            (SMALL, {"l": 2}),
            (SMALL, {**PERSONS, "suppress": 0.1}),
            (LARGE, {"l": 2}),
        ],
    }


def every() -> dict[str, Jobs]:
    """What `make test-all` needs: every method, with and without a promise."""
    from kohort.methods import METHODS

    lists = quick()
    for number, (method, asked) in enumerate(product(METHODS, ({}, {"l": 2}, PERSONS))):
        lists["cuts" if number % 6 < 3 else "groups"].append((SMALL, {"method": method, **asked}))
    return lists


def compile_all(lists: str) -> None:
    """Compile in two processes, unless that has been done since the kernels changed."""
    from kohort.kernels import _cache_folder

    folder = _cache_folder()
    if folder is None:
        return
    done = folder / f"compiled-{lists}-{_state()}"
    if not done.exists():
        commands = [[sys.executable, "-m", "tests.compile_kernels", lists, name] for name in ("cuts", "groups")]
        running = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for command in commands]
        if not any(process.wait() for process in running):
            done.touch()


def _state() -> str:
    """Of what the cache goes by: this file, and the time when each kernel's file was changed."""
    import kohort.kernels

    files = sorted(Path(kohort.kernels.__file__).parent.rglob("*.py"))
    times = [f"{file} {file.stat().st_mtime_ns}" for file in files]
    return sha256("\n".join([Path(__file__).read_text(encoding="utf-8"), *times]).encode()).hexdigest()[:16]


def run(jobs: Jobs) -> None:
    import pyarrow as pa

    import kohort as kh

    for values, asked in jobs:
        rows = range(max(ROWS, 2 * values))
        table = pa.table(
            {
                "a": [row * 7 % values for row in rows],
                "b": [f"b{row % 5}" for row in rows],
                "s": [f"s{row % 4}" for row in rows],
                **({"u": [row // 2 for row in rows]} if "unit" in asked else {}),
            }
        )
        try:
            kh.anonymize(table, quasi=["a", "b"], sensitive="s", k=3, seed=1, **asked)
        except kh.KohortError as error:  # a method that has no such promise
            sys.stderr.write(f"{asked}: {error}\n")


if __name__ == "__main__":
    run({"quick": quick, "every": every}[sys.argv[1]]()[sys.argv[2]])
