"""Ranges that end on a grid: published text, cost and errors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import kohort
from kohort.encoding import encode as encoding
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import UNIT, Points
from kohort.errors import RequestError
from kohort.kernels.core.widths import width
from kohort.schema import published_text as published
from kohort.schema.columns import resolve
from tests import oracles
from tests.published_partitions import publish

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
PAIRS = [0, 0, 1, 1]


def on(step: Any = None, **job: Any) -> dict[str, Any]:
    """Return job settings for a column `a` with ranges on a grid."""
    return {"ranges": "grid", **({"step": {"a": step}} if step is not None else {}), **job}


def points_of(column, step=None, **job) -> Points:
    """Encode one column with ranges on a grid."""
    table = pa.table({"a": column})
    requested = kohort.Job.build(quasi="a", **on(step, **job))
    return encoding.encode(table, resolve(requested.columns, table, missing=requested.missing, ranges=requested.ranges))


# --- published texts


@pytest.mark.parametrize(
    ("column", "step", "texts", "cost"),
    [
        pytest.param([17, 19, 40, 40], None, ["[15 - 20]", "40"], 5 / 23 / 2, id="step 5, a single value is unchanged"),
        pytest.param([20, 30, 33, 40], None, ["[20 - 30]", "[30 - 40]"], 20 / 20 / 2, id="ends already on the grid"),
        pytest.param([-9, -3, -1, 1], None, ["[-10 - 0]", "[-5 - 5]"], (1 + 1) / 2, id="below zero"),
        pytest.param([-9, -3, -1, 1], 7, ["[-14 - 0]", "[-7 - 7]"], (1 + 1) / 2, id="step 7"),
        pytest.param([3, 4, 0, 100], 1, ["[3 - 4]", "[0 - 100]"], (0.01 + 1) / 2, id="step 1 adds nothing"),
        pytest.param([0, 1, 2, 3], 1000, ["[0 - 1000]", "[0 - 1000]"], 1, id="a width is at most 1"),
        pytest.param([5, 5, 5, 5], None, ["5", "5"], 0, id="constant"),
        pytest.param([None, None, 2, 4], None, [None, "[0 - 5]"], 1 / 2, id="only missing"),
        pytest.param([None, 2, 3, 40], None, ["*", "[0 - 40]"], 1, id="missing and present"),
        pytest.param([0.1, 2.5, 4.0, 9.9], None, ["[0 - 3]", "[4 - 10]"], (3 + 6) / 9.8 / 2, id="decimals, step 1"),
        pytest.param([0.3, 0.45, 0.7, 0.8], 0.1, ["[0.3 - 0.5]", "[0.7 - 0.8]"], (0.2 + 0.1) / 0.5 / 2, id="step 0.1"),
        pytest.param(
            [0.1 + 0.2, 0.31, 1.1, 2.2], 0.1, ["[0.3 - 0.4]", "[1.1 - 2.2]"], (0.1 + 1.1) / 1.9 / 2, id="rounding error"
        ),
        pytest.param([-0.3, -0.1, 0.0, 0.6], 0.1, ["[-0.3 - -0.1]", "[0 - 0.6]"], (0.2 + 0.6) / 0.9 / 2, id="negative, step 0.1"),
        pytest.param([-0.3, -0.1, 0.3, 0.6], 1, ["[-1 - 0]", "[0 - 1]"], 1, id="no negative zero"),
        pytest.param([0.26, 0.3, 1.0, 2.25], 0.25, ["[0.25 - 0.5]", "[1 - 2.25]"], (0.25 + 1.25) / 1.99 / 2, id="step 0.25"),
        pytest.param([1e-7, 3e-7, 0.0, 1e-6], 2e-7, ["[0 - 4e-07]", "[0 - 1e-06]"], (0.4 + 1) / 2, id="very small"),
        pytest.param([1e22, 3e22, 0.0, 9e22], 2e22, ["[0 - 4e+22]", "[0 - 1e+23]"], (4 / 9 + 1) / 2, id="very large"),
        pytest.param(["1,5", "2,5", "0", "9,9"], 0.5, ["[1,5 - 2,5]", "[0 - 10]"], (1 / 9.9 + 1) / 2, id="decimal commas"),
    ],
)
def test_published_text_and_cost_of_numbers(column, step, texts, cost):
    release_table, found = publish({"a": column}, PAIRS, **on(step))
    assert release_table["a"].to_pylist() == [texts[0], texts[0], texts[1], texts[1]]
    assert found.leaf == found.height == pytest.approx(cost)


def test_grid_changes_only_numbers():
    """Dates still end with months, trees with nodes, and text is unchanged. A mean is that of the true values."""
    columns = {
        "date": ["2020-01-03", "2020-03-02", "2021-01-01", "2021-01-31"],
        "tree": ["a", "b", "c", "c"],
        "text": ["x", "x", "y", "z"],
        "number": [1, 2, 30, 33],
    }
    job = {"hierarchy": {"tree": oracles.TREE}, "statistic": {"number": "both"}}
    tight, _ = publish(columns, PAIRS, **job)
    grid, _ = publish(columns, PAIRS, **on(**job))
    assert grid["number"].to_pylist() == ["[0 - 5]", "[0 - 5]", "[30 - 35]", "[30 - 35]"]
    assert grid.drop_columns("number").equals(tight.drop_columns("number"))


@pytest.mark.parametrize(
    ("column", "step", "kind", "description"),
    [
        ([1, 2, 7], None, None, "numbers, 3 distinct, in steps of 5"),
        ([1.5, 2.0, 7.5], None, None, "numbers, 3 distinct, in steps of 1"),
        ([1.0, 2.0, 7.0], None, "integer", "numbers, 3 distinct, in steps of 5"),
        ([1, 2, 7], None, "decimal", "numbers, 3 distinct, in steps of 1"),
        ([1.5, 2.0, 7.5], 0.1, None, "numbers, 3 distinct, in steps of 0.1"),
        ([1, 2, 7], 10**18, None, "numbers, 3 distinct, in steps of 1000000000000000000"),
    ],
)
def test_describe_shows_the_declared_or_default_step(column, step, kind, description):
    job: dict[str, Any] = {"type": {"a": kind}} if kind else {}
    assert points_of(column, step, **job).axes[0].describe() == description


# --- for any box, the text, the width and the width in kernels agree

STEPS = st.sampled_from([0.1, 0.25, 1, 7])
DECIMALS = st.integers(-4000, 4000).map(lambda number: number / 100) | st.floats(-40, 40, allow_nan=False)


@st.composite
def gridded(draw):
    """A column of integers or decimals, with or without missing values, and a step that fits it."""
    whole = draw(st.booleans())
    values = st.integers(-40, 40) | st.integers(-(2**40), 2**40) if whole else DECIMALS
    step = draw(st.sampled_from([1, 7, 2**20, None]) if whole else STEPS | st.none())
    column = draw(st.lists(st.none() | values if draw(st.booleans()) else values, min_size=4, max_size=14))
    return column, "int64" if whole else "float64", step, str(step or (5 if whole else 1))


@QUICK
@given(made=gridded())
@example(made=([0.1, 0.3, 0.1 + 0.2, 0.7, 1.1], "float64", 0.1, "0.1"))
@example(made=([1e-20, 2e-20, -1.0, 1.0], "float64", 0.1, "0.1"))  # equal as floats from -1.0 on, but 0.1 apart on the grid
@example(made=([0, 2**60, 2**60 + 1, 2**61], "int64", 2**59, str(2**59)))
@example(made=([0, 1, 2], "int64", 2**60, str(2**60)))  # the cost without a limit exceeds the largest integer
@example(made=([0.0, 5e-324], "float64", 0.1, "0.1"))
@example(made=([None, None], "int64", None, "5"))
def test_cost_of_a_box_matches_its_text(made):
    column, kind, step, written = made
    points = points_of(pa.array(column, kind), step)
    axis, tables = points.axes[0], points.kernel_tables()
    own = dict(zip(points.codes[:, 0].tolist(), column, strict=True))  # code -> value
    measure = oracles.NumbersOnGrid(column, written)
    for low, high in ((low, high) for low in own for high in own if low <= high):
        box = np.array([low]), np.array([high])
        text = axis.label(*box, None)[0].as_py()
        share = float(axis.width(*box, "leaf", None)[0])
        assert text == measure.text([own[low], own[high]])
        assert share == pytest.approx(float(oracles.published_width(text, column)))
        assert width(tables, 0, low, high) == pytest.approx(share * UNIT, abs=1)


@QUICK
@given(made=gridded(), data=st.data())
def test_published_ranges_and_their_loss(made, data):
    column, kind, step, written = made
    clusters = len(column) // 2
    free = data.draw(st.lists(st.integers(0, clusters - 1), min_size=len(column) % 2, max_size=len(column) % 2))
    labels = data.draw(st.permutations([*range(clusters), *range(clusters), *free]))
    release_table, found = publish({"a": pa.array(column, kind)}, labels, **on(step))
    texts = release_table["a"].to_pylist()
    for rows in oracles.groups(labels):
        require_correct_text([column[row] for row in rows], {texts[row] for row in rows}, Fraction(written))
    shares = [oracles.published_width(text, column) for text in texts]
    assert found.leaf == pytest.approx(float(sum(shares) / len(shares)))


def require_correct_text(members, texts, step):
    """Require one text for the group that includes all members.

    A single number has no brackets. A range ends on the grid, as close to the members as possible.
    """
    (text,) = texts
    if None in members:
        assert text == ("*" if any(member is not None for member in members) else None)
        return
    span = published.interval(text)
    assert span is not None
    assert all(span.low <= member <= span.high for member in members)
    assert text.startswith("[") == (len(set(members)) > 1)
    if text.startswith("["):
        low, high = map(Fraction, text[1:-1].split(" - "))
        assert low % step == high % step == 0
        assert low + step > min(Fraction(str(member)) for member in members)
        assert high - step < max(Fraction(str(member)) for member in members)


# --- more distinct numbers than codes


@pytest.mark.parametrize("method", ["mondrian", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "step"), [("integers", 7), ("integers", None), ("decimals", 0.1)])
def test_bins_publish_range_ends_on_the_grid(kind, step, method, monkeypatch):
    """If there are more distinct numbers than codes, published ranges still end on the grid.

    Only mondrian runs with the true limit, because `auto` takes ten times as long for the same result.
    """
    codes = 65_535 if method == "mondrian" else 6_553
    monkeypatch.setattr("kohort.encoding.encode.MOST_NUMBERS", codes)
    draw = np.random.default_rng(3)
    values = draw.permutation(np.unique(draw.integers(-(10**6), 10**6, codes + 25_000))[: codes + 4_465]).tolist()
    values = values if kind == "integers" else [value / 100 for value in values]
    values[:6] = [None] * 6
    table = pa.table({"a": values, "b": draw.integers(0, 2, len(values))})
    release = kohort.anonymize(table, quasi=["a", "b"], k=5, method=method, keep_order=True, **on(step))
    assert "bins, in steps of" in release.axes["a"]
    assert next(check for check in release.evidence.checks if check.name == "grid").verdict == "pass"
    texts, measure = release.table["a"].to_pylist(), oracles.NumbersOnGrid(values, str(step or 5))
    for rows in oracles.groups(release.labels.tolist()):
        assert {texts[row] for row in rows} == {measure.text([values[row] for row in rows])}
    present = [value for value in values if value is not None]
    ends = [min(present), max(present)]
    wide = {text: float(oracles.published_width(text, ends)) for text in set(texts)}
    assert release.loss.per_column["a"] == pytest.approx(sum(wide[text] for text in texts) / len(texts))


@pytest.mark.parametrize("step", [None, 1000])
def test_cost_of_bins_in_kernels_matches_the_axis(step):
    values = np.arange(0, 210_000, 3)
    points = points_of(values, step)
    axis, tables = points.axes[0], points.kernel_tables()
    draw = np.random.default_rng(5)
    low, high = np.sort(draw.integers(1, axis.size, (2, 500)), axis=0)
    high[:250] = np.minimum(low[:250] + draw.integers(0, 3, 250), axis.size - 1)
    shares = axis.width(low, high, "leaf", None)
    costs = [width(tables, 0, *box) for box in zip(low.tolist(), high.tolist(), strict=True)]
    assert costs == pytest.approx(shares * UNIT, abs=1)
    assert shares.tolist() == [
        pytest.approx(float(oracles.published_width(text, [0, 209_997]))) for text in axis.label(low, high, None).to_pylist()
    ]


# --- limits of 64-bit numbers


@QUICK
@given(
    column=st.lists(st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1]), min_size=4, max_size=8),
    step=st.sampled_from([1, 2, 5, 7, 2**31, 2**62, 10**18]),
)
def test_integer_ranges_end_exactly_on_the_grid_or_raise_an_error(column, step):
    low, high = min(column) // step * step, -(-max(column) // step) * step
    labels = [row % 2 for row in range(len(column))]
    if low < -(2**63) or high > 2**63 - 1:
        with pytest.raises(RequestError, match=r"'a': ranges in steps of .* 64 bits cannot store exactly\. Set a smaller"):
            publish({"a": column}, labels, **on(step))
        return
    release_table, _ = publish({"a": column}, labels, **on(step))
    measure = oracles.NumbersOnGrid(column, str(step))
    for rows in oracles.groups(labels):
        assert {release_table["a"][row].as_py() for row in rows} == {measure.text([column[row] for row in rows])}


@QUICK
@given(
    column=st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), min_size=4, max_size=8),
    step=st.sampled_from([0.1, 0.3, 1.0, 7.0, 1e-5, 1e15, 1e22, 1e30, 1e-30, 0.1 + 0.2, 2.0**70]) | st.floats(1e-300, 1e300),
)
@example(column=[1e14, 99999999999999.9, -1e14, 0.1], step=0.1)
@example(column=[123456789012345.6, 0.0, 1.0, 2.0], step=0.1)
def test_decimal_ranges_end_exactly_on_the_grid_or_raise_an_error(column, step):
    labels = [row % 2 for row in range(len(column))]
    try:
        release_table, _ = publish({"a": column}, labels, **on(step))
    except RequestError as error:
        assert "64 bits cannot store exactly. Set a larger or rounder step" in str(error)  # noqa: PT017 - the case without an error is tested below
        return
    written = Fraction(int(step)) if step.is_integer() and step < 2**63 else Fraction(str(step))
    for rows in oracles.groups(labels):
        require_correct_text([column[row] for row in rows], {release_table["a"][row].as_py() for row in rows}, written)


def test_offset_below_the_smallest_value_is_negative():
    for points, below in ((points_of([7, 9, 2**62]), 5), (points_of([0.25, 9.5]), 0.0)):
        axis = points.axes[0]
        assert isinstance(axis, NumericAxis)
        assert axis.offset(np.array([below, axis.first[0]], axis.first.dtype)).tolist() == [below - axis.first[0], 0]


# --- impossible steps


@pytest.mark.parametrize(
    ("column", "job", "message"),
    [
        ([1, 2, 3, 4], on(2.5), "Column 'a' contains whole numbers, so its ranges cannot be in steps of 2.5. Set a whole step"),
        (["x", "y", "x", "y"], on(5), "Column 'a' does not contain numbers. It cannot have a step. Remove its step"),
        ([True, False, True, True], on(5), "Column 'a' does not contain numbers. It cannot have a step. Remove its step"),
        (["2020-01-01", "2021-01-01"] * 2, on(5), "Column 'a' contains dates, whose ranges always end with a month or a year."),
        ([1, 2, 3, 4], on(5, type={"a": "text"}), "Column 'a' does not contain numbers"),
        (["a", "b", "a", "b"], on(5, hierarchy={"a": oracles.TREE}), "Column 'a' has a tree and a step. Remove one"),
        ([1, 2, 3, 4], on(5, hierarchy={"a": "interval:5"}), "Column 'a' has a tree and a step. Remove one"),
    ],
)
def test_impossible_step_raises_an_error(column, job, message):
    with pytest.raises(RequestError) as caught:
        kohort.anonymize(pa.table({"a": column}), quasi="a", k=2, **job)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(message)


# --- a release of Adult


def range_ends(text):
    """Return the lower and the upper end of a published range."""
    low, high = text[1:-1].split(" - ") if text.startswith("[") else (text, text)
    return int(low), int(high)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("k", [5, 50])
def test_adult_on_a_grid(public_data, tmp_path, k, relaxed):
    """Read the release with pandas: it is k-anonymous, all ranges end on multiples of 5, and the loss matches the texts."""
    path = public_data / "adult" / "adult.csv.gz"
    source = pd.read_csv(path)
    numbers, quasi = ["age", "hours-per-week", "education-num"], ["age", "hours-per-week", "education-num", "sex"]
    release = kohort.anonymize(
        path,
        quasi=quasi,
        sensitive="occupation",
        drop=[name for name in source.columns if name not in {*quasi, "occupation"}],
        ranges="grid",
        k=k,
        method="mondrian",
        option={"relaxed": relaxed},
        keep_order=True,
        output=tmp_path / "out.csv",
    )
    release_table = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert len(release_table) == len(source)
    assert release_table.groupby(quasi).size().min() == release.evidence.k >= k
    total = float((release_table["sex"] == "*").sum())
    for name in numbers:
        low, high = (release_table[name].map(range_ends).str[index] for index in (0, 1))
        real = release_table[name].str.startswith("[")
        assert real.any()
        assert (~real).any()
        assert (low[real] % 5 == 0).all()
        assert (high[real] % 5 == 0).all()
        assert ((low <= source[name]) & (source[name] <= high)).all()
        share = ((high - low) / (source[name].max() - source[name].min())).clip(upper=1)
        assert release.loss.per_column[name] == pytest.approx(share.mean())
        total += share.sum()
    assert release.loss.leaf == pytest.approx(total / len(release_table) / len(quasi))


def test_mondrian_uses_published_widths():
    """In the first four rows, `fine` has width 1/100, but 50/100 on its grid. `broad` has width 3/10 in both cases."""
    table = pa.table({"fine": [0, 1, 0, 1, 100, 100], "broad": [0, 0, 3, 3, 0, 10]})
    tight = kohort.Job.build(quasi=["fine", "broad"], k=2, method="mondrian")
    grid = kohort.Job.build(tight, ranges="grid", step={"fine": 50, "broad": 1})
    assert kohort.anonymize(table, tight).labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert kohort.anonymize(table, grid).labels.tolist() == [0, 1, 0, 1, 2, 2]


@settings(QUICK, max_examples=50)
@given(made=oracles.tables(), k=st.integers(2, 4), relaxed=st.booleans())
def test_mondrian_on_grids_matches_the_oracle(made, k, relaxed):
    columns, measures = made
    steps = {name: step for name, step in {"few": 2, "half": 0.5, "wide": 2**10}.items() if name in columns}
    measures = [
        oracles.NumbersOnGrid(column, str(steps[name])) if name in steps else measure
        for (name, column), measure in zip(columns.items(), measures, strict=True)
    ]
    table = pa.table(columns)
    job: dict[str, Any] = {"hierarchy": {"tree": oracles.TREE}} if "tree" in columns else {}
    job |= {"method": "mondrian", "option": {"relaxed": relaxed}, "row_order": "given"}
    release = kohort.anonymize(table, quasi=list(columns), k=k, ranges="grid", step=steps, **job)
    assert release.labels.tolist() == oracles.mondrian(list(columns.values()), measures, k, relaxed=relaxed)
