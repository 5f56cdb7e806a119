"""`kohort compare`: it runs every method at every k and writes files."""

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
def test_comparison_has_an_entry_for_every_method_and_k(sample):
    found = kohort.compare(sample.table, sample.job, k=[5, 3], methods=METHODS, seed=7)
    assert [(one.method, one.k) for one in found.entries] == [(method, k) for method in METHODS for k in (3, 5)]
    release = kohort.anonymize(sample.table, sample.job, k=5, method="mondrian", seed=7)
    mondrian = found.entries[1]
    assert mondrian.loss == release.loss.to_dict()
    assert (mondrian.smallest, mondrian.classes) == (release.evidence.k, release.evidence.classes)
    assert mondrian.queries is not None
    assert mondrian.queries["queries"] == comparing.RANDOM_QUERIES
    assert found.advice is not None
    assert found.advice.method == "mondrian"
    assert found.table().num_rows == 6


@pytest.mark.slow
def test_a_k_that_cannot_be_kept_is_an_entry_with_the_error_message(sample, tmp_path):
    found = kohort.compare(sample.table, sample.job, k=[5, 700], methods=["mondrian"], folder=tmp_path, seed=7)
    kept, refused = found.entries
    assert kept.refused is None
    assert "k=700 cannot be kept" in str(refused.refused)
    assert found.advice is not None
    assert found.advice.reasons[-1] == "No method could keep the promises at k = 700."
    none = kohort.compare(sample.table, sample.job, k=700, methods=["mondrian"], seed=7)
    assert none.advice is None
    assert "No method could keep" in none.html()


def test_a_column_that_cannot_be_read_stops_the_comparison_at_once():
    table = pa.table({"age": ["31", "x", "47", "52"], "s": list("aabb")})
    with pytest.raises(RequestError, match="Column 'age'"):
        kohort.compare(table, quasi="age", sensitive="s", type={"age": "integer"}, k=2, methods=["mondrian"])


def test_the_command_fails_if_no_method_can_keep_the_promises(sample, tmp_path):
    source, job = sample.write(tmp_path)
    arguments = ["compare", str(source), "--job", str(job), "--k", "700", "--methods", "mondrian", "-o", str(tmp_path / "out")]
    ran = CliRunner().invoke(cli.group, arguments)
    assert isinstance(ran.exception, PromiseError)
    assert "k=700 cannot be kept" in str(ran.exception)


@pytest.mark.parametrize("k", ["5,11", 5.5, [], [None], [True], [5, "6"], 0, [5, 10**20]])
def test_invalid_k_is_an_error(sample, k):
    with pytest.raises(RequestError, match=r"\bk\b"):
        kohort.compare(sample.table, sample.job, k=k, methods=["mondrian"])


@pytest.mark.slow
def test_the_command_writes_page_json_and_csv_with_the_same_figures(sample, tmp_path):
    source, job = sample.write(tmp_path)
    out = str(tmp_path / "out")
    arguments = ["compare", str(source), "--job", str(job), "--k", "5,3", "--methods", "auto,mondrian", "-o", out]
    ran = CliRunner().invoke(cli.group, arguments)
    assert ran.exit_code == 0, ran.output
    assert "Use the method auto." in ran.output
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert page.count("<svg") == 7
    assert not re.search(r'(src|href)="http', page)  # the page loads no other file
    written = json.loads((tmp_path / "out" / "comparison.json").read_text())
    with (tmp_path / "out" / "comparison.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [float(line["leaf"]) for line in lines] == [one["loss"]["leaf"] for one in written["entries"]]
    again = CliRunner().invoke(cli.group, [*arguments, "--json"])
    assert json.loads(again.stdout)["entries"] == written["entries"]


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--k", "five", "whole numbers"),
        ("--k", "5,0", "k must be"),
        ("--methods", "mondrain", "Did you mean 'mondrian'"),
        ("--models", "diagnoses", "Did you mean 'diagnosis'"),
        ("--models", "age", "published unchanged"),
    ],
)
def test_wrong_flags_give_a_message(sample, tmp_path, flag, value, message):
    source, job = sample.write(tmp_path)
    flags = {"--job": str(job), "--k": "5", "-o": str(tmp_path / "out"), flag: value}
    ran = CliRunner().invoke(cli.group, ["compare", str(source), *(part for pair in flags.items() for part in pair)])
    assert isinstance(ran.exception, RequestError)
    assert message in str(ran.exception)


def test_files_contain_no_sensitive_value(sample, tmp_path):
    """The files have column names and figures. The only values are ticks on the chart of two columns."""
    kohort.compare(sample.table, sample.job, k=5, methods=["mondrian"], folder=tmp_path, seed=7)
    secrets = {str(value) for name in sample.job.names("sensitive") for value in sample.table.column(name).unique().to_pylist()}
    for file in tmp_path.iterdir():
        text = file.read_text()
        assert not [value for value in secrets if value.isalpha() and len(value) > 3 and value in text], file.name


@pytest.mark.slow
def test_models_add_figures_and_charts(sample):
    pytest.importorskip("sklearn")
    target = sample.job.names("sensitive")[0]
    found = kohort.compare(sample.table, Job.build(sample.job), k=5, methods=["mondrian"], models=target, seed=7)
    row, page = found.entries[0].row(), found.html()
    assert 0 < row["forest_accuracy"] < 1
    assert -1 <= row["clusterings_agree"] <= 1
    assert 0 <= row["pmse"] <= 0.25
    assert page.count("<svg") == 10
    assert "clusters agree" in page
