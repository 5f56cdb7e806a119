"""Settings of promises for the contracts: random, typical, binding, and the strongest that given groups keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kohort.job.job import Job
from kohort.methods import Method
from kohort.testing.plain_counts import TINY, Held, disclosure, distance, entropy_l, gain, recursive_c
from kohort.testing.requirements import refusals_allowed
from kohort.testing.sample_tables import ROWS, SECRET_TREE, SECRETS, job_for, option_sets, sized, tables

_SHARES = st.floats(0.1, 0.95).map(lambda share: round(share, 2))
PARAMETERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "k": st.just({}),
    "alpha": st.fixed_dictionaries(
        {"alpha": _SHARES | st.dictionaries(st.sampled_from(("default", *SECRETS)), _SHARES, min_size=1, max_size=3)}
    ),
    "l": st.fixed_dictionaries({"l": st.integers(2, 5)}),
    "entropy_l": st.fixed_dictionaries({"entropy_l": st.floats(1.05, 4)}),
    "recursive_l": st.fixed_dictionaries({"recursive_l": st.tuples(st.integers(2, 4), st.floats(0.3, 5))}),
    "t": st.fixed_dictionaries({"t": st.floats(0.02, 0.9), "t_distance": st.sampled_from((None, "equal", "ordered", "tree"))}),
    "beta": st.fixed_dictionaries({"beta": st.floats(0.05, 5), "beta_kind": st.sampled_from((None, "enhanced", "basic"))}),
    "delta": st.fixed_dictionaries({"delta": st.floats(0.2, 5)}),
}
"""By promise: a hypothesis strategy for its settings, from weak to strong, for the column `secret`."""
TYPICAL: dict[str, tuple[dict[str, Any], ...]] = {
    "k": ({},),
    "alpha": ({"alpha": 0.5}, {"alpha": 0.1}),
    "l": ({"l": 3}, {"l": ROWS}),
    "entropy_l": ({"entropy_l": 2.5}, {"entropy_l": ROWS}),
    "recursive_l": ({"recursive_l": (2, 1.5)}, {"recursive_l": (ROWS, 3)}),
    "t": ({"t": 0.4}, {"t": 0.2, "t_distance": "ordered"}),
    "beta": ({"beta": 2}, {"beta": 1, "beta_kind": "basic"}),
    "delta": ({"delta": 1.5},),
}
"""By promise: a few typical settings."""
BINDING: dict[str, tuple[dict[str, Any], ...]] = {
    "k": ({},),
    "alpha": ({"alpha": 0.75}, {"alpha": {SECRETS[0]: 0.8, SECRETS[2]: 0.45}}),
    "l": ({"l": 3},),
    "entropy_l": ({"entropy_l": 2.6},),
    "recursive_l": ({"recursive_l": (2, 1.3)}, {"recursive_l": (3, 4)}),
    "t": tuple(
        {"t": 0.12, "t_distance": measure, "hierarchy": {"secret": SECRET_TREE}} for measure in ("equal", "ordered", "tree")
    ),
    "beta": ({"beta": 0.5}, {"beta": 0.4, "beta_kind": "basic"}),
    "delta": ({"delta": 0.8}, {"delta": 0.5}),
}
"""By promise: settings that decide how far `sample_tables.large_table` can be cut."""
STRONGEST: dict[str, Callable[[Sequence[Held], Held], dict[str, Any]]] = {
    "k": lambda groups, _: {"k": min(here.persons for here in groups)},
    "alpha": lambda groups, _: {"alpha": max(max(here.counts.values()) / here.persons for here in groups)},
    "l": lambda groups, _: {"l": min(len(here.counts) for here in groups)},
    "entropy_l": lambda groups, _: {"entropy_l": min(entropy_l(here) for here in groups) * (1 - TINY)},
    "recursive_l": lambda groups, _: {"recursive_l": (2, max(recursive_c(here, 2) for here in groups) * (1 + TINY))},
    "t": lambda groups, everybody: {"t": max(distance(here, everybody, "equal") for here in groups) + TINY},
    "beta": lambda groups, everybody: {
        "beta": max(gain(here, everybody, value) for here in groups for value in here.counts) + TINY,
        "beta_kind": "basic",
    },
    "delta": lambda groups, everybody: {"delta": max(disclosure(here, everybody) for here in groups) + TINY},
}
"""By promise: a function of (groups, whole release) that returns the strongest settings that all groups keep."""


def _fitting(requested: dict[str, Any], table: pa.Table) -> dict[str, Any] | None:
    """Remove limits for values that are not in the table, because a job that names such values raises an error.

    Return None if no limit is left.
    """
    alpha = requested.get("alpha")
    if not isinstance(alpha, Mapping) or "sensitive" in requested:
        return requested
    held = {"default", *table.column("secret").to_pylist()}.difference(requested.get("missing", ()))
    fitting = {value: share for value, share in alpha.items() if value in held}
    return {**requested, "alpha": fitting} if fitting else None


def with_promises(
    method: Method, drawn: st.SearchStrategy[dict[str, Any]], test: Callable[[pa.Table, Job], object], examples: int
) -> None:
    """Run a check on `examples` random tables with random settings, distributed over all sets of options of the method."""
    sets = option_sets(method)
    for option in sets:

        def on_random(option: dict[str, Any], table: pa.Table, k: int, requested: dict[str, Any]) -> None:
            fitting = _fitting(requested, table)
            if fitting is not None:
                with refusals_allowed(method):
                    test(table, job_for(method, option, k, **fitting))

        sized(-(-examples // len(sets)))(given(st.just(option), tables(least=12), st.integers(2, 5), drawn)(on_random))()
