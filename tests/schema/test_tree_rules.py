"""Rules that build trees, compared with simple Python versions."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.encoding.encode import encode
from kohort.encoding.tree_axis import TreeAxis
from kohort.errors import RequestError
from kohort.schema.columns import resolve
from tests.job.flags import job_of_flags
from tests.schema.read_columns import DATES, STYLES
from tests.schema.tree_paths import paths, require_runs

RARE = "Xanthippe-4711"
Cells = Sequence[str | None]


class Case(NamedTuple):
    """A rule, a column, and the expected tree.

    `above` has the expected labels of each value from leaf to root, in the order of the leaves; `settings` are other settings.
    """

    rule: dict[str, Any]
    cells: Cells
    above: dict[str, list[str]]
    settings: Mapping[str, Any] = MappingProxyType({})


# --- expected trees


def present(cells: Cells) -> list[str]:
    return sorted({cell for cell in cells if cell})


def ladder(values: Iterable[str], label: Callable[[str, Any], str], levels: Iterable[Any]) -> dict[str, list[str]]:
    kept = list(levels)
    return {value: list(dict.fromkeys([value, *(label(value, level) for level in kept), "*"])) for value in values}


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", "."))


def digits(exact: Fraction) -> str:
    places = next(places for places in range(400) if (exact * 10**places).denominator == 1)
    text = str(abs(int(exact * 10**places))).zfill(places + 1)
    return "-" * (exact < 0) + (f"{text[:-places]}.{text[-places:]}" if places else text)


def in_bands(cells: Cells, steps: str, *, integers: bool) -> dict[str, list[str]]:
    widths = [Fraction(step) for step in steps.split(",")]
    whole = integers and all(width.denominator == 1 for width in widths)

    def band(text: str, width: Fraction) -> str:
        low = number(text) // width * width
        label = f"[{digits(low)} - {digits(low + width - 1)}]" if whole else f"[{digits(low)} - {digits(low + width)})"
        return label.replace(".", ",") if any("," in cell for cell in present(cells)) else label

    values = sorted(present(cells), key=lambda text: (number(text), text))
    return ladder(values, band, [width for width in widths if not (whole and width == 1)])


CALENDAR: dict[str, Callable[[dt.date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.year}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year}",
    "decade": lambda day: f"{str(day.year)[:3]}0s",
}


# --- rules and columns for them


def with_missing(cells: st.SearchStrategy[str]) -> st.SearchStrategy[list[str | None]]:
    return st.lists(st.none() | st.just("") | cells, min_size=2, max_size=20) | cells.map(lambda one: [one, one])


@st.composite
def interval(draw) -> Case:
    value_type, mark = draw(st.sampled_from(["integer", "decimal"])), draw(st.sampled_from(".,"))
    steps = draw(st.sampled_from(["1", "5,10,20", "3,6", "0.5,1", "0.1,0.3,0.9", "2.5,10", "7", "1,2", "0.00125", "1000000"]))
    decimals = st.from_regex(rf"[+-]?(0|[1-9][0-9]?)([{mark}]([05]0?0?|[0-9]{{1,9}}))?", fullmatch=True)  # 1.0 and 1.00
    integers = (st.integers(-30, 30) | st.integers(1 - 10**18, 10**18 - 1)).map(str) | st.integers(0, 99).map("+{}".format)
    cells = draw(with_missing(integers if value_type == "integer" else decimals))
    rule = {"by": "interval", "steps": [float(step) for step in steps.split(",")]}
    return Case(rule, cells, in_bands(cells, steps, integers=value_type == "integer"), {"type": {"q": value_type}})


@st.composite
def date(draw) -> Case:
    form = draw(st.sampled_from(sorted(STYLES)))
    levels = sorted(draw(st.sets(st.sampled_from(list(CALENDAR)), min_size=1)), key=list(CALENDAR).index)
    times = draw(st.sampled_from([[""], [" 12:30"], ["", "T09:05:07Z"]]))  # the same day may be written in two ways
    days = draw(st.lists(DATES, min_size=1, max_size=12))
    written = {day.strftime(STYLES[form]) + time: day for day in days for time in times}
    above = ladder(
        sorted(written, key=lambda text: (written[text], text)), lambda text, name: CALENDAR[name](written[text]), levels
    )
    cells = [*written, *draw(with_missing(st.sampled_from(list(written))))]
    return Case({"by": "date", "levels": levels}, cells, above, {"format": {"q": form}})


@st.composite
def prefix(draw) -> Case:
    size = draw(st.integers(1, 5))
    least = draw(st.sampled_from([1, size]))
    cells = draw(with_missing(st.text("ab1 é🍎\N{COMBINING ACUTE ACCENT}", min_size=least, max_size=size)))
    lengths = sorted(draw(st.sets(st.integers(1, 6))), reverse=True)
    sizes = {len(text) for text in present(cells)} or {0}

    def cut(text: str, length: int) -> str:
        return text[:length].ljust(max(sizes), "*") if len(sizes) == 1 and length < len(text) else text[:length] + "*"

    shorter = [length for length in lengths if length < max(sizes)]  # a level that keeps all characters is left out
    above = ladder(present(cells), cut, shorter if lengths else range(max(sizes) - 1, 0, -1))
    return Case({"by": "prefix", "lengths": lengths}, cells, above)


@st.composite
def order(draw) -> Case:
    values = draw(st.lists(st.text("abé🍎,", min_size=1, max_size=3), min_size=1, max_size=12, unique=True))
    sizes = draw(st.sampled_from([[], [2], [3, 6], [2, 4, 12], [5], [100]]))
    cells = draw(with_missing(st.sampled_from(values)))

    def group(text: str, size: int) -> str:
        members = [other for index, other in enumerate(values) if index // size == values.index(text) // size]
        return text if len(members) == 1 else f"{members[0]} - {members[-1]}"

    above = ladder(values if present(cells) else [], group, sizes or [size for size in (2, 4, 8) if size < len(values)])
    return Case({"by": "order", "values": values, "sizes": sizes}, cells, above)


@st.composite
def rare(draw) -> Case:
    cells = draw(with_missing(st.sampled_from(["a", "B", "é", "🍎", "12", "\uffee"])))
    least, count = draw(st.integers(2, 5)), Counter(cells)
    values = sorted(present(cells), key=lambda text: (count[text] >= least, text))
    above = {text: [text, "few", "*"] if count[text] < least else [text, "*"] for text in values}
    return Case({"by": "rare", "least": least, "label": "few"}, cells, above)


@st.composite
def flat(draw) -> Case:
    cells = draw(with_missing(st.text("aé🍎\uffee*", min_size=1, max_size=2)))
    return Case({"by": "flat"}, cells, {text: list(dict.fromkeys([text, "*"])) for text in present(cells)})


RULES: dict[str, Callable[[], st.SearchStrategy[Case]]] = {
    "interval": interval, "date": date, "prefix": prefix, "order": order, "rare": rare, "flat": flat,
}  # fmt: skip


def made(cells: Cells, rule: Any, **settings: Any) -> tuple[TreeAxis, list[int]]:
    """Return the axis that a rule makes from a column, and the code of each row."""
    table = pa.table({"q": pa.array(cells, pa.string())})
    points = encode(table, resolve(kh.Job.build(quasi="q", hierarchy={"q": rule}, **settings).columns, table))
    assert isinstance(points.axes[0], TreeAxis)
    return points.axes[0], points.codes[:, 0].tolist()


def anonymized(cells: Any, rule: Any, k: int = 2, **settings: Any) -> kh.Release:
    table = pa.table({"q": cells if isinstance(cells, pa.Array) else pa.array(cells, pa.string()), "s": ["x"] * len(cells)})
    return kh.anonymize(table, quasi="q", sensitive="s", k=k, hierarchy={"q": rule}, keep_order=True, seed=1, **settings)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_trees_match_simple_python_versions(name, data):
    case = data.draw(RULES[name]())
    axis, codes = made(case.cells, case.rule, **case.settings)
    assert {leaf: list(dict.fromkeys(labels)) for leaf, labels in paths(axis.tree).items()} == case.above
    assert list(axis.tree.leaves) == list(case.above)
    assert codes == [axis.tree.leaves.index(cell) + 1 if cell else 0 for cell in case.cells]
    if case.above:
        require_runs(axis.tree)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=8, deadline=None)
@given(st.data(), st.integers(2, 4))
def test_published_cell_is_the_lowest_common_label_of_its_group(name, data, k):
    case = data.draw(RULES[name]())
    cells = [*case.cells, *case.cells]
    rule = {**case.rule, "least": 2 * case.rule["least"]} if name == "rare" else case.rule  # every value occurs twice
    release = anonymized(cells, rule, k, **case.settings)
    assert release.evidence.passed
    assert kh.audit(release.table, release.job).passed
    for cell, text, label in zip(cells, release.table["q"].to_pylist(), release.labels, strict=True):
        members = {other or None for other, its_label in zip(cells, release.labels, strict=True) if its_label == label}
        ladders = [case.above[other] for other in members if other]
        lowest = next(step for step in [*ladders[0], "*"] if all(step in one for one in ladders)) if ladders else None
        assert text == (lowest if None not in members or not ladders else "*"), cell


# --- special columns


@pytest.mark.parametrize(
    ("cells", "steps"),
    [
        (["0." + "9" * 30, "1", "1.5"], "1"),  # more digits than the default precision of Python's decimals
        (["-0." + "0" * 30 + "1", "0"], "5"),
        (["1e30", "1000000000000000000000000000001"], "3,6"),
        (["5.", ".5", "-.5", "1e1"], "5"),
    ],
)
def test_band_contains_its_number_with_any_number_of_digits(cells, steps):
    axis, _codes = made(cells, f"interval:{steps}", type={"q": "decimal"})
    assert paths(axis.tree) == in_bands(cells, steps, integers=False)


@pytest.mark.parametrize("rule", ["interval:5", "date", "prefix", "order:a,b", "rare", "flat"])
@pytest.mark.parametrize("cells", [[None] * 4, ["", None, "?", "?"]])
def test_column_without_values(rule, cells):
    assert anonymized(cells, rule, missing="?").table["q"].to_pylist() == [None] * 4


@pytest.mark.parametrize("arrow_type", [pa.date32(), pa.timestamp("us"), pa.timestamp("s", "Pacific/Auckland")])
def test_rules_use_the_day_in_the_time_zone_of_the_column(arrow_type):
    noon = pa.array([dt.datetime(1969, 12, day, 12) for day in (29, 30, 31)] * 2, pa.timestamp("us")).cast(arrow_type)  # noqa: DTZ001
    # In Auckland, noon UTC on 31 December is already 1 January.
    shown = {"*"} if arrow_type == pa.timestamp("s", "Pacific/Auckland") else {"1969-12"}
    assert set(anonymized(noon, "date:day,month,decade", 6).table["q"].to_pylist()) == shown
    assert set(anonymized(pa.array([-7, 2, 4, -6]), "interval:5").table["q"].to_pylist()) == {"[-10 - -6]", "[0 - 4]"}
    assert set(anonymized(pa.array([-0.0, 4.5, 0.0, 4.5]), "interval:5", 4).table["q"].to_pylist()) == {"[0 - 5)"}


# --- ways to write a rule

SAME: dict[str, dict[str, Any]] = {
    "interval": {"by": "interval", "steps": [5, 10, 20]},
    "interval: 0.5, 1e2": {"by": "interval", "steps": [0.5, 100]},
    "date": {"by": "date", "levels": ["month", "quarter", "year", "decade"]},
    "date:day,year": {"by": "date", "levels": ["day", "year"]},
    "prefix": {"by": "prefix", "lengths": []},
    "prefix:3,2": {"by": "prefix", "lengths": [3, 2]},
    "order:low,not so low,high": {"by": "order", "values": ["low", "not so low", "high"]},
    "rare": {"by": "rare", "least": 20, "label": "(rare)"},
    "rare:7": {"by": "rare", "least": 7},
    "flat": {"by": "flat"},
}
ONLY_TABLES: list[dict[str, Any]] = [
    {"by": "order", "values": ["a,b", " c ", 'd"', "=", "🍎"]},
    {"by": "order", "values": ["a", "b", "c"], "sizes": [2]},
    {"by": "rare", "label": "other: few"},
]


@pytest.mark.parametrize("short", SAME)
def test_keyword_file_and_flag_give_the_same_job(monkeypatch, short):
    job = kh.Job.build(quasi="q", hierarchy={"q": short})
    assert job == kh.Job.build(quasi="q", hierarchy={"q": SAME[short]})
    table = ", ".join(f"{key} = {value!r}" for key, value in SAME[short].items())
    for text in (repr(short), f"{{{table}}}"):
        assert job == kh.Job.from_toml(f"[columns.q]\nrole = 'quasi'\nhierarchy = {text}")
    assert job == job_of_flags(monkeypatch, "--quasi", "q", "--hierarchy", f"q={short}")


@pytest.mark.parametrize("table", [*SAME.values(), *ONLY_TABLES], ids=str)
def test_saved_rule_loads_unchanged_and_is_not_taken_for_a_file(tmp_path, table):
    job = kh.Job.build(quasi=["p", "q"], sensitive="s", other="o", hierarchy={"q": table})
    assert kh.Job.from_toml(job.to_toml()) == kh.Job.from_json(job.to_json()) == kh.Job.build(job) == job
    for file in (tmp_path / "job.toml", tmp_path / "job.json"):
        job.save(file)
        assert kh.Job.build(file) == job
    assert job.tree_files() == []


@pytest.mark.parametrize("name", ["flat", "rare:20"])
def test_file_with_the_name_of_a_rule_is_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("a;x;*\nb;x;*\n", encoding="utf-8")
    job = kh.Job.build(quasi="q", hierarchy={"q": f"./{name}"})
    job.save("job.toml")
    assert [file.resolve() for file in kh.Job.build("job.toml").tree_files()] == [tmp_path / name]
    assert kh.Job.build(quasi="q", hierarchy={"q": Path(name).absolute()}).tree_files() == [tmp_path / name]


WRONG: list[Any] = [
    "interval:5,12", {"by": "interval", "steps": [0.2, 0.5]}, "interval:10,5", "interval:5,5",  # steps that do not nest
    "interval:", "interval:x", "interval:0", "interval:-5", "interval:nan", "interval:inf",
    "prefix:2,3", "prefix:2,2", {"by": "prefix", "lengths": [1, 2]}, "prefix:0", "prefix:-1", "prefix:1.5", "prefix:a",
    "date:year,month", "date:year,year", "date:week", "date:", {"by": "date", "levels": []},
    *({"by": "order", "values": ["a", "b"], "sizes": sizes} for sizes in ([2, 3], [4, 2], [1], [0])),
    "order", "order:", "order:a,,b", {"by": "order", "values": ["a", ""]},  # an empty cell is a missing value, so it has no rank
    "rare:1", "rare:x", "rare:", "rare:2,3", {"by": "rare", "label": ""}, {"by": "rare", "label": "*"},
    {"by": "magic"}, {}, {"by": None}, {"steps": [5]}, {"by": "flat", "steps": [5]}, "flat:5", {"by": "prefix", "length": [3]},
]  # fmt: skip


@pytest.mark.parametrize("rule", WRONG, ids=str)
def test_invalid_rule_is_an_error_before_any_data_is_read(rule):
    with pytest.raises(RequestError, match="hierarchy"):
        kh.Job.build(quasi="q", hierarchy={"q": rule})


@pytest.mark.parametrize("steps", [[1e-10, 1e20], [5e-324, 1e308]])
def test_very_different_steps_give_a_tree_or_a_request_error(steps):
    try:
        assert made(["1.5", "2.5"], {"by": "interval", "steps": steps})[0].tree.height == 3
    except RequestError as error:
        assert "steps" in str(error)  # noqa: PT017


@pytest.mark.parametrize("role", ["sensitive", "identifier", "other", "drop"])
def test_only_quasi_identifiers_have_rules(role):
    with pytest.raises(RequestError, match=f"'p' has the role {role}. hierarchy has no effect"):
        kh.Job.build(quasi="q", **{role: "p"}, hierarchy={"p": "prefix:3"})


# --- rules that do not fit the values: messages have counts and no values

UNFIT: dict[str, tuple[Any, list[str], dict[str, Any], str]] = {
    "order": ("order:a,b", ["a", "b", RARE, "a", RARE, "c"], {}, "2 distinct values not in its tree, .* row 3 .* the rule"),
    "order names twice": (f"order:a,{RARE},{RARE}", ["a", RARE], {}, "names a value twice"),
    "no numbers": ("interval:5", ["1", "2", RARE], {}, "interval needs numbers"),
    "not all numbers": ("interval:5", ["1", "2", RARE], {"type": {"q": "integer"}}, "in 1 row the value is not .* at row 3 "),
    "declared text": ("interval:5", ["1", "2"], {"type": {"q": "text"}}, "tree rule interval is for integer"),
    "no dates": ("date", ["2019-01-31", RARE], {}, "date needs dates"),
    "not all dates": ("date", ["2019-01-31", RARE], {"type": {"q": "date"}}, "in 1 row the value is not a date .* at row 2 "),
    "two calendars": ("date", ["01/02/2019", "03/04/2019"], {}, "DD/MM/YYYY and as MM/DD/YYYY"),
    "thousands": ("interval:5", ["1,234", "2,500"], {}, "comma that may separate decimals or thousands"),
    "mean": ("interval:5", ["1", "2"], {"statistic": {"q": "mean"}}, "cannot publish its mean"),
    "both": ("interval:5", ["1", "2"], {"statistic": {"q": "both"}}, "cannot publish its mean"),
    "rare called like a value": ({"by": "rare", "label": RARE}, ["a", RARE], {}, "group of rare values is also a value"),
    "prefix like a value": ("prefix:10", [RARE[:9], f"{RARE[:9]}*", RARE], {}, "a label that is also a value"),
    "day like a value": ("date:day", ["2019-01-02", "2019-02-01"], {"format": {"q": "YYYY-DD-MM"}}, "label that is also a value"),
    "too many": ("prefix:1", [f"{n:05d}" for n in range(65_535)] + [RARE], {}, "65,536 distinct values"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_values_that_do_not_fit_are_counted_and_not_shown(name):
    rule, cells, settings, message = UNFIT[name]
    with pytest.raises(RequestError, match=f"'q'.*{message}") as caught:
        anonymized(cells, rule, **settings)
    assert not any(cell in str(caught.value) for cell in (RARE, RARE[:9], "2019-01", "1,234"))


@pytest.mark.parametrize("values", [["a", "b", "c", "a - b"], ["a - b", "c", "a", "b - c"], ["a", "b", "a - b"]])
def test_two_groups_of_an_order_never_have_the_same_label(values):
    try:
        tree = made(values, {"by": "order", "values": values, "sizes": [2]})[0].tree
    except RequestError:
        return
    assert len({tree.labels[node] for node in tree.ancestors[1]}) == 2


def test_tree_of_the_largest_number_of_values():
    axis, codes = made([f"{n:05d}" for n in range(65_535)], "prefix:2")
    assert (len(axis.tree.leaves), axis.tree.height, codes[:2]) == (65_535, 2, [1, 2])


def test_description_of_the_applied_rule_shows_no_value(tmp_path):
    names = [f"{RARE}{n}" for n in range(6)]
    for rule in (f"order:{','.join(names)}", "prefix:14,9", "rare:3", "flat"):
        (tmp_path / "in.csv").write_text("q,s\n" + "".join(f"{name},x\n" for name in names * 2), encoding="utf-8")
        release = kh.anonymize(
            tmp_path / "in.csv", output=tmp_path / "out.csv", force=True, quasi="q", sensitive="s", hierarchy={"q": rule}, k=4
        )
        assert kh.audit(tmp_path / "out.csv", release.job).k >= 4
        assert RARE[:4] not in release.axes["q"] + repr(release) + str(release.summary())
        assert rule == "flat" or f"tree {rule.partition(':')[0]}" in release.axes["q"]
