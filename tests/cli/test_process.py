"""The process around a command: crashes, signals, full disks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kohort import datasets
from kohort.encoding import encode as encoding
from kohort.errors import PromiseError
from kohort.tables import tables
from tests.command_line import RARE, ROLE_FLAGS, RUN

CRASHES = [(ValueError(RARE), 3), (MemoryError(RARE), 3), (KeyboardInterrupt(RARE), 130), (PromiseError("no"), 1)]


@pytest.mark.parametrize(("error", "code"), CRASHES)
def test_crash_shows_no_cell(kohort, monkeypatch, error, code):
    def crash(*_given, **_settings):
        raise error

    monkeypatch.setattr("kohort.encoding.encode.encode", crash)
    monkeypatch.delenv("KOHORT_DEBUG", raising=False)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (ran.code, ran.out) == (code, "")
    assert not any(word in ran.err for word in (RARE, "Traceback"))


@pytest.mark.slow
def test_a_stopped_audit_is_an_interruption(kohort, monkeypatch):
    """DuckDB turns Ctrl-C into another error."""

    def long(run, *_given, **_settings):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        run("SELECT SUM(range) FROM range(20000000000)")

    monkeypatch.setattr("kohort.auditor.audit", long)
    ran = kohort("audit patients.csv --quasi age")
    assert (ran.code, "report" in ran.err) == (130, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_that_a_library_catches_stops_the_run(kohort, monkeypatch, tmp_path, number):
    """Compiled code may drop the KeyboardInterrupt; pandas does while pyarrow imports it."""
    real = encoding.encode

    def deaf(*given):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        return real(*given)

    monkeypatch.setattr(encoding, "encode", deaf)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (ran.code, (tmp_path / "out.csv").exists()) == (130, False)


def test_a_signal_right_after_the_rename(kohort, monkeypatch, tmp_path):
    """The release was written, so the message must not say that nothing was published."""
    real = Path.replace

    def late(path, target):
        real(path, target)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Path, "replace", late)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (tmp_path / "out.csv").exists() != ("nothing was published" in ran.err)


def test_interruption_reported_as_another_error_is_an_interruption(kohort, monkeypatch, tmp_path):
    """An import that is interrupted may end as an ImportError."""

    def renamed(*_given):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("half imported") from None

    monkeypatch.setattr(encoding, "encode", renamed)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (ran.code, "report" in ran.err, (tmp_path / "out.csv").exists()) == (130, False, False)


# --- in a separate process

SHOW_STEPS = "from kohort.cli import commands, progress_line; progress_line.QUIET_SECONDS = 0; commands.main()"
SMALL_FILES = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); from kohort.cli.commands import main; main()"
)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_full_disk(kohort, tmp_path, suffix):
    kohort("demo --folder sample --rows 3000")
    (tmp_path / "out").mkdir()
    command = ["anonymize", "sample/patients.csv", "-o", f"out/r.{suffix}", "--job", "sample/job.toml"]
    ran = subprocess.run([sys.executable, "-c", SMALL_FILES, *command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, list((tmp_path / "out").iterdir())) == (3, "", [])
    assert "could not be written" in ran.stderr


@pytest.mark.usefixtures("kohort")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_written_release_is_reported_although_printing_failed(tmp_path):
    """The release was written and only its summary cannot be printed: the message must not say that nothing was published."""
    command = [sys.executable, "-m", "kohort", *f"{RUN} {ROLE_FLAGS}".split()]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode not in {0, 1}  # 1 would say that the promise was not kept
    assert (tmp_path / "out.csv").exists() != ("nothing was published" in ran.stderr)


def interrupted(source: Path, folder: Path, step: str, number: signal.Signals, method: str = "mondrian", wait: float = 0) -> None:
    """Send a signal to a run once it is in that step; it must end with exit code 130 and leave no file."""
    folder.mkdir()
    log = folder.parent / "stderr"
    quasi = ",".join(f"q{number}" for number in range(1, 10))
    command = f"anonymize {source} -o {folder}/out.csv --quasi {quasi} --sensitive s1 --k 10 --method {method}".split()
    with log.open("w") as said, subprocess.Popen([sys.executable, "-c", SHOW_STEPS, *command], stderr=said) as process:
        while process.poll() is None and f"kohort: {step}" not in log.read_text():
            if step == "staged" and list(folder.iterdir()):
                break
            time.sleep(0.01)
        time.sleep(wait)
        process.send_signal(number)
        process.wait(30)
    assert (process.returncode, list(folder.iterdir())) == (130, [])
    assert "Interrupted; nothing was published." in log.read_text()
    assert "Traceback" not in log.read_text()


def census(folder: Path, rows: int) -> Path:
    table = datasets.census(rows)
    (folder / "census.csv").touch()
    tables.batches_to_file(table.to_batches(), table.schema, folder / "census.csv", tables.CsvFormat())
    return folder / "census.csv"


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    return census(tmp_path_factory.mktemp("census"), 1_000_000)


def test_ctrl_c_while_the_release_is_written(tmp_path):
    interrupted(census(tmp_path, 400_000), tmp_path / "out", "staged", signal.SIGINT)


@pytest.mark.slow
@pytest.mark.xdist_group("large")
@pytest.mark.parametrize(
    ("step", "number"),
    [
        *((step, signal.SIGINT) for step in ("encode", "partition", "publish", "staged", "audit")),
        *((step, signal.SIGTERM) for step in ("partition", "staged", "audit")),
        ("publish", signal.SIGHUP),
    ],
)
def test_signals_in_every_step(tmp_path, large, step, number):
    interrupted(large, tmp_path / "out", step, number)


@pytest.mark.slow
@pytest.mark.xdist_group("large")
@pytest.mark.parametrize("wait", [1, 12])
def test_ctrl_c_while_groups_are_found_and_improved(tmp_path, large, wait):
    """The default method works for minutes on such a table: in its blocks, and in the kernels that each of them runs."""
    interrupted(large, tmp_path / "out", "partition", signal.SIGINT, method="auto", wait=wait)
