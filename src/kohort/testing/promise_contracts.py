"""The contracts of a promise, for each method that supports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from kohort import api
from kohort.encoding.points import Objective
from kohort.errors import PromiseError, RequestError
from kohort.job.job import Job
from kohort.methods import Method
from kohort.schema.promises import SENSITIVE_PROMISES
from kohort.testing.plain_counts import Held, grouped, value_of
from kohort.testing.promise_settings import BINDING, PARAMETERS, STRONGEST, TYPICAL, with_promises
from kohort.testing.requirements import identity, refusals_allowed, require_kept, require_raises
from kohort.testing.sample_tables import (
    EXAMPLES,
    EXAMPLES_PER_PROMISE,
    TREE,
    enough_for_threads,
    job_for,
    large_table,
    many_sensitive,
    option_sets,
    special_sensitive,
)


def kept_alone(method: Method, promise: str) -> None:
    """Check that the release keeps the promise, or that an error is raised because the promise cannot be kept."""
    with_promises(method, PARAMETERS[promise], require_kept, EXAMPLES_PER_PROMISE)


def kept_for_persons(method: Method, promise: str) -> None:
    """Check the same as `kept_alone` with several rows per person: people are counted, and the unit column is not published."""
    of_persons = PARAMETERS[promise].map(lambda requested: {**requested, "unit": ["person"]})
    with_promises(method, of_persons, require_kept, EXAMPLES_PER_PROMISE)


def kept_in_many_classes(method: Method, promise: str) -> None:
    """Check on a larger table that every group keeps the promise, and that the method makes many groups, not one.

    The check runs for rows and for people.
    """
    merges_only = method.in_blocks and not method.uses_promises
    least = 2 if method.recodes_globally or merges_only else 8
    table = large_table()
    for option in option_sets(method):
        for requested in BINDING[promise]:
            for roles in ({"drop": "person"}, {"unit": "person"}):
                job = {"quasi": table.column_names[:4], "sensitive": "secret", "method": method.name, "option": option, "seed": 7}
                release = require_kept(table, Job.build(**job, **roles, **requested, k=4))
                if release is None and method.may_refuse:
                    continue
                assert release is not None, "the method raised an error although the promise can be kept"
                assert release.labels.max() >= least, "the method made too few groups of rows that differ"


def kept_in_corners(method: Method, promise: str) -> None:
    """Check the special cases of a sensitive column: one value, all different, all missing, thousands of values."""
    for requested in TYPICAL[promise]:
        for _title, table in special_sensitive():
            require_kept(table, job_for(method, {}, 3, hierarchy={"tree": TREE}, **requested))
    table = many_sensitive(4_000 if method.in_blocks else 20_000)
    for requested in TYPICAL[promise]:
        quasi = table.column_names[:3]
        require_kept(table, Job.build(quasi=quasi, sensitive="secret", method=method.name, k=5, seed=7, block=1_000, **requested))


def changes_nothing_if_kept(method: Method, promise: str) -> None:
    """Check that a promise that the method's groups already keep does not change the groups.

    The check runs without rounds of improvement, because these may pass through groups that break the promise.
    """
    if promise == "k" and method.in_blocks:  # these methods aim at groups of k rows, so another k gives other groups
        return
    times = 0

    def check(table: pa.Table, job: Job) -> None:
        nonlocal times
        before = api.anonymize(table, job)
        values = [value_of(cell, job) for cell in table.column("secret").to_pylist()]
        everybody = Held.by(range(len(values)), range(len(values)), values)
        # Clusters, not published groups: a cluster whose published values no other cluster has must keep the promise by itself.
        groups = [Held.by(members, range(len(values)), values) for members in grouped(before.labels.tolist())]
        strongest = STRONGEST[promise](groups, everybody)
        try:
            stronger = Job.build(job, **strongest)
        except RequestError:  # the settings promise nothing, for example l = 1
            return
        times += 1
        assert np.array_equal(before.labels, api.anonymize(table, stronger).labels), f"the labels changed with {strongest}"

    large = large_table()
    for option in option_sets(method):
        job = {"quasi": large.column_names[:4], "sensitive": "secret", "drop": "person", "method": method.name, "option": option}
        with refusals_allowed(method):
            check(large, Job.build(**job, seed=7, k=60, effort=0))
    assert times or method.may_refuse, "no setting was checked on the large table"
    with_promises(method, st.just({"effort": 0}), check, EXAMPLES_PER_PROMISE // 2)


def kept_together(method: Method) -> None:
    """Check several promises at once, with and without suppression, for rows and for people, with texts that mean missing."""

    @st.composite
    def several(draw: st.DrawFn) -> dict[str, Any]:
        requested: dict[str, Any] = {
            "suppress": draw(st.sampled_from((0, 0, 0.1, 0.3))),
            "suppressed": draw(st.sampled_from(("leave", "star"))),
            "unit": draw(st.sampled_from(((), (), ("person",)))),
            "missing": draw(st.sampled_from(((), ("rabies",)))),
            "ranges": draw(st.sampled_from(("tight", "grid"))),
        }
        for promise in draw(st.lists(st.sampled_from(SENSITIVE_PROMISES), min_size=2, max_size=4, unique=True)):
            requested |= draw(PARAMETERS[promise])
        return requested

    with_promises(method, several(), require_kept, EXAMPLES)


def kept_by_each_column(method: Method) -> None:
    """Check two sensitive columns that have different promises."""

    @st.composite
    def by_column(draw: st.DrawFn) -> dict[str, Any]:
        requested: dict[str, Any] = {"sensitive": ("secret", "score")}
        for column in requested["sensitive"]:
            drawn = draw(PARAMETERS[draw(st.sampled_from(SENSITIVE_PROMISES))])
            for name, value in drawn.items():
                if isinstance(value, Mapping):
                    value = {"default": min(value.values())}  # noqa: PLW2901 - `kept_alone` checks limits for single values
                elif column == "score" and value == "tree":
                    value = "ordered"  # noqa: PLW2901
                if value is not None:
                    requested.setdefault(name, {})[column] = value
        return requested

    with_promises(method, by_column(), require_kept, EXAMPLES)


def kept_when_improved(method: Method) -> None:
    """Check that improved groups keep the promises for every objective.

    Methods that recode a column everywhere in the same way cannot improve groups. For them, check that effort raises an error.
    """
    if method.recodes_globally:
        require_raises(RequestError, lambda: job_for(method, {}, 2, effort=1))
        return

    @st.composite
    def searches(draw: st.DrawFn) -> dict[str, Any]:
        requested: dict[str, Any] = {
            "effort": draw(st.integers(1, 3)),
            "objective": draw(st.sampled_from(get_args(Objective))),
            "suppress": draw(st.sampled_from((0, 0, 0.2))),
            "unit": draw(st.sampled_from(((), ("person",)))),
            "ranges": draw(st.sampled_from(("tight", "grid"))),
        }
        if requested["objective"] == "class":
            requested["label"] = draw(st.sampled_from(("ward", "few")))
        return requested | draw(PARAMETERS[draw(st.sampled_from(("k", *SENSITIVE_PROMISES)))])

    with_promises(method, searches(), require_kept, EXAMPLES)


def same_promises_for_any_row_order(method: Method) -> None:
    """Check that the release or the error does not depend on the order of the rows, for several promises and suppression."""
    drawn = st.fixed_dictionaries(
        {
            "suppress": st.sampled_from((0, 0.2)),
            "unit": st.sampled_from(((), ("person",))),
            "l": st.sampled_from((None, 2, 3)),
            "t": st.sampled_from((None, 0.4)),
        }
    )

    def outcome(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]] | str:
        try:
            return identity(table, job)
        except PromiseError as error:
            return str(error)

    def check(table: pa.Table, job: Job) -> None:
        shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
        assert outcome(table, job) == outcome(shuffled, job)

    with_promises(method, drawn, check, EXAMPLES_PER_PROMISE)


def same_promises_at_any_thread_count(method: Method) -> None:
    """Check that 1 and 4 threads give the same labels with several promises."""
    for option in option_sets(method):
        table, job = enough_for_threads(method, option, l=4, alpha=0.5, t=0.4, suppress=0.01)
        with refusals_allowed(method):
            one, four = (api.anonymize(table, job, threads=threads).labels for threads in (1, 4))
            assert np.array_equal(one, four)
