"""Repair of groups, compared with a simple reference implementation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import sensitive
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods.search import finish as finishing
from kohort.progress import Progress
from kohort.schema import columns as schema
from tests import oracles

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def plain_repair(columns, measures, labels, is_valid):
    """Merge the smallest invalid group with the one for which the total loss grows least, until all groups are valid."""
    groups = {label: [row for row, one in enumerate(labels) if one == label] for label in sorted(set(labels))}

    def cost(rows):
        width = sum(m.height_width([column[row] for row in rows]) for column, m in zip(columns, measures, strict=True))
        return len(rows) * Fraction(width)

    while len(groups) > 1:
        failing = [label for label, rows in groups.items() if not is_valid(rows)]
        if not failing:
            break
        one = min(failing, key=lambda label: (len(groups[label]), label))
        others = [label for label in groups if label != one]
        growth = {other: cost(groups[one] + groups[other]) - cost(groups[one]) - cost(groups[other]) for other in others}
        other = min(others, key=lambda label: (round(float(growth[label]), 5), label))
        near = sorted(growth.values())
        if len(near) > 1 and 0 < near[1] - near[0] < Fraction(1, 10**4):
            return None  # the difference is smaller than the precision of the costs in the search
        into, gone = min(one, other), max(one, other)
        groups[into] += groups.pop(gone)
    numbered = {row: number for number, rows in enumerate(groups.values()) for row in rows}
    return [numbered[row] for row in range(len(labels))] if all(map(is_valid, groups.values())) else []


@QUICK
@given(data=st.data(), made=oracles.tables(most=14), k=st.integers(2, 4), different=st.integers(1, 3))
def test_repair_matches_the_oracle(data, made, k, different):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    secrets = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    persons = data.draw(st.lists(st.integers(0, rows), min_size=rows, max_size=rows))
    labels = np.unique(data.draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows)), return_inverse=True)[1]
    table = pa.table({**columns, "s": secrets, "u": persons})
    requested = {"l": different} if different > 1 else {}
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    job = Job.build(quasi=list(columns), sensitive="s", unit="u", k=k, hierarchy=hierarchy, **requested)
    bound = schema.resolve(job.columns, table)
    units = sensitive.encode_units(table, bound)
    checks = Constraints(job.promise, rows, sensitive.encode_sensitive(table, bound, job.sensitive_promises()), units)

    def is_valid(part):
        return len({persons[row] for row in part}) >= k and len({secrets[row] for row in part}) >= different

    expected = plain_repair(list(columns.values()), measures, labels.tolist(), is_valid)
    points = encoding.encode(table, bound)
    if expected == []:
        with pytest.raises(PromiseError):
            finishing.repair(points, checks, labels, Progress(1))
    elif expected is not None:
        assert finishing.repair(points, checks, labels, Progress(1)).tolist() == expected
