"""The command line: one JSON object, honest exit codes, no half file, no traceback, no one's record in a message."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kohort import datasets
from kohort.cli import commands as cli
from kohort.cli import progress_line as watching
from kohort.encoding import encode as encoding
from kohort.errors import PromiseError
from kohort.tables import tables
from tests.test_job import job_of_flags

RARE = "Xanthippe-4711"
RUN = "anonymize patients.csv -o out.csv"
ROLE_FLAGS = "--quasi age,sex --sensitive disease --identifier name --drop zip"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Kohort = Callable[[str], Ran]


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


# --- the ordinary way


def test_demo_twice(kohort, tmp_path):
    for _ in range(2):
        ran = kohort("demo --folder sample --rows 300")
        assert ran.code == 0
        assert "k = 5" in ran.out
        made = sorted(path.name for path in (tmp_path / "sample").iterdir())
        assert made == ["job.toml", "patients.csv", "release.csv", "trees"]
    assert kohort("audit sample/release.csv --job sample/job.toml").code == 0
    assert kohort("anonymize sample/patients.csv -o r.csv --job sample/job.toml").code == 0


def test_demo_does_not_write_over_what_it_did_not_make(kohort, tmp_path):
    before = (tmp_path / "patients.csv").read_bytes()
    kohort("demo --folder . --rows 200")
    assert (tmp_path / "patients.csv").read_bytes() == before


@pytest.mark.parametrize("folder", ["[bold]x", "a[", "x[/y]"])
def test_demo_in_a_folder_with_an_odd_name(kohort, tmp_path, folder):
    ran = kohort(f"demo --folder {folder} --rows 200")
    assert ran.code == 0
    assert (tmp_path / folder / "release.csv").is_file()
    assert f"{folder}/release.csv" in ran.out


def test_json_is_one_object_with_the_agreed_keys(kohort):
    ran = kohort(f"anonymize patients.csv -o out.parquet {ROLE_FLAGS} --k 4 --seed 7 --json")
    told = json.loads(ran.out, parse_constant=pytest.fail)
    assert ran.out.count("\n") == 1
    keys = "rows classes clusters blocks suppressed k counted_in method told engine seed loss audit seconds cpu_seconds output"
    assert " ".join(told) == keys
    assert " ".join(told["loss"]) == "leaf height total_il prec dm cavg dm_clusters cavg_clusters square_error"
    assert set(told["audit"]) == {"passed", "checks"}
    assert all(set(check) == {"name", "required", "found", "verdict", "meaning"} for check in told["audit"]["checks"])
    assert set(told["seconds"]) == {"read", "encode", "partition", "publish", "audit"}
    assert (told["rows"], told["seed"], told["method"], told["output"]) == (90, 7, "auto", "out.parquet")
    assert told["k"] >= 4
    assert (ran.code, re.sub("kohort: .* s\n|kohort: compiling.*\n", "", ran.err)) == (0, "")


SEARCHES = {
    "": [
        r"Started with (top-down|merge), which lost least of merge, top-down\.",
        "Improved by effort 1: leaf loss .* (fell|stays)",
    ],
    "--k 5": [r"Started with top-down, which suits what is asked\.", "Improved by effort 1: leaf loss"],
    "--k 5 --effort 0": ["Started with top-down"],
    "--effort 2 --objective height --method merge": [r"Improved by effort 2: height loss .* (fell from|stays) 0\.\d+"],
    "--objective class --label sex --method top-down": ["Improved by effort 1: class loss"],
    "--objective square-error": ["Started with mdav", "Improved the square error by effort 1"],
    "--method mondrian": [],
    "--method mondrian --effort 1": ["Improved by effort 1: leaf loss"],
    "--method datafly --suppress 0.3": [],
}


@pytest.mark.parametrize(
    "flags", [pytest.param(flags, marks=pytest.mark.slow if "square" in flags else []) for flags in SEARCHES]
)
def test_what_was_done_is_told(kohort, flags):
    """How groups were found and improved: the same sentences on the terminal and in the JSON object."""
    asked = f"anonymize patients.csv {ROLE_FLAGS} --k 4 --seed 7 {flags}"
    plain, as_json = kohort(f"{asked} -o out.csv"), kohort(f"{asked} -o again.csv --json")
    assert (plain.code, as_json.code) == (0, 0)
    told = json.loads(as_json.out)["told"]
    assert len(told) == len(SEARCHES[flags])
    for sentence, expected in zip(told, SEARCHES[flags], strict=True):
        assert re.match(expected, sentence)
        assert sentence.endswith(".")
        assert f"\n{sentence}\n" in plain.out
    assert ("Started" in plain.out, "Improved" in plain.out) == ("Started" in str(told), "Improved" in str(told))


def test_what_was_asked_of_the_search_is_saved(kohort):
    flags = "--k 4 --seed 7 --effort 2 --objective class --label sex"
    first = kohort(f"{RUN} {ROLE_FLAGS} {flags} --keep-order --save-job job.toml")
    again = kohort("anonymize patients.csv -o again.csv --job job.toml")
    assert (first.code, again.code) == (0, 0)
    assert Path("out.csv").read_bytes() == Path("again.csv").read_bytes()


def test_audit_and_methods(kohort):
    kohort(f"anonymize patients.csv -o out.csv.gz {ROLE_FLAGS} --k 4 --save-job job.json")
    for flags in ("--quasi age,sex --k 4", "--job job.json"):
        ran = kohort(f"audit out.csv.gz {flags} --json")
        assert (ran.code, json.loads(ran.out)["audit"]["passed"]) == (0, True)
    ran = kohort("audit patients.csv --quasi age,sex,zip --k 4 --json")
    assert (ran.code, json.loads(ran.out)["audit"]["passed"], json.loads(ran.out)["k"]) == (1, False, 3)
    assert kohort("audit patients.csv --quasi sex --identifier name --k 4").code == 1
    assert "mondrian" in kohort("methods").out
    assert json.loads(kohort("methods --json").out)["methods"][0]["name"] == "auto"
    assert kohort("--version").out.startswith("kohort 0.")


LISTS = {
    "--quasi a,b": ["a", "b"],
    "--quasi 'a, b'": ["a", "b"],
    "--quasi a --quasi b": ["a", "b"],
    "--quasi a,b --quasi c": ["a,b", "c"],  # repeated: each as it stands
    "--quasi '\"a,b\",c'": ["a,b", "c"],
    "--quasi 'a,\" b\"'": ["a", " b"],
    "--quasi 'a\nb'": ["a\nb"],
    "--quasi '\"a\nb\",c'": ["a\nb", "c"],
    "--quasi a --quasi ''": ["a", ""],
    "--quasi ''": [""],  # pandas writes its index under an empty name
}


@pytest.mark.parametrize("flags", LISTS)
def test_list_flags(monkeypatch, flags):
    assert job_of_flags(monkeypatch, *shlex.split(flags)).names("quasi") == LISTS[flags]


# --- when it goes wrong

WRONG = {
    "unknown": 2,
    f"{RUN} --quasy age": 2,
    f"anonymize patients.csv {ROLE_FLAGS}": 2,
    f"anonymize none.csv -o out.csv {ROLE_FLAGS}": 2,
    f"{RUN} {ROLE_FLAGS} --other agee": 2,
    f"{RUN} --quasi age": 2,
    f"{RUN} {ROLE_FLAGS} --k five": 2,
    f"{RUN} {ROLE_FLAGS} --k 1": 2,
    f"{RUN} {ROLE_FLAGS} --k 91": 1,
    f"{RUN} {ROLE_FLAGS} --method threshold --option threshold=0.0001 --k 4": 1,  # the method itself refuses
    f"{RUN} {ROLE_FLAGS} --effort -1": 2,
    f"{RUN} {ROLE_FLAGS} --effort much": 2,
    f"{RUN} {ROLE_FLAGS} --effort 1 --method datafly": 2,
    f"{RUN} {ROLE_FLAGS} --objective leave": 2,
    f"{RUN} {ROLE_FLAGS} --objective class": 2,
    f"{RUN} {ROLE_FLAGS} --label sex": 2,
    f"{RUN} {ROLE_FLAGS} --objective class --label zip": 2,
    f"{RUN} {ROLE_FLAGS} --objective class --label none": 2,
    f"{RUN} {ROLE_FLAGS} --weight age": 2,
    f"{RUN} {ROLE_FLAGS} --weight age=x": 2,
    f"{RUN} {ROLE_FLAGS} --hierarchy age=none.csv": 2,
    f"{RUN} {ROLE_FLAGS} --hierarchy sex=patients.csv": 2,
    f"{RUN} --quasi zip --type zip=integer --drop name,age,sex,disease": 2,
    f"{RUN} --quasi age,sex --other name --drop zip,disease": 2,
    f"{RUN} --job none.toml": 2,
    f"{RUN} --job patients.csv": 2,
    f"{RUN} {ROLE_FLAGS} --save-job no/job.toml": 2,
    f"{RUN} {ROLE_FLAGS} --save-job patients.csv": 2,  # it would write over the input
    f"{RUN} {ROLE_FLAGS} --save-job out.csv": 2,  # it would write over the release
    f"anonymize patients.csv -o no/out.csv {ROLE_FLAGS}": 2,
    f"anonymize patients.csv -o out.xlsx {ROLE_FLAGS}": 2,
    f"anonymize patients.csv -o patients.csv {ROLE_FLAGS}": 2,
    f"anonymize patients.csv -o ./patients.csv {ROLE_FLAGS} --force": 2,
    f"anonymize patients.csv -o {'x' * 300}.csv {ROLE_FLAGS}": 3,
    "audit patients.csv --quasi agee": 2,
    "audit patients.csv": 2,
    "audit none.csv --quasi age": 2,
    "demo --rows 5": 2,
    "demo --folder patients.csv": 3,
}


@pytest.mark.parametrize("arguments", WRONG, ids=lambda text: text.replace(RUN, "").replace(ROLE_FLAGS, "")[:40].strip())
def test_failures_say_why_and_leave_nothing(kohort, tmp_path, arguments):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ran = kohort(arguments)
    assert (ran.code, ran.out) == (WRONG[arguments], "")
    assert "Error: " in ran.err
    assert not any(word in ran.err for word in (RARE, "Traceback", "Please report"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


CRASHES = [(ValueError(RARE), 3), (MemoryError(RARE), 3), (KeyboardInterrupt(RARE), 130), (PromiseError("no"), 1)]


@pytest.mark.parametrize(("error", "code"), CRASHES)
def test_a_crash_tells_no_cell(kohort, monkeypatch, error, code):
    def crash(*_given, **_settings):
        raise error

    monkeypatch.setattr("kohort.encoding.encode.encode", crash)
    monkeypatch.delenv("KOHORT_DEBUG", raising=False)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (ran.code, ran.out) == (code, "")
    assert not any(word in ran.err for word in (RARE, "Traceback"))


@pytest.mark.parametrize("command", ["audit bad.csv --quasi a", "anonymize bad.csv -o out.csv --quasi a,b"])
def test_a_bad_line_is_named(kohort, tmp_path, command):
    (tmp_path / "bad.csv").write_text(f"a,b\n1,2\n{RARE}\n", encoding="utf-8")
    ran = kohort(command)
    assert (ran.code, RARE in ran.err) == (2, False)
    assert "bad.csv" in ran.err
    assert "line 3" in ran.err


def test_audit_refuses_what_it_cannot_tell_apart(kohort, tmp_path):
    (tmp_path / "twice.csv").write_text("a,a\n1,1\n1,2\n", encoding="utf-8")
    assert kohort("audit twice.csv --quasi a --k 2").code == 2


def test_force_replaces(kohort, tmp_path):
    (tmp_path / "out.csv").write_text("old", encoding="utf-8")
    assert kohort(f"{RUN} {ROLE_FLAGS}").code == 2
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "old"
    assert kohort(f"{RUN} {ROLE_FLAGS} --force").code == 0
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("age,sex,disease\n")


@pytest.mark.slow
def test_a_stopped_audit_is_an_interruption(kohort, monkeypatch):
    """DuckDB turns Ctrl-C into an error of its own."""

    def long(run, *_given, **_settings):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        run("SELECT SUM(range) FROM range(20000000000)")

    monkeypatch.setattr("kohort.auditor.audit", long)
    ran = kohort("audit patients.csv --quasi age")
    assert (ran.code, "report" in ran.err) == (130, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_swallows_still_stops_the_run(kohort, monkeypatch, tmp_path, number):
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
    """Then the release is in place, and the last word must not be that nothing was published."""
    real = Path.replace

    def late(path, target):
        real(path, target)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Path, "replace", late)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (tmp_path / "out.csv").exists() != ("nothing was published" in ran.err)


def test_an_interruption_that_a_library_renames_is_still_one(kohort, monkeypatch, tmp_path):
    """An import that is interrupted may end as an ImportError."""

    def renamed(*_given):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("half imported") from None

    monkeypatch.setattr(encoding, "encode", renamed)
    ran = kohort(f"{RUN} {ROLE_FLAGS}")
    assert (ran.code, "report" in ran.err, (tmp_path / "out.csv").exists()) == (130, False, False)


# --- in a process of its own

SHOW_STEPS = "from kohort.cli import commands, progress_line; progress_line.QUIET_SECONDS = 0; commands.main()"
SMALL_FILES = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); from kohort.cli.commands import main; main()"
)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_a_disk_that_is_full(kohort, tmp_path, suffix):
    kohort("demo --folder sample --rows 3000")
    (tmp_path / "out").mkdir()
    command = ["anonymize", "sample/patients.csv", "-o", f"out/r.{suffix}", "--job", "sample/job.toml"]
    ran = subprocess.run([sys.executable, "-c", SMALL_FILES, *command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, list((tmp_path / "out").iterdir())) == (3, "", [])
    assert "could not be written" in ran.stderr


@pytest.mark.usefixtures("kohort")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_release_that_stands_is_not_denied(tmp_path):
    """The release is in place and only its summary cannot be printed: do not say that nothing was published."""
    command = [sys.executable, "-m", "kohort", *f"{RUN} {ROLE_FLAGS}".split()]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode not in {0, 1}  # 1 would say that the promise was not kept
    assert (tmp_path / "out.csv").exists() != ("nothing was published" in ran.stderr)


def interrupted(source: Path, folder: Path, step: str, number: signal.Signals, method: str = "mondrian", wait: float = 0) -> None:
    """Send a signal to a run once it is in that step; it must end as interrupted and leave nothing."""
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
    return census(tmp_path_factory.mktemp("census"), 2_000_000)


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


# --- progress


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, False), (1.4, True)])
def test_progress_is_shown_only_for_long_work(capsys, seconds, shown):
    with watching.watched(1) as progress, progress.step("partition", total=10):
        progress.slot()[0] = 5
        time.sleep(seconds)
    out, err = capsys.readouterr()
    assert out == ""
    assert bool(re.match(r"kohort: partition 50 %, [0-9]+ rows/s, about [0-9] s left, 1 s\n", err)) == shown
    assert shown or not err
