"""`kohort compare`: every method at every k, and the files it writes."""

from __future__ import annotations

import csv
import json
import re

import pyarrow as pa
import pytest
from click.testing import CliRunner

import kohort
from kohort.cli import commands as cli
from kohort.comparison import comparison as comparing
from kohort.errors import PromiseError, RequestError
from kohort.job.job import Job

METHODS = ["mondrian", "mondrian-1d", "datafly"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_cannot_be_kept_is_told_beside_the_others(sample, tmp_path):
    found = kohort.compare(sample.table, sample.job, k=[5, 700], methods=["mondrian"], folder=tmp_path, seed=7)
    kept, refused = found.entries
    assert kept.refused is None
    assert "k=700 cannot be kept" in str(refused.refused)
    assert found.advice is not None
    assert found.advice.reasons[-1] == "No method could keep the promises at k = 700."
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


@pytest.mark.slow
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


def test_files_show_no_record(sample, tmp_path):
    """Names of columns and figures; of the values only ends of classes, on the picture of two columns."""
    kohort.compare(sample.table, sample.job, k=5, methods=["mondrian"], folder=tmp_path, seed=7)
    secrets = {str(value) for name in sample.job.names("sensitive") for value in sample.table.column(name).unique().to_pylist()}
    for file in tmp_path.iterdir():
        text = file.read_text()
        assert not [value for value in secrets if value.isalpha() and len(value) > 3 and value in text], file.name


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
