"""The public contract suites, run over everything that is registered."""

from __future__ import annotations

import pytest

from kohort.algorithms import METHODS
from kohort.engines import ENGINES
from kohort.privacy import DEFINITIONS
from kohort.testing import (
    ALGORITHM_CONTRACTS,
    ENGINE_CONTRACTS,
    PROMISE_CONTRACTS,
    can_be_cancelled,
    inputs_untouched,
    kept_together,
    same_at_any_thread_count,
    too_few_rows,
)

CORE = ["mondrian"]  # the others share what keeps promises, so `make test` asks them less; `make test-all` asks all
OTHERS = {name: method for name, method in METHODS.items() if name not in CORE}
QUICK = [inputs_untouched, too_few_rows, can_be_cancelled, same_at_any_thread_count, kept_together]
PAIRS = [
    pytest.param(method, promise, id=f"{method.name}-{promise}", marks=[] if method.name in CORE else pytest.mark.slow)
    for method in METHODS.values()
    for promise in method.promises
]


def named(contract):
    return contract.__name__


@pytest.mark.parametrize("contract", ALGORITHM_CONTRACTS, ids=named)
@pytest.mark.parametrize("method", [METHODS[name] for name in CORE], ids=CORE)
def test_method(method, contract):
    contract(method)


@pytest.mark.parametrize("contract", QUICK, ids=named)
@pytest.mark.parametrize("method", OTHERS.values(), ids=list(OTHERS))
def test_other_method(method, contract):
    contract(method)


@pytest.mark.slow
@pytest.mark.parametrize("contract", [contract for contract in ALGORITHM_CONTRACTS if contract not in QUICK], ids=named)
@pytest.mark.parametrize("method", OTHERS.values(), ids=list(OTHERS))
def test_other_method_at_length(method, contract):
    contract(method)


@pytest.mark.parametrize("contract", PROMISE_CONTRACTS, ids=named)
@pytest.mark.parametrize(("method", "promise"), PAIRS)
def test_promise(method, promise, contract):
    contract(method, promise)


@pytest.mark.parametrize("contract", ENGINE_CONTRACTS, ids=named)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine(engine, contract):
    contract(engine)


def test_every_promise_is_kept_by_some_method():
    assert set(DEFINITIONS) == {promise for method in METHODS.values() for promise in method.promises}
