"""Settings: keyword, file and flag mean the same, and each changes the release."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from kohort.job.job import Job
from kohort.schema.columns import Column
from tests.job.flags import job_of_flags

# --- keyword = file = flag

SAME: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "k": ({"k": 7}, "[promise]\nk = 7", ["--k", "7"]),
    "method": ({"method": "merge"}, 'method = "merge"', ["--method", "merge"]),
    "option": (
        {"method": "mondrian", "option": {"relaxed": True}},
        'method = "mondrian"\n[option]\nrelaxed = true',
        ["--method", "mondrian", "--option", "relaxed=true"],
    ),
    "effort": ({"effort": 3}, "effort = 3", ["--effort", "3"]),
    "no effort": ({"effort": 0}, "effort = 0", ["--effort", "0"]),
    "objective": ({"objective": "height"}, 'objective = "height"', ["--objective", "height"]),
    "workload": ({"workload": "/queries.toml"}, 'workload = "/queries.toml"', ["--workload", "/queries.toml"]),
    "label": (
        {"objective": "class", "label": "o"},
        'objective = "class"\nlabel = "o"',
        ["--objective", "class", "--label", "o"],
    ),
    "seed": ({"seed": 7}, "seed = 7", ["--seed", "7"]),
    "missing": ({"missing": ["?", "NA"]}, 'missing = ["?", "NA"]', ["--missing", "?", "--missing", "NA"]),
    "one missing": ({"missing": "?"}, 'missing = "?"', ["--missing", "?"]),
    "hierarchies": ({"hierarchies": "/trees"}, 'hierarchies = "/trees"', ["--hierarchies", "/trees"]),
    "keep order": ({"keep_order": True}, "keep_order = true", ["--keep-order"]),
    "row order": ({"row_order": "given"}, 'row_order = "given"', ["--row-order", "given"]),
    "engine": ({"engine": "memory"}, 'engine = "memory"', ["--engine", "memory"]),
    "memory": ({"memory": "4GiB"}, 'memory = "4GiB"', ["--memory", "4GiB"]),
    "master": ({"master": "local[4]"}, 'master = "local[4]"', ["--master", "local[4]"]),
    "threads": ({"threads": 2}, "threads = 2", ["--threads", "2"]),
    "type": ({"type": {"a": "text"}}, '[columns.a]\ntype = "text"', ["--type", "a=text"]),
    "weight": ({"weight": {"a": 2.5}}, "[columns.a]\nweight = 2.5", ["--weight", "a=2.5"]),
    "encoding": ({"encoding": "latin-1"}, 'encoding = "latin-1"', ["--encoding", "latin-1"]),
    "format": ({"format": {"a": "DD.MM.YYYY"}}, '[columns.a]\nformat = "DD.MM.YYYY"', ["--format", "a=DD.MM.YYYY"]),
    "statistic": ({"statistic": {"a": "both"}}, '[columns.a]\nstatistic = "both"', ["--statistic", "a=both"]),
    "hierarchy": ({"hierarchy": {"a": "/t.csv"}}, '[columns.a]\nhierarchy = "/t.csv"', ["--hierarchy", "a=/t.csv"]),
    "allow": ({"allow": "o"}, "[columns.o]\nallow = true", ["--allow", "o"]),
    "preset": ({"preset": "public"}, 'preset = "public"', ["--preset", "public"]),
    "block": ({"block": 500}, "block = 500", ["--block", "500"]),
    "ranges": ({"ranges": "grid"}, 'ranges = "grid"', ["--ranges", "grid"]),
    "step": (
        {"ranges": "grid", "step": {"a": 2}},
        'ranges = "grid"\n[columns.a]\nstep = 2',
        ["--ranges", "grid", "--step", "a=2"],
    ),
    "suppress": ({"suppress": 0.02}, "suppress = 0.02", ["--suppress", "0.02"]),
    "suppressed": ({"suppressed": "star"}, 'suppressed = "star"', ["--suppressed", "star"]),
    "alpha": ({"alpha": 0.5}, "[promise]\nalpha = 0.5", ["--alpha", "0.5"]),
    "alphas": (
        {"alpha": {"default": 0.5, "x=y": 0.2}},
        '[promise.alpha]\ndefault = 0.5\n"x=y" = 0.2',
        ["--alpha", "0.5", "--alpha", "x=y=0.2"],
    ),
    "l": ({"l": 3}, "[promise]\nl = 3", ["--l", "3"]),
    "entropy": ({"entropy_l": 2.5}, "[promise]\nentropy_l = 2.5", ["--entropy-l", "2.5"]),
    "recursive": ({"recursive_l": (3, 2)}, "[promise]\nrecursive_l = [3, 2]", ["--recursive-l", "3,2"]),
    "t": (
        {"t": 0.2, "t_distance": "ordered"},
        '[promise]\nt = 0.2\nt_distance = "ordered"',
        ["--t", "0.2", "--t-distance", "ordered"],
    ),
    "beta": (
        {"beta": 2, "beta_kind": "basic"},
        '[promise]\nbeta = 2\nbeta_kind = "basic"',
        ["--beta", "2", "--beta-kind", "basic"],
    ),
    "delta": ({"delta": 1.5}, "[promise]\ndelta = 1.5", ["--delta", "1.5"]),
}
ROLE_FLAGS = ["--quasi", "a", "--other", "o", "--sensitive", "s", "--identifier", "i", "--unit", "u", "--drop", "d"]


@pytest.mark.parametrize("name", SAME)
def test_keyword_file_and_flag_mean_the_same(monkeypatch, name):
    given, text, flags = SAME[name]
    roles = {"quasi": "a", "other": "o", "sensitive": "s", "identifier": "i", "unit": "u", "drop": "d"}
    by_keyword = Job.build(**roles, **given)
    assert job_of_flags(monkeypatch, *ROLE_FLAGS, *flags) == by_keyword
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.toml").write_text(text, encoding="utf-8")
        assert Job.build(Path(folder) / "job.toml", **roles) == by_keyword


# --- each setting changes something

MONDRIAN: dict[str, Any] = {"method": "mondrian"}
RELAXED: dict[str, Any] = {**MONDRIAN, "option": {"relaxed": True}}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "k": ({"k": 3}, {"k": 9}),
    "method": ({}, {"method": "mondrian"}),
    "option": (MONDRIAN, RELAXED),
    "effort": ({"effort": 0}, {"effort": 3}),
    "objective": ({}, {"objective": "class", "label": "a"}),
    "label": ({"objective": "class", "label": "a"}, {"objective": "class", "label": "b"}),
    "workload": (MONDRIAN, {**MONDRIAN, "workload": {"query": [{"where": [["a", ">=", 9]]}]}}),
    "seed": ({**RELAXED, "seed": 1}, {**RELAXED, "seed": 2}),
    "row_order": (RELAXED, {**RELAXED, "row_order": "given"}),
    "missing": ({}, {"missing": "x3"}),
    "hierarchies": ({"k": 20}, {"k": 20, "hierarchies": "."}),
    "hierarchy": ({"k": 20}, {"k": 20, "hierarchy": {"b": [(f"x{n}", "low" if n < 4 else "high", "*") for n in range(7)]}}),
    "type": ({}, {"type": {"a": "text"}}),
    "weight": ({"weight": {"a": 0.1}}, {"weight": {"a": 10}}),
    "statistic": ({}, {"statistic": {"a": "mean"}}),
    "preset": ({}, {"preset": "public"} | {"k": 11}),
    "block": ({"method": "gccg"}, {"method": "gccg", "block": 30}),
    "suppress": ({}, {"suppress": 0.2}),
    "alpha": ({}, {"alpha": 0.3}),
    "l": ({}, {"l": 4}),
    "entropy_l": ({}, {"entropy_l": 3.5}),
    "recursive_l": ({}, {"recursive_l": (3, 1)}),
    "t": ({}, {"t": 0.2}),
    "t_distance": ({"t": 0.2}, {"t": 0.2, "t_distance": "ordered"}),
    "beta": ({}, {"beta": 0.5}),
    "beta_kind": ({"beta": 2, "k": 2}, {"beta": 2, "k": 2, "beta_kind": "basic"}),
    "delta": ({}, {"delta": 0.7}),
    "ranges": ({}, {"ranges": "grid"}),
    "step": ({"ranges": "grid"}, {"ranges": "grid", "step": {"a": 2}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_each_setting_changes_the_release(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("b.csv").write_text("".join(f"x{n};{n % 2};*\n" for n in range(7)), encoding="utf-8")
    rows = range(90)
    ages = [99 if n == 50 else n * n % 11 for n in rows]  # one far from all others
    table = pa.table({"a": ages, "b": [f"x{n * 5 % 7}" for n in rows], "s": [n % 4 for n in rows]})
    one, two = (
        Counter(
            map(str, kh.anonymize(table, **{"quasi": ["a", "b"], "sensitive": "s", "k": 4, "seed": 7, **given}).table.to_pylist())
        )
        for given in CHANGES[name]
    )
    assert one != two


def test_every_setting_is_tried_above():
    compared = {key for given, _text, _flags in SAME.values() for key in given}
    assert compared | {"version", "promise", "columns", "role"} >= {*Job.model_fields, *Column.model_fields}
    elsewhere = {
        "engine",
        "memory",
        "master",
        "threads",
        "keep_order",
        "allow",
        "format",
        "encoding",
        "suppressed",
    }  # other tests
    assert {*CHANGES, *elsewhere} == compared
