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
def test_a_stopped_run_continues_without_repeating_finished_methods(sample, tmp_path, monkeypatch):
    done: list[tuple[str, int]] = []
    real_entry = comparing._entry

    def counted(table, job, variant, k, *others):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append((variant.name, k))
        return real_entry(table, job, variant, k, *others)

    monkeypatch.setattr(comparing, "_entry", counted)
    settings = {"k": [3, 5], "methods": METHODS, "folder": tmp_path, "seed": 7}
    with pytest.raises(KeyboardInterrupt):
        kohort.compare(sample.table, sample.job, **settings)
    assert not (tmp_path / "comparison.html").exists()
    mark = json.loads((tmp_path / "comparison.jsonl").read_text().splitlines()[0])["mark"]
    with (tmp_path / "comparison.jsonl").open("a") as file:
        file.write(json.dumps({"mark": mark, "entry": {"k": 3}}) + "\n")  # an incomplete entry
        file.write('{"mark": "x", "ent')  # a line that was being written when the run stopped
    before, done[:] = list(done), [("", 0)]
    found = kohort.compare(sample.table, sample.job, **{**settings, "methods": METHODS[:2]})
    assert not set(before) & set(done)
    before, done[:] = [*before, *done], [("", 0)]
    kohort.compare(sample.table, sample.job, **{**settings, "methods": METHODS[:2]})
    assert len(done) == 1  # the incomplete line did not damage the line after it
    monkeypatch.undo()
    whole = kohort.compare(sample.table, sample.job, k=[3, 5], methods=METHODS[:2], seed=7)
    assert [one.loss for one in found.entries] == [one.loss for one in whole.entries]
    assert {path.name for path in tmp_path.iterdir()} == {f"comparison.{end}" for end in ("jsonl", "html", "csv", "json")}


@pytest.mark.slow
def test_results_of_another_table_or_job_are_refused(sample, tmp_path):
    kohort.compare(sample.table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7)
    others: list[tuple[Any, dict[str, Any]]] = [(sample.table.slice(1), {}), (sample.table, {"l": 2})]
    for table, settings in others:
        with pytest.raises(RequestError, match="results for another table, job, workload"):
            kohort.compare(table, sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, **settings)
    kohort.compare(sample.table.slice(1), sample.job, k=5, methods="datafly", folder=tmp_path, seed=7, force=True)


def test_a_stopped_command_says_how_to_continue(sample, tmp_path, monkeypatch):
    source, job = sample.write(tmp_path)

    def stopped(*_arguments, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "_entry", stopped)
    ran = CliRunner().invoke(cli.group, ["compare", str(source), "--job", str(job), "--k", "5", "-o", str(tmp_path / "out")])
    assert ran.exit_code != 0
    assert "Run the same command again" in ran.stderr
