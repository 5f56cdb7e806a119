"""Public contract suites: checks that every method, promise and engine must pass. They need the extra `testing`.

Run a whole suite with `check_algorithm(...)`, `check_promise(...)` or `check_engine(...)`::

    from kohort.testing import check_algorithm, check_promise
    check_algorithm("mondrian")
    check_promise("l")

Each contract is also a function of its own, so that a test runner can name the contract that fails. `ALGORITHM_CONTRACTS`,
`PROMISE_CONTRACTS` and `ENGINE_CONTRACTS` list them. The checks count and compare published values. They share no code with the
methods.
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
"""The contracts of a method. Each takes the method."""
PROMISE_CONTRACTS: tuple[Callable[[Method, str], None], ...] = (
    kept_alone,
    kept_for_persons,
    kept_in_many_classes,
    kept_in_corners,
    changes_nothing_if_kept,
)
"""The contracts of a promise. Each takes a method and the name of a promise that the method supports."""
ENGINE_CONTRACTS: tuple[Callable[[str], None], ...] = (
    gives_the_same_release,
    counts_persons,
    refuses_with_a_way_out,
    writes_what_it_proved,
    leaves_nothing_when_it_fails,
    shuffles_unpredictably,
)
"""The contracts of an engine. Each takes the name of the engine."""


def promises_kept(method: Method) -> None:
    """Check that a method keeps every promise that it supports."""
    for promise in method.promises:
        for contract in PROMISE_CONTRACTS:
            contract(method, promise)


def check_algorithm(name: str) -> None:
    """Check that a method keeps every contract, and every promise that it supports.

    Parameters
    ----------
    name : str
        The name of the method, as in `kohort.methods.METHODS`.

    Raises
    ------
    AssertionError
        If a contract fails, or if there is no method of this name.

    Examples
    --------
    >>> check_algorithm("my-method")
    Traceback (most recent call last):
    AssertionError: There is no method 'my-method'. List its file in kohort/methods/__init__.py.

    """
    assert name in METHODS, f"There is no method {name!r}. List its file in kohort/methods/__init__.py."
    for contract in ALGORITHM_CONTRACTS:
        contract(METHODS[name])
    promises_kept(METHODS[name])


def check_promise(name: str) -> None:
    """Check that every method that supports a promise keeps it.

    Parameters
    ----------
    name : str
        The name of the promise, as in `kohort.schema.promises.DEFINITIONS`, for example "l" or "t".

    Raises
    ------
    AssertionError
        If a contract fails, or if there is no promise of this name.

    Examples
    --------
    >>> check_promise("gamma")
    Traceback (most recent call last):
    AssertionError: There is no promise 'gamma'. List its file in kohort/schema/promises/promise.py.

    """
    assert name in DEFINITIONS, f"There is no promise {name!r}. List its file in kohort/schema/promises/promise.py."
    for method in METHODS.values():
        if name in method.promises:
            for contract in PROMISE_CONTRACTS:
                contract(method, name)


def check_engine(name: str) -> None:
    """Check that an engine keeps every contract.

    Parameters
    ----------
    name : str
        The name of the engine, as in `kohort.engines.choose.ENGINES`, for example "disk".

    Raises
    ------
    AssertionError
        If a contract fails, or if there is no engine of this name.

    Examples
    --------
    >>> check_engine("cloud")
    Traceback (most recent call last):
    AssertionError: There is no engine 'cloud'. Add it to ENGINES in kohort/engines/choose.py.

    """
    assert name in ENGINES, f"There is no engine {name!r}. Add it to ENGINES in kohort/engines/choose.py."
    for contract in ENGINE_CONTRACTS:
        contract(name)
