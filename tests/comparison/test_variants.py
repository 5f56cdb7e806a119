"""Methods with their own settings in a comparison."""

from __future__ import annotations

from typing import Any

import pytest

import kohort
from kohort.errors import RequestError
from kohort.job.job import Job


@pytest.mark.slow
def test_each_variant_of_a_method_has_its_own_entry(sample):
    names = ["gccg", "gccg:parts=2", "mondrian:relaxed=true", "mondrian:effort=1"]
    found = {one.method: one for one in kohort.compare(sample.table, sample.job, k=4, methods=names, seed=7).entries}
    assert list(found) == names
    variants: dict[str, dict[str, Any]] = {
        "gccg": {},
        "gccg:parts=2": {"option": {"parts": 2}},
        "mondrian:effort=1": {"effort": 1},
    }
    for name, settings in variants.items():
        release = kohort.anonymize(sample.table, sample.job, k=4, method=name.split(":")[0], seed=7, **settings)
        assert found[name].loss == release.loss.to_dict()


def test_options_of_the_job_apply_only_to_the_method_of_the_job(sample):
    job = Job.build(sample.job, method="gccg", option={"parts": 2}, effort=1)
    gccg, mondrian = kohort.compare(sample.table, job, k=4, methods=["gccg", "mondrian"], seed=7).entries
    assert gccg.loss == kohort.anonymize(sample.table, job, k=4, seed=7).loss.to_dict()
    assert mondrian.loss == kohort.anonymize(sample.table, sample.job, method="mondrian", k=4, seed=7).loss.to_dict()


@pytest.mark.parametrize(
    ("name", "message"),
    [("gccg:prats=2", "prats"), ("gccg:parts=many", "parts"), ("gccg:parts", "gccg:parts=4"), ("datafly:effort=1", "effort")],
)
def test_wrong_settings_stop_a_comparison_before_it_starts(sample, name, message):
    with pytest.raises(RequestError, match=message):
        kohort.compare(sample.table, sample.job, k=4, methods=["mondrian", name])
