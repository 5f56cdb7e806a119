"""Shared by all tests: the strict mode of CI, and where the public data lie."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

import kohort as kh
from kohort.cli import commands as cli
from tests.command_line import RARE, Kohort, Ran

STRICT = os.environ.get("KOHORT_STRICT") == "1"
# No deadline: the first call compiles, and machines are busy. CI repeats its cases, so that a change is judged by what it
# changes; every other run draws new ones.
settings.register_profile("kohort", deadline=None, derandomize=STRICT)
settings.load_profile("kohort")

SHARED = Path(__file__).resolve().parents[2] / "shared"

if "KOHORT_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["KOHORT_DATA"] = str(SHARED / "data")


def pytest_sessionstart() -> None:
    """Compile for both workers: they would compile the same kernels at the same time, so each begins with others.

    Codes of more than 255 values need kernels of their own.
    """
    first = {"gw0": (50, ({}, {"l": 2})), "gw1": (300, ({"method": "mondrian"}, {"method": "mondrian", "l": 2}, {}))}
    values, jobs = first.get(os.environ.get("PYTEST_XDIST_WORKER", ""), (0, ()))
    rows = range(2 * values)
    table = pa.table({"a": [n * 7 % values for n in rows], "b": [f"b{n % 5}" for n in rows], "s": [f"s{n % 4}" for n in rows]})
    for asked in jobs:
        kh.anonymize(table, quasi=["a", "b"], sensitive="s", k=3, seed=1, **asked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Under KOHORT_STRICT=1 a skipped test is a failed one: CI has everything that a test may need."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under KOHORT_STRICT=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public tables; tests that need it are skipped, visibly, where it is not at hand."""
    folder = os.environ.get("KOHORT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set KOHORT_DATA to the folder of public tables")
    return Path(folder)


@pytest.fixture
def kohort(monkeypatch, capsys, tmp_path) -> Iterator[Kohort]:
    """`kohort ARGUMENTS` in a folder with patients.csv, without starting another Python."""
    rows = [f"{RARE}{n},{n % 30},{'mf'[n % 2]},{RARE},{'flu' if n % 3 else 'hiv'}\n" for n in range(90)]
    (tmp_path / "patients.csv").write_text("name,age,sex,zip,disease\n" + "".join(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def run(arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["kohort", *shlex.split(arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, before)
