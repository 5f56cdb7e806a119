"""Settings and fixtures of all tests: the strict mode of CI, the folder of public data, the command line."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from kohort.cli import commands as cli
from tests.command_line import RARE, Kohort, Ran
from tests.compile_kernels import compile_all

STRICT = os.environ.get("KOHORT_STRICT") == "1"
# There is no deadline, because the first call compiles and machines may be busy. CI repeats the same cases, so that a failure
# is caused by the change that is tested. Other runs draw new cases.
settings.register_profile("kohort", deadline=None, derandomize=STRICT)
settings.load_profile("kohort")

SHARED = Path(__file__).resolve().parents[2] / "shared"

if "KOHORT_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["KOHORT_DATA"] = str(SHARED / "data")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels before the workers of a complete run start. Otherwise each worker would compile all of them."""
    config = session.config
    has_workers = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if has_workers and config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.collectonly:
        compile_all("quick" if config.option.markexpr == "not slow" else "every")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With KOHORT_STRICT=1, a skipped test fails, because CI has everything that a test may need."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under KOHORT_STRICT=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public tables. Tests that need it are skipped, with a message, if there is none."""
    folder = os.environ.get("KOHORT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set KOHORT_DATA to the folder of public tables")
    return Path(folder)


@pytest.fixture
def kohort(monkeypatch, capsys, tmp_path) -> Iterator[Kohort]:
    """A function that runs `kohort ARGUMENTS` in a folder with patients.csv, without starting another Python."""
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
