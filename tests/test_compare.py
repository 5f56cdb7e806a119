"""Compare: every method at every k, a run that goes on where it was stopped, files that tell figures and nothing else."""

from __future__ import annotations

import csv
import json
import re
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import kohort
from kohort import comparison as comparing
from kohort import datasets
from kohort.cli import commands as cli
from kohort.comparison.class_rectangles import two_columns
from kohort.errors import PromiseError, RequestError
from kohort.job.job import Job
from kohort.report.comparison_charts import front, shown_in_colour
from kohort.report.comparison_page import advise
from kohort.report.comparison_rows import Entry

METHODS = ["mondrian", "mondrian-1d", "datafly"]


@pytest.fixture(scope="module")
def sample():
    return datasets.hospital(600)


def entry(method: str, k: int, leaf: float, seconds: float = 1.0, error: float = 0.1) -> Entry:
    loss = {"leaf": leaf, "cavg": 1.0, "square_error": 1.0, "total_il": 1.0, "dm": 1.0}
    return Entry(method, k, loss=loss, seconds=seconds, queries={"error": error, "median": error, "p95": error})


def test_every_method_at_every_k(sample):
    found = kohort.compare(sample.table, sample.job, k=[5, 3], methods=METHODS, seed=7)
    assert [(one.method, one.k) for one in found.entries] == [(method, k) for method in METHODS for k in (3, 5)]
    alone = kohort.anonymize(sample.table, sample.job, k=5, method="mondrian", seed=7)
    mondrian = found.entries[1]
    assert mondrian.loss == alone.loss.to_dict()
    assert (mondrian.smallest, mondrian.classes) == (alone.evidence.k, alone.evidence.classes)
    assert mondrian.queries is not None
    assert mondrian.queries["queries"] == comparing.RANDOM_QUERIES
    assert found.advice is not None
    assert found.advice.method == "mondrian"
    assert found.table().num_rows == 6


def test_a_run_that_was_stopped_goes_on(sample, tmp_path, monkeypatch):
    done: list[tuple[str, int]] = []
    usual = comparing._entry

    def counted(table, job, variant, k, *others):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append((variant.name, k))
        return usual(table, job, variant, k, *others)

    monkeypatch.setattr(comparing, "_entry", counted)
    asked = {"k": [3, 5], "methods": METHODS, "folder": tmp_path, "seed": 7}
    with pytest.raises(KeyboardInterrupt):
        kohort.compare(sample.table, sample.job, **asked)
    assert not (tmp_path / "comparison.html").exists()
    mark = json.loads((tmp_path / "comparison.jsonl").read_text().splitlines()[0])["mark"]
    with (tmp_path / "comparison.jsonl").open("a") as file:
        file.write(json.dumps({"mark": mark, "entry": {"k": 3}}) + "\n")  # half an entry
        file.write('{"mark": "x", "ent')  # as a line is left that was being written
    before, done[:] = list(done), [("", 0)]
    found = kohort.compare(sample.table, sample.job, **{**asked, "methods": METHODS[:2]})
    assert not set(before) & set(done)
    before, done[:] = [*before, *done], [("", 0)]
    kohort.compare(sample.table, sample.job, **{**asked, "methods": METHODS[:2]})
    assert len(done) == 1  # nothing was lost to the line that was cut off
    monkeypatch.undo()
    whole = kohort.compare(sample.table, sample.job, k=[3, 5], methods=METHODS[:2], seed=7)
    assert [one.loss for one in found.entries] == [one.loss for one in whole.entries]
    assert {path.name for path in tmp_path.iterdir()} == {f"comparison.{end}" for end in ("jsonl", "html", "csv", "json")}


@pytest.mark.slow
def test_a_method_with_settings_is_one_of_its_own(sample):
    names = ["gccg", "gccg:parts=2", "mondrian:relaxed=true", "mondrian:effort=1"]
    found = {one.method: one for one in kohort.compare(sample.table, sample.job, k=4, methods=names, seed=7).entries}
    assert list(found) == names
    asked: dict[str, dict[str, Any]] = {"gccg": {}, "gccg:parts=2": {"option": {"parts": 2}}, "mondrian:effort=1": {"effort": 1}}
    for name, settings in asked.items():
        alone = kohort.anonymize(sample.table, sample.job, k=4, method=name.split(":")[0], seed=7, **settings)
        assert found[name].loss == alone.loss.to_dict()


def test_what_a_job_says_of_its_method_is_for_that_method(sample):
    job = Job.build(sample.job, method="gccg", option={"parts": 2}, effort=1)
    gccg, mondrian = kohort.compare(sample.table, job, k=4, methods=["gccg", "mondrian"], seed=7).entries
    assert gccg.loss == kohort.anonymize(sample.table, job, k=4, seed=7).loss.to_dict()
    assert mondrian.loss == kohort.anonymize(sample.table, sample.job, method="mondrian", k=4, seed=7).loss.to_dict()


@pytest.mark.parametrize(
    ("name", "told"),
    [("gccg:prats=2", "prats"), ("gccg:parts=many", "parts"), ("gccg:parts", "gccg:parts=4"), ("datafly:effort=1", "effort")],
)
def test_settings_that_are_wrong_stop_a_comparison_before_it_begins(sample, name, told):
    with pytest.raises(RequestError, match=told):
        kohort.compare(sample.table, sample.job, k=4, methods=["mondrian", name])


@pytest.mark.slow
def test_another_table_or_job_is_not_mixed_in(sample, tmp_path):
    kohort.compare(sample.table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7)
    others: list[tuple[Any, dict[str, Any]]] = [(sample.table.slice(1), {}), (sample.table, {"l": 2})]
    for table, settings in others:
        with pytest.raises(RequestError, match="another table, job, workload"):
            kohort.compare(table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, **settings)
    kohort.compare(sample.table.slice(1), sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, force=True)


def test_what_cannot_be_kept_is_told_beside_the_others(sample, tmp_path):
    found = kohort.compare(sample.table, sample.job, k=[5, 700], methods=["mondrian"], folder=tmp_path, seed=7)
    kept, refused = found.entries
    assert kept.refused is None
    assert "k=700 cannot be kept" in str(refused.refused)
    assert found.advice is not None
    assert found.advice.reasons[-1] == "No method could keep what is promised at k=700."
    none = kohort.compare(sample.table, sample.job, k=700, methods=["mondrian"], seed=7)
    assert none.advice is None
    assert "No method could keep" in none.html()


def test_a_table_that_no_method_can_read_is_refused_at_once():
    table = pa.table({"age": ["31", "x", "47", "52"], "s": list("aabb")})
    with pytest.raises(RequestError, match="Column 'age'"):
        kohort.compare(table, quasi="age", sensitive="s", type={"age": "integer"}, k=2, methods=["mondrian"])


def test_where_no_method_can_keep_what_is_promised_the_command_fails(sample, tmp_path):
    source, job = sample.write(tmp_path)
    asked = ["compare", str(source), "--job", str(job), "--k", "700", "--methods", "mondrian", "-o", str(tmp_path / "out")]
    ran = CliRunner().invoke(cli.group, asked)
    assert isinstance(ran.exception, PromiseError)
    assert "k=700 cannot be kept" in str(ran.exception)


@pytest.mark.parametrize("k", ["5,11", 5.5, [], [None], [True], [5, "6"], 0, [5, 10**20]])
def test_a_k_that_is_none(sample, k):
    with pytest.raises(RequestError, match=r"\bk\b"):
        kohort.compare(sample.table, sample.job, k=k, methods=["mondrian"])


def test_the_command_and_its_files(sample, tmp_path):
    source, job = sample.write(tmp_path)
    asked = ["compare", str(source), "--job", str(job), "--k", "5,3", "--methods", "auto,mondrian", "-o", str(tmp_path / "out")]
    ran = CliRunner().invoke(cli.group, asked)
    assert ran.exit_code == 0, ran.output
    assert "Take auto." in ran.output
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert page.count("<svg") == 7
    assert not re.search(r'(src|href)="http', page)  # it needs nothing else
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())
    with (tmp_path / "out" / "comparison.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [float(line["leaf"]) for line in lines] == [one["loss"]["leaf"] for one in told["entries"]]
    again = CliRunner().invoke(cli.group, [*asked, "--json"])
    assert json.loads(again.stdout)["entries"] == told["entries"]


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--k", "five", "whole numbers"),
        ("--k", "5,0", "k must be"),
        ("--methods", "mondrain", "Did you mean 'mondrian'"),
        ("--models", "diagnoses", "Did you mean 'diagnosis'"),
        ("--models", "age", "publishes as it is"),
    ],
)
def test_mistakes_of_the_command(sample, tmp_path, flag, value, told):
    source, job = sample.write(tmp_path)
    asked = {"--job": str(job), "--k": "5", "-o": str(tmp_path / "out"), flag: value}
    ran = CliRunner().invoke(cli.group, ["compare", str(source), *(part for pair in asked.items() for part in pair)])
    assert isinstance(ran.exception, RequestError)
    assert told in str(ran.exception)


def test_a_stopped_command_says_how_to_go_on(sample, tmp_path, monkeypatch):
    source, job = sample.write(tmp_path)

    def stopped(*_given, **_asked):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "_entry", stopped)
    ran = CliRunner().invoke(cli.group, ["compare", str(source), "--job", str(job), "--k", "5", "-o", str(tmp_path / "out")])
    assert ran.exit_code != 0
    assert "the same command goes on" in ran.stderr


def test_files_show_no_record(sample, tmp_path):
    """Names of columns and figures; of the values only ends of classes, on the picture of two columns."""
    kohort.compare(sample.table, sample.job, k=5, methods=["mondrian"], folder=tmp_path, seed=7)
    secrets = {str(value) for name in sample.job.names("sensitive") for value in sample.table.column(name).unique().to_pylist()}
    for file in tmp_path.iterdir():
        text = file.read_text()
        assert not [value for value in secrets if value.isalpha() and len(value) > 3 and value in text], file.name


def test_ticks_stand_at_values_that_k_records_hold():
    table = pa.table({"age": [20] * 6 + [31] * 6 + [47] * 2 + [98], "pay": [1] * 5 + [2] * 5 + [3] * 5})
    picture, _told = two_columns(table, Job.build(quasi=["age", "pay"], k=5, seed=7), 5)
    shown = set(re.findall(r"<!-- (\w+) -->", picture))
    assert {"20", "31", "1", "3"} <= shown
    assert not shown & {"47", "98"}


# --- advice and charts


def test_advice_is_the_least_loss_and_what_haste_costs():
    advice = advise([entry("slow", 5, 0.1, 9.0), entry("quick", 5, 0.2, 0.1), entry("bad", 5, 0.9, 0.01)])
    assert advice is not None
    assert advice.method == "slow"
    assert any("quick took 0.10 CPU seconds" in reason and "2.0 times as much" in reason for reason in advice.reasons)
    near = advise([entry("one", 5, 0.1, error=0.3), entry("other", 5, 0.103, error=0.2)])
    assert near is not None
    assert near.method == "other"
    assert advise([Entry("one", 5, refused="no")]) is None
    usual = advise([entry("auto", 5, 0.104), entry("merge", 5, 0.1, 0.5)])
    assert usual is not None
    assert usual.method == "auto"  # nearly as good
    partly = advise([entry("one", 5, 0.1), Entry("one", 9, refused="no"), entry("two", 5, 0.2), entry("two", 9, 0.2)])
    assert partly is not None
    assert partly.method == "two"


def test_the_front_is_what_nobody_beats_in_both():
    entries = [entry("a", 5, 0.5, 1), entry("b", 5, 0.3, 2), entry("c", 5, 0.4, 3), entry("d", 5, 0.1, 9)]
    assert [one.method for one in front(entries)] == ["a", "b", "d"]
    assert shown_in_colour(entries, "c")[0] == "c"


@pytest.mark.slow
def test_models_beside_the_figures(sample):
    pytest.importorskip("sklearn")
    target = sample.job.names("sensitive")[0]
    found = kohort.compare(sample.table, Job.build(sample.job), k=5, methods=["mondrian"], models=target, seed=7)
    row, page = found.entries[0].row(), found.html()
    assert 0 < row["forest_accuracy"] < 1
    assert -1 <= row["clusterings_agree"] <= 1
    assert 0 <= row["pmse"] <= 0.25
    assert page.count("<svg") == 10
    assert "clusters agree" in page
