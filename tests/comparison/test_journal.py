"""A comparison that was interrupted continues where it stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import kohort
from kohort.cli import commands as cli
from kohort.comparison import comparison as comparing
from kohort.errors import RequestError

METHODS = ["mondrian", "mondrian-1d", "datafly"]


@pytest.mark.slow
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
def test_another_table_or_job_is_not_mixed_in(sample, tmp_path):
    kohort.compare(sample.table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7)
    others: list[tuple[Any, dict[str, Any]]] = [(sample.table.slice(1), {}), (sample.table, {"l": 2})]
    for table, settings in others:
        with pytest.raises(RequestError, match="another table, job, workload"):
            kohort.compare(table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, **settings)
    kohort.compare(sample.table.slice(1), sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, force=True)


def test_a_stopped_command_says_how_to_go_on(sample, tmp_path, monkeypatch):
    source, job = sample.write(tmp_path)

    def stopped(*_given, **_asked):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "_entry", stopped)
    ran = CliRunner().invoke(cli.group, ["compare", str(source), "--job", str(job), "--k", "5", "-o", str(tmp_path / "out")])
    assert ran.exit_code != 0
    assert "the same command goes on" in ran.stderr
