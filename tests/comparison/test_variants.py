"""Methods with settings of their own in a comparison."""

from __future__ import annotations

from typing import Any

import pytest

import kohort
from kohort.errors import RequestError
from kohort.job.job import Job


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
