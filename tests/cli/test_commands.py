"""The command line: outputs, exit codes and messages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command_line import RARE, ROLE_FLAGS, RUN


def test_json_is_one_object_with_the_agreed_keys(kohort):
    ran = kohort(f"anonymize patients.csv -o out.parquet {ROLE_FLAGS} --k 4 --seed 7 --json")
    summary = json.loads(ran.out, parse_constant=pytest.fail)
    assert ran.out.count("\n") == 1
    keys = "rows classes clusters blocks suppressed k counted_in method told engine seed loss audit seconds cpu_seconds output"
    assert " ".join(summary) == keys
    assert " ".join(summary["loss"]) == "leaf height total_il prec dm cavg dm_clusters cavg_clusters square_error"
    assert set(summary["audit"]) == {"passed", "checks"}
    assert all(set(check) == {"name", "required", "found", "verdict", "meaning"} for check in summary["audit"]["checks"])
    assert set(summary["seconds"]) == {"read", "encode", "partition", "publish", "audit"}
    assert (summary["rows"], summary["seed"], summary["method"], summary["output"]) == (90, 7, "auto", "out.parquet")
    assert summary["k"] >= 4
    assert (ran.code, re.sub("kohort: .* s\n|kohort: compiling.*\n", "", ran.err)) == (0, "")


LOWERED = r"Improvement (lowered the {0} from \d+\.\d+ % to|found nothing better in {1}\. The {0} stays at) \d+\.\d+ %"
SEARCHES = {
    "": [
        r"Method: (top-down|merge), chosen by `auto` because it loses least\. Compared: merge, top-down\.",
        LOWERED.format("detail lost", "1 round"),
    ],
    "--k 5": [
        r"Method: top-down, chosen by `auto` because k is 5 and no other promise was made\.",
        LOWERED.format("detail lost", "1 round"),
    ],
    "--k 5 --effort 0": ["Method: top-down"],
    "--effort 2 --objective height --method merge": [LOWERED.format("height loss", "2 rounds")],
    "--objective class --label sex --method top-down": [LOWERED.format("class loss", "1 round")],
    "--objective square-error": ["Method: mdav", r"Improvement ran 1 round to lower the square error\."],
    "--method mondrian": [],
    "--method mondrian --effort 1": [LOWERED.format("detail lost", "1 round")],
    "--method datafly --suppress 0.3": [],
}


@pytest.mark.parametrize(
    "flags", [pytest.param(flags, marks=pytest.mark.slow if "square" in flags else []) for flags in SEARCHES]
)
def test_notes_are_the_same_in_text_and_json(kohort, flags):
    """The sentences on how groups were formed and improved."""
    command = f"anonymize patients.csv {ROLE_FLAGS} --k 4 --seed 7 {flags}"
    plain, as_json = kohort(f"{command} -o out.csv"), kohort(f"{command} -o again.csv --json")
    assert (plain.code, as_json.code) == (0, 0)
    notes = json.loads(as_json.out)["told"]
    assert len(notes) == len(SEARCHES[flags])
    for sentence, expected in zip(notes, SEARCHES[flags], strict=True):
        assert re.match(expected, sentence)
        assert sentence.endswith(".")
        assert f"\n  {sentence}\n" in plain.out
    for start in ("Method: ", "Improvement "):
        assert (start in plain.out) == (start in str(notes))


def test_saved_job_has_the_settings_of_the_search(kohort):
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


# --- failures

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
def test_failed_runs_have_a_message_and_leave_no_file(kohort, tmp_path, arguments):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ran = kohort(arguments)
    assert (ran.code, ran.out) == (WRONG[arguments], "")
    assert "Error: " in ran.err
    assert not any(word in ran.err for word in (RARE, "Traceback", "Please report"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", ["audit bad.csv --quasi a", "anonymize bad.csv -o out.csv --quasi a,b"])
def test_message_names_the_bad_line(kohort, tmp_path, command):
    (tmp_path / "bad.csv").write_text(f"a,b\n1,2\n{RARE}\n", encoding="utf-8")
    ran = kohort(command)
    assert (ran.code, RARE in ran.err) == (2, False)
    assert "bad.csv" in ran.err
    assert "line 3" in ran.err


def test_audit_rejects_columns_with_the_same_name(kohort, tmp_path):
    (tmp_path / "twice.csv").write_text("a,a\n1,1\n1,2\n", encoding="utf-8")
    assert kohort("audit twice.csv --quasi a --k 2").code == 2


def test_force_replaces(kohort, tmp_path):
    (tmp_path / "out.csv").write_text("old", encoding="utf-8")
    assert kohort(f"{RUN} {ROLE_FLAGS}").code == 2
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "old"
    assert kohort(f"{RUN} {ROLE_FLAGS} --force").code == 0
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("age,sex,disease\n")


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--l 2 --alpha 0.8",
        "--statistic age=both",
        "--unit name --save-job saved.toml",
        "--preset public --k 11 --save-job saved.toml",
    ],
    ids=["k", "promises", "mean", "people", "grid"],
)
def test_the_next_command_audits_the_release(kohort, flags):
    ran = kohort(f"{RUN} {ROLE_FLAGS.replace('--identifier name', '') if 'unit' in flags else ROLE_FLAGS} --k 4 {flags}")
    command = re.search(r"with: kohort (audit .*)", ran.out)
    assert command is not None, ran.out + ran.err
    assert kohort(command[1]).code == 0
