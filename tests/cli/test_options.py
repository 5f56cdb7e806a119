"""Options that take lists."""

from __future__ import annotations

import shlex

import pytest

from tests.job.flags import job_of_flags

LISTS = {
    "--quasi a,b": ["a", "b"],
    "--quasi 'a, b'": ["a", "b"],
    "--quasi a --quasi b": ["a", "b"],
    "--quasi a,b --quasi c": ["a,b", "c"],  # repeated: each is one name
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
