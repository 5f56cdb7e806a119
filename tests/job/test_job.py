"""Jobs: saved and read again, wrong ones rejected with a message for every mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.schema.columns import ROLES

NAMES = st.sampled_from(["a,b", 'q"x', "two\nlines", "💉", "a.b", " a ", "'", "[x]", "=", "#", "\\", "é"]) | st.text(
    min_size=1, max_size=5
)
SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)
SENSITIVE_PROMISES = st.fixed_dictionaries(
    {},
    optional={
        "alpha": SHARES | st.dictionaries(NAMES, SHARES, min_size=1, max_size=3),
        "l": st.integers(2, 100),
        "entropy_l": st.floats(1.5, 100),
        "recursive_l": st.tuples(st.integers(2, 9), st.floats(0.5, 9)),
        "t": SHARES,
        "beta": st.floats(0.1, 10),
        "delta": st.floats(0.1, 10),
    },
)
ROWS = st.lists(st.tuples(NAMES, st.text(max_size=3), st.just("*")), min_size=1, max_size=3).map(tuple)


@st.composite
def jobs(draw) -> Job:
    """Any valid job."""
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    columns: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(names):
        column = {"role": "quasi" if number == 0 else draw(st.sampled_from(ROLES))}
        if column["role"] == "quasi":
            optional = {
                "type": st.sampled_from(["integer", "decimal", "text"]),
                "weight": st.floats(0, 1000),
                "statistic": st.sampled_from(["range", "mean", "both"]),
                "hierarchy": NAMES | ROWS,
            }
            column |= draw(st.fixed_dictionaries({}, optional=optional))
        if column["role"] == "other":
            column |= draw(st.fixed_dictionaries({}, optional={"allow": st.booleans()}))
        if column["role"] == "sensitive":
            column |= draw(SENSITIVE_PROMISES)
        if column["role"] == "unit" and any(other["role"] == "unit" for other in columns.values()):
            column["role"] = "drop"
        columns[name] = column
    options = st.fixed_dictionaries({}, optional={"relaxed": st.booleans()})
    mondrian = options.map(lambda option: {"method": "mondrian", "option": option})
    methods = st.sampled_from([{}, {"method": "auto"}, {"method": "merge"}]) | mondrian
    labels = [name for name, column in columns.items() if column["role"] in ("quasi", "other")]
    by_label = st.sampled_from(labels).map(lambda label: {"objective": "class", "label": label})
    objectives = st.sampled_from([{}, *({"objective": name} for name in ("leaf", "height", "square-error"))]) | by_label
    optional = {
        "effort": st.integers(0, 1000),
        "seed": st.integers(0, 2**63 - 1),
        "missing": st.lists(st.text(max_size=4), max_size=3),
        "hierarchies": NAMES,
        "keep_order": st.booleans(),
        "row_order": st.sampled_from(["canonical", "given"]),
        "threads": st.integers(1, 1024),
        "promise": st.fixed_dictionaries({}, optional={"k": st.integers(20, 10**6)}),
        "preset": st.sampled_from(["internal", "trusted", "public", "high-risk"]),
        "suppress": st.floats(0, 1),
        "suppressed": st.sampled_from(["leave", "star"]),
    }
    return Job.build(
        {**draw(methods), **draw(objectives), **draw(st.fixed_dictionaries({}, optional=optional)), "columns": columns}
    )


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_round_trip(job):
    assert Job.from_toml(job.to_toml()) == job
    assert Job.from_json(job.to_json()) == job
    assert Job.build(job) == job
    assert Job.build(job.to_dict()) == job
    assert list(Job.from_toml(job.to_toml()).columns) == list(job.columns)  # the order of columns is part of the job


def test_a_saved_job_finds_its_trees_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "here" / "trees").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "trees" / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    job = Job.build(quasi=["sex", "age"], hierarchy={"sex": Path("trees/sex.csv")}, hierarchies="trees", k=2)
    table = pa.table({"sex": ["f", "m"], "age": [1, 1]})
    for place in ("../there/job.toml", "../there/job.json", "job.toml"):
        job.save(place)
    monkeypatch.chdir(tmp_path / "there")
    for place in ("job.toml", tmp_path / "there" / "job.json", "../here/job.toml"):
        assert kh.anonymize(table, place).axes["sex"].startswith("text, 2 values")
    (tmp_path / "there" / "job.json").rename(tmp_path / "job.json")
    with pytest.raises(RequestError, match="tree"):
        kh.anonymize(table, tmp_path / "job.json")


def test_frozen():
    job = Job.build(quasi="a")
    for thing, name in ((job, "seed"), (job.promise, "k"), (job.columns["a"], "role")):
        with pytest.raises(pydantic.ValidationError):
            setattr(thing, name, 7)


def test_build_does_not_change_its_base():
    base = {"promise": {"k": 9}, "columns": {"a": {"role": "quasi"}}}
    before = json.dumps(base)
    first = Job.build(base, k=3, weight={"a": 2}, sensitive="s")
    assert json.dumps(base) == before
    assert Job.build(first, k=4).promise.k == 4
    assert first.promise.k == 3


# --- mistakes

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "quasi=a sensitive=a": ({"sensitive": "a"}, "Column 'a' has two roles"),
    "k=1": ({"k": 1}, "k must be at least 2"),
    "seed": ({"seed": -1}, "seed must be at least 0"),
    "threads": ({"threads": 0}, "threads must be at least 1"),
    "unknown": ({"metod": "x"}, "no setting 'metod'. Did you mean 'method'"),
    "method": ({"method": "mondrain"}, "no method 'mondrain'. Did you mean 'mondrian'"),
    "option": ({"method": "mondrian", "option": {"relxed": True}}, "relxed'. Did you mean 'relaxed'"),
    "option of another method": ({"option": {"relaxed": True}}, "'relaxed'"),
    "negative effort": ({"effort": -1}, "effort must be at least 0"),
    "too much effort": ({"effort": 1001}, "effort must be at most 1000"),
    "effort for incognito": ({"method": "incognito", "effort": 1}, "does not work with the method incognito"),
    "effort for datafly": ({"method": "datafly", "effort": 2}, "does not work with the method datafly"),
    "effort for mondrian-1d": ({"method": "mondrian-1d", "effort": 3}, "does not work with the method mondrian-1d"),
    "effort in words": ({"method": "datafly", "effort": "2"}, "does not work with the method datafly"),
    "objective": ({"objective": "leafs"}, "objective must be one of leaf, height, square-error, class. Did you mean 'leaf'"),
    "class without label": ({"objective": "class"}, "Set label (--label COL)"),
    "label alone": ({"label": "a"}, "label has an effect only with objective class"),
    "label and leaf": ({"objective": "leaf", "label": "a"}, "label has an effect only with objective class"),
    "unknown label": ({"objective": "class", "label": "b"}, "label names column 'b', but no column of that name has a role"),
    "near label": ({"objective": "class", "label": "A"}, "Did you mean 'a'"),
    "number as label": ({"objective": "class", "label": 5}, "label"),
    "identifier as label": ({"identifier": "i", "objective": "class", "label": "i"}, "The label 'i' is not published"),
    "unit as label": ({"unit": "u", "objective": "class", "label": "u"}, "The label 'u' is not published"),
    "sensitive label": ({"sensitive": "s", "objective": "class", "label": "s"}, "The label 's' is sensitive"),
    "dropped label": ({"drop": "d", "objective": "class", "label": "d"}, "The label 'd' is not published"),
    "weight": ({"weight": {"b": 2}}, "weight names column 'b', but no column of that name has a role"),
    "near": ({"weight": {"A": 2}}, "Did you mean 'a'"),
    "row order": ({"row_order": "gven"}, "row_order must be one of canonical, given. Did you mean 'given'"),
    "type": ({"type": {"a": "integr"}}, "one of integer, decimal, boolean, date, timestamp, text. Did you mean 'integer'"),
    "heavy": ({"weight": {"a": -1}}, "weight must be at least 0"),
    "engine": ({"engine": "memry"}, "Did you mean 'memory'"),
    "not a mapping": ({"weight": 2}, "weight needs column names"),
    "useless": ({"sensitive": "s", "weight": {"s": 2}}, "'s' has the role sensitive. Only quasi-identifiers can have weight"),
    "allow": ({"allow": "a"}, "'a' has the role quasi. Only columns with the role other can have allow"),
    "number": ({"quasi": 5}, "quasi"),
    "alpha": ({"sensitive": "s", "alpha": 0}, "alpha must be greater than 0 and less than 1"),
    "weak alpha": ({"sensitive": "s", "alpha": 1}, "and 1 promises nothing"),
    "named alpha": ({"sensitive": "s", "alpha": {"x": 2}}, "alpha must be greater than 0"),
    "weak l": ({"sensitive": "s", "l": 1}, "l must be at least 2"),
    "t=0": ({"sensitive": "s", "t": 0}, "t must be greater than 0"),
    "recursive": ({"sensitive": "s", "recursive_l": "3"}, "recursive_l must be two numbers, l and c, such as 3,2"),
    "weak recursive": ({"sensitive": "s", "recursive_l": (1, 2)}, "needs l of at least 2"),
    "no secret": ({"l": 3}, "l protects sensitive columns, but none is given"),
    "not secret": ({"columns": {"a": {"role": "quasi", "l": 3}}}, "'a' has the role quasi. Only sensitive columns can have l"),
    "distance": ({"sensitive": "s", "t_distance": "equal"}, "t_distance has no effect without t"),
    "two units": ({"unit": ["u", "v"]}, "2 columns have the role unit"),
    "unit and quasi": ({"unit": "a"}, "'a' has two roles, quasi and unit"),
    "below the floor": ({"preset": "public", "k": 5}, "k=5 is weaker than the preset public, which needs k=11"),
    "exact ends": ({"preset": "public", "ranges": "tight"}, "ranges=tight is weaker than the preset public"),
    "preset": ({"preset": "pubic"}, "Did you mean 'public'"),
    "suppress": ({"suppress": 2}, "suppress is a share of the rows"),
    "allow flag": ({"other": "o", "allow": True}, "allow"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake(name):
    given, message = WRONG[name]
    with pytest.raises(RequestError) as caught:
        Job.build(**{"quasi": "a", **given})
    assert message in str(caught.value)
    assert "Input should" not in str(caught.value)


def test_all_mistakes_at_once():
    settings = {
        "k": 1,
        "seed": -1,
        "metod": "x",
        "weight": {"b": 2},
        "row_order": "gven",
        "sensitive": "a",
        "option": {"relxed": 1},
        "effort": -1,
        "objective": "leave",
    }
    with pytest.raises(RequestError) as caught:
        Job.build(quasi="a", **settings)
    assert len(caught.value.problems) == len(settings)
    assert str(caught.value).startswith(f"{len(settings)} mistakes:\n- ")
    with pytest.raises(RequestError, match="No quasi-identifier is given"):
        Job.build(sensitive="a")


FILES = {
    "columns.a.wieght": '[columns.a]\nrole = "quasi"\nwieght = 2',
    "promise.kk": '[promise]\nkk = 3\n[columns.a]\nrole = "quasi"',
    "Column 'a': role must be one of": '[columns.a]\nrole = "quas"',
    "Column 'b': role is missing": '[columns.a]\nrole = "quasi"\n[columns.b]',
    "Column 'a': must be a table with settings": 'columns.a = "quasi"',
    "promise": 'promise = 5\n[columns.a]\nrole = "quasi"',
    "option": 'option = 5\n[columns.a]\nrole = "quasi"',
    "columns": "columns = []",
    "TOML": "version = = 1",
    "version": "version = 2",
    "[promise]": 'k = 5\n[columns.a]\nrole = "quasi"',  # k is one level too high: the message says where it belongs
}


FLAGS = {"weight": {"a": 2}, "k": 3, "method": "mondrian", "option": {"relaxed": True}, "effort": 2}


@pytest.mark.parametrize("flags", [{}, FLAGS], ids=["alone", "flags"])
@pytest.mark.parametrize("message", FILES)
def test_a_mistake_in_a_job_file(tmp_path, message, flags):
    (tmp_path / "job.toml").write_text(FILES[message], encoding="utf-8")
    with pytest.raises(RequestError) as caught:
        Job.build(tmp_path / "job.toml", **flags)
    assert message in str(caught.value)


@pytest.mark.parametrize("base", ["none.toml", ".", 5, ["a"]])
def test_other_types_are_not_a_job(base):
    with pytest.raises(RequestError):
        Job.build(base)


def test_job_file_may_begin_with_a_byte_order_mark(tmp_path):
    for name, text in (("j.toml", Job.build(quasi="a").to_toml()), ("j.json", Job.build(quasi="a").to_json())):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert Job.build(tmp_path / name) == Job.build(quasi="a")


def test_flat_setting_wins_over_a_nested_one():
    for requested in ({"columns": {"b": {"role": "quasi"}}}, {"k": 3, "promise": {"k": 7}}):
        try:
            job = Job.build(quasi="a", **requested)
        except RequestError:
            continue
        assert "a" in job.columns
        assert job.promise.k == requested.get("k", 5)


def test_a_promise_holds_for_every_sensitive_column_or_for_the_named_one():
    every = Job.build(quasi="a", sensitive=["s", "r"], l=3, t=0.2)
    assert {name: (requested.l, requested.t) for name, requested in every.sensitive_promises().items()} == {
        "s": (3, 0.2),
        "r": (3, 0.2),
    }
    named = Job.build(every, l={"s": 4}, alpha={"r": {"default": 0.5, "x": 0.1}})
    assert {name: requested.requested for name, requested in named.sensitive_promises().items()} == {
        "s": ["l", "t"],
        "r": ["alpha", "l", "t"],
    }
    assert (named.sensitive_promises()["s"].l, named.sensitive_promises()["r"].l) == (4, 3)
    again = Job.build(named, l=2)  # a flag wins, and holds for every column
    assert {requested.l for requested in again.sensitive_promises().values()} == {2}


def test_limit_of_one_value_survives_a_new_default():
    job = Job.build(quasi="a", sensitive="s", alpha={"default": 0.9, "x": 0.3})
    assert Job.build(job, alpha=0.8).sensitive_promises()["s"].limits == (0.8, {"x": 0.3})
    own = Job.build(quasi="a", sensitive=["s", "r"], alpha={"s": {"x": 0.3}})
    changed = Job.build(own, alpha=0.8).sensitive_promises()
    assert (changed["s"].limits, changed["r"].limits) == ((0.8, {"x": 0.3}), (0.8, {}))
    assert Job.build(quasi="a", sensitive="s", alpha={1: 0.5}).sensitive_promises()["s"].limits == (1.0, {"1": 0.5})


def test_preset_is_a_minimum():
    job = Job.build(quasi="a", preset="public")
    assert (job.promise.k, job.ranges) == (11, "grid")
    assert Job.build(quasi="a", preset="public", k=20).promise.k == 20
    assert Job.from_toml(job.to_toml()) == job
    assert (Job.build(quasi="a", preset="trusted").promise.k, Job.build(quasi="a", preset="trusted").ranges) == (5, "tight")


def test_allow_false_does_not_allow():
    assert not Job.build(quasi="a", other="o", allow={"o": False}).columns["o"].allow


def test_place_of_a_mistake_in_a_job_is_a_character_not_a_column():
    with pytest.raises(RequestError, match=r"line 1, character \d+"):
        Job.from_toml("k = five")
    with pytest.raises(RequestError, match=r"\[columns|'columns'"):  # names in the job stay as they are
        Job.from_toml("[columns.a]\nrole = 'quasi'\n[columns.a]\n")
