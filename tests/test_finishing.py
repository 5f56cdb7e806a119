"""After the method: repair against a plain reading, suppression within its budget, what the reader sees of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import sensitive
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods.search import finish as finishing
from kohort.methods.search.finish.suppress import suppress_failing
from kohort.progress import Progress
from kohort.schema import columns as schema
from tests import oracles

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def plain_repair(columns, measures, labels, stands):
    """The smallest failing group merges with the one for which the total loss grows least, until all stand."""
    groups = {label: [row for row, one in enumerate(labels) if one == label] for label in sorted(set(labels))}

    def cost(rows):
        width = sum(m.height_width([column[row] for row in rows]) for column, m in zip(columns, measures, strict=True))
        return len(rows) * Fraction(width)

    while len(groups) > 1:
        failing = [label for label, rows in groups.items() if not stands(rows)]
        if not failing:
            break
        one = min(failing, key=lambda label: (len(groups[label]), label))
        others = [label for label in groups if label != one]
        growth = {other: cost(groups[one] + groups[other]) - cost(groups[one]) - cost(groups[other]) for other in others}
        other = min(others, key=lambda label: (round(float(growth[label]), 5), label))
        near = sorted(growth.values())
        if len(near) > 1 and 0 < near[1] - near[0] < Fraction(1, 10**4):
            return None  # closer than the costs inside searches tell apart
        into, gone = min(one, other), max(one, other)
        groups[into] += groups.pop(gone)
    numbered = {row: number for number, rows in enumerate(groups.values()) for row in rows}
    return [numbered[row] for row in range(len(labels))] if all(map(stands, groups.values())) else []


@QUICK
@given(data=st.data(), made=oracles.tables(most=14), k=st.integers(2, 4), different=st.integers(1, 3))
def test_repair_is_the_plain_version(data, made, k, different):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    secrets = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    persons = data.draw(st.lists(st.integers(0, rows), min_size=rows, max_size=rows))
    labels = np.unique(data.draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows)), return_inverse=True)[1]
    table = pa.table({**columns, "s": secrets, "u": persons})
    asked = {"l": different} if different > 1 else {}
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    job = Job.build(quasi=list(columns), sensitive="s", unit="u", k=k, hierarchy=hierarchy, **asked)
    bound = schema.resolve(job.columns, table)
    units = sensitive.encode_units(table, bound)
    checks = Constraints(job.promise, rows, sensitive.encode_sensitive(table, bound, job.sensitive_promises()), units)

    def stands(part):
        return len({persons[row] for row in part}) >= k and len({secrets[row] for row in part}) >= different

    expected = plain_repair(list(columns.values()), measures, labels.tolist(), stands)
    points = encoding.encode(table, bound)
    if expected == []:
        with pytest.raises(PromiseError):
            finishing.repair(points, checks, labels, Progress(1))
    elif expected is not None:
        assert finishing.repair(points, checks, labels, Progress(1)).tolist() == expected


def test_failing_groups_leave_smallest_first_while_they_fit():
    labels = np.repeat(np.arange(5), [3, 9, 2, 4, 9])
    checks = Constraints(Job.build(quasi="q", k=5).promise, len(labels))
    gone = {budget: np.unique(labels[suppress_failing(checks, labels, budget) < 0]).tolist() for budget in range(11)}
    assert gone == {0: [], 1: [], 2: [2], 3: [2], 4: [2], 5: [0, 2], 6: [0, 2], 7: [0, 2], 8: [0, 2], 9: [0, 2, 3], 10: [0, 2, 3]}


def test_what_was_left_out_has_no_cells_after():
    table = pa.table({"age": [20, 21, 22, 23, 24, 999], "s": list("abcabc")})
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, suppress=0.2, method="mondrian", seed=7)
    assert np.flatnonzero(release.labels < 0).tolist() == [5]
    before, after = release.preview([4, 5])
    assert before["age"].to_pylist() == [24, 999]
    assert after.to_pylist()[1] == {"age": None, "s": None}
    assert after["age"][0].as_py().startswith("[")


def test_classes_are_counted_in_persons():
    table = pa.table({"age": [20] * 6 + [60] * 6, "s": list("abcabc") * 2, "u": [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8]})
    release = kh.anonymize(table, quasi="age", sensitive="s", unit="u", k=3, seed=7)
    assert sorted(release._result.class_sizes.tolist()) == [3, 6]
    assert release.evidence.k == 3
    assert release.table.column_names == ["age", "s"]


def test_classes_that_look_alike_must_stand_as_one_where_persons_are_counted():
    """Both halves hold each value once a person; together each person holds both, so half is no limit any more."""
    table = pa.table({"age": [20] * 8, "s": list("abababab"), "u": [0, 1, 2, 3, 1, 0, 3, 2]})
    asked: dict[str, Any] = {"quasi": "age", "sensitive": "s", "unit": "u", "k": 2, "alpha": 0.6}
    asked |= {"method": "mondrian", "option": {"relaxed": True}}
    with pytest.raises(PromiseError, match=r"alpha=0\.6"):
        kh.anonymize(table, **asked)
