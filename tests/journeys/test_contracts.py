"""Every method, engine and promise keeps its contracts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kohort.engines.choose import ENGINES
from kohort.methods import METHODS, Method
from kohort.schema.promises import DEFINITIONS
from kohort.testing import (
    ALGORITHM_CONTRACTS,
    ENGINE_CONTRACTS,
    PROMISE_CONTRACTS,
    can_be_cancelled,
    inputs_untouched,
    kept_in_corners,
    kept_in_many_classes,
    kept_together,
    kept_when_improved,
    same_at_any_thread_count,
    same_for_any_row_order,
    too_few_rows,
)

# `make test` runs nearly all contracts for mondrian and the quick ones for auto, the default method. The other methods use the
# same code for promises, and compiling each of them takes time. `make test-all` runs all contracts for all methods.
QUICK: list[Callable[[Method], None]] = [
    inputs_untouched,
    too_few_rows,
    can_be_cancelled,
    same_at_any_thread_count,
    kept_together,
]
FIRST: dict[str, list[Callable[[Method], None]]] = {
    "mondrian": [contract for contract in ALGORITHM_CONTRACTS if contract not in (kept_when_improved, same_for_any_row_order)],
    "auto": QUICK,
}
CASES = [
    pytest.param(
        method,
        contract,
        id=f"{method.name}-{contract.__name__}",
        marks=[] if contract in FIRST.get(method.name, []) else pytest.mark.slow,
    )
    for method in METHODS.values()
    for contract in ALGORITHM_CONTRACTS
]
LONGER = (kept_in_corners, kept_in_many_classes)  # for most promises only `make test-all` runs these
TRIPLES = [
    pytest.param(
        method,
        promise,
        contract,
        id=f"{method.name}-{promise}-{contract.__name__}",
        marks=[] if method.name == "mondrian" and (contract not in LONGER or promise in ("k", "l")) else pytest.mark.slow,
    )
    for method in METHODS.values()
    for promise in method.promises
    for contract in PROMISE_CONTRACTS
]


def named(contract):
    return contract.__name__


@pytest.mark.parametrize(("method", "contract"), CASES)
def test_method_keeps_its_contract(method, contract):
    contract(method)


@pytest.mark.parametrize(("method", "promise", "contract"), TRIPLES)
def test_method_keeps_the_contract_of_a_promise(method, promise, contract):
    contract(method, promise)


@pytest.mark.parametrize("contract", ENGINE_CONTRACTS, ids=named)
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark"])  # see tests/engines/spark
def test_engine_keeps_its_contract(engine, contract):
    contract(engine)


def test_every_promise_is_supported_by_a_method():
    assert set(DEFINITIONS) == {promise for method in METHODS.values() for promise in method.promises}
