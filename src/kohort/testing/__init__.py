"""Contract suites, public: what every method, promise and engine must do, whoever wrote it. Needs the extra `testing`.

    from kohort.testing import check_algorithm, check_promise
    check_algorithm("mondrian")
    check_promise("l")

Each contract is a function of its own, listed at the foot, so that a test runner can name the one that fails.
The checks count and compare published text; they share no code with the methods.
"""

from __future__ import annotations

from collections.abc import Callable

from kohort.engines.choose import ENGINES
from kohort.methods import METHODS, Method
from kohort.schema.promises import DEFINITIONS
from kohort.testing.engine_contracts import (
    counts_persons,
    gives_the_same_release,
    leaves_nothing_when_it_fails,
    refuses_with_a_way_out,
    shuffles_unpredictably,
    writes_what_it_proved,
)
from kohort.testing.method_contracts import (
    can_be_cancelled,
    inputs_untouched,
    labels_without_gaps,
    promise_kept,
    same_at_any_thread_count,
    same_for_any_row_order,
    too_few_rows,
)
from kohort.testing.plain_counts import KEEPS, Held, broken, disclosure, distance, entropy_l, gain, recursive_c
from kohort.testing.promise_contracts import (
    changes_nothing_if_kept,
    kept_alone,
    kept_by_each_column,
    kept_for_persons,
    kept_in_corners,
    kept_in_many_classes,
    kept_together,
    kept_when_improved,
    same_promises_at_any_thread_count,
    same_promises_for_any_row_order,
)
from kohort.testing.promise_settings import BINDING, PARAMETERS, STRONGEST, TYPICAL
from kohort.testing.sample_tables import (
    COLUMNS,
    EXTRA,
    KINDS,
    QUASI,
    ROWS,
    SECRET_TREE,
    SECRETS,
    TREE,
    job_for,
    many_sensitive,
    option_sets,
    special_sensitive,
    special_tables,
    tables,
)

__all__ = [
    "ALGORITHM_CONTRACTS",
    "BINDING",
    "COLUMNS",
    "ENGINE_CONTRACTS",
    "EXTRA",
    "KEEPS",
    "KINDS",
    "PARAMETERS",
    "PROMISE_CONTRACTS",
    "QUASI",
    "ROWS",
    "SECRETS",
    "SECRET_TREE",
    "STRONGEST",
    "TREE",
    "TYPICAL",
    "Held",
    "broken",
    "can_be_cancelled",
    "changes_nothing_if_kept",
    "check_algorithm",
    "check_engine",
    "check_promise",
    "counts_persons",
    "disclosure",
    "distance",
    "entropy_l",
    "gain",
    "gives_the_same_release",
    "inputs_untouched",
    "job_for",
    "kept_alone",
    "kept_by_each_column",
    "kept_for_persons",
    "kept_in_corners",
    "kept_in_many_classes",
    "kept_together",
    "kept_when_improved",
    "labels_without_gaps",
    "leaves_nothing_when_it_fails",
    "many_sensitive",
    "option_sets",
    "promise_kept",
    "promises_kept",
    "recursive_c",
    "refuses_with_a_way_out",
    "same_at_any_thread_count",
    "same_for_any_row_order",
    "same_promises_at_any_thread_count",
    "same_promises_for_any_row_order",
    "shuffles_unpredictably",
    "special_sensitive",
    "special_tables",
    "tables",
    "too_few_rows",
    "writes_what_it_proved",
]

ALGORITHM_CONTRACTS: tuple[Callable[[Method], None], ...] = (
    labels_without_gaps,
    inputs_untouched,
    promise_kept,
    same_at_any_thread_count,
    same_for_any_row_order,
    too_few_rows,
    can_be_cancelled,
    kept_together,
    kept_by_each_column,
    kept_when_improved,
    same_promises_for_any_row_order,
    same_promises_at_any_thread_count,
)
PROMISE_CONTRACTS: tuple[Callable[[Method, str], None], ...] = (
    kept_alone,
    kept_for_persons,
    kept_in_many_classes,
    kept_in_corners,
    changes_nothing_if_kept,
)
ENGINE_CONTRACTS: tuple[Callable[[str], None], ...] = (
    gives_the_same_release,
    counts_persons,
    refuses_with_a_way_out,
    writes_what_it_proved,
    leaves_nothing_when_it_fails,
    shuffles_unpredictably,
)


def promises_kept(method: Method) -> None:
    """Every promise that a method says it can keep."""
    for promise in method.promises:
        for contract in PROMISE_CONTRACTS:
            contract(method, promise)


def check_algorithm(name: str) -> None:
    """Every contract of a method."""
    assert name in METHODS, f"there is no method {name!r}; is it listed in methods/__init__.py?"
    for contract in ALGORITHM_CONTRACTS:
        contract(METHODS[name])
    promises_kept(METHODS[name])


def check_promise(name: str) -> None:
    """A promise is kept by every method that says it can keep it."""
    assert name in DEFINITIONS
    for method in METHODS.values():
        if name in method.promises:
            for contract in PROMISE_CONTRACTS:
                contract(method, name)


def check_engine(name: str) -> None:
    """Every contract of an engine."""
    assert name in ENGINES
    for contract in ENGINE_CONTRACTS:
        contract(name)
