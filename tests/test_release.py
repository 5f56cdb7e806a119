"""Test the explanation of a release, in Python and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kohort as kh


@pytest.fixture(scope="module")
def sample():
    return kh.datasets.hospital(400)


def test_explanation_matches_the_release(sample):
    release = kh.anonymize(sample.table, sample.job, k=5, seed=7, method="mondrian")
    before = release.labels.copy()
    found = release.explain()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert np.array_equal(release.labels, before)
    assert found["promises"] == {"k": 5}
    assert (found["seed"], found["method"], found["release"]) == (7, "mondrian", None)
    assert [group["rows"] for group in found["groups"]] == np.bincount(before).tolist()
    assert found["cuts"][0]["rows"] == 400
    assert {cut["column"] for cut in found["cuts"]} <= set(release.axes)
    assert release.explain() == found


def test_note_counts_groups_formed_by_improvement(sample):
    found = kh.anonymize(sample.table, sample.job, k=5, seed=7, effort=2).explain()
    explained = {group for leaf in found["leaves"] for group in leaf["groups"]}
    assert f"{len(found['groups']) - len(explained)} of {len(found['groups'])} groups are in no leaf" in found["note"]


def test_explanation_of_method_without_cuts_has_a_note(sample):
    found = kh.anonymize(sample.table, sample.job, k=5, seed=7, method="k-member").explain()
    assert found["cuts"] == []
    assert "no cuts to explain" in found["note"]


def test_explanation_needs_the_memory_engine(sample, tmp_path):
    release = kh.anonymize(sample.table, sample.job, k=5, method="mondrian", engine="disk", output=tmp_path / "out.csv")
    with pytest.raises(kh.RequestError, match="memory engine"):
        release.explain()


ROLES = "--quasi age,sex --drop name,zip --sensitive disease --k 3 --method mondrian"


def test_command_writes_an_explanation(kohort, tmp_path):
    ran = kohort(f"anonymize patients.csv -o out.csv {ROLES} --explain why.json")
    assert (ran.code, "Explanation: why.json" in ran.out, "published values only" in ran.out) == (0, True, True)
    found = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
    assert found["release"].endswith("out.csv")
    assert found["cuts"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--explain why.txt", "writes a .json file"),
        ("--explain why.json --engine disk", "needs the memory engine"),
        ("--explain there.json", "exists"),
        ("--explain job.json --save-job job.json", "Choose another name"),
    ],
)
def test_explanation_that_cannot_be_written_is_rejected_before_the_run(kohort, tmp_path, flags, message):
    (tmp_path / "there.json").write_text("{}", encoding="utf-8")
    ran = kohort(f"anonymize patients.csv -o out.csv {ROLES} {flags}")
    assert (ran.code, message in ran.err, (tmp_path / "out.csv").exists()) == (2, True, False)
