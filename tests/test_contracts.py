"""The public contract suites, run over everything that is registered."""

from __future__ import annotations

import pytest

from kohort.algorithms import METHODS
from kohort.engines import ENGINES
from kohort.privacy import DEFINITIONS
from kohort.testing import ALGORITHM_CONTRACTS, ENGINE_CONTRACTS, PROMISE_CONTRACTS

CORE = {"mondrian", "gccg"}  # the others keep their promises by the same code, so `make test` asks only these each by itself
PAIRS = [
    pytest.param(method, promise, id=f"{method.name}-{promise}", marks=[] if method.name in CORE else pytest.mark.slow)
    for method in METHODS.values()
    for promise in method.promises
]


def named(contract):
    return contract.__name__


@pytest.mark.parametrize("contract", ALGORITHM_CONTRACTS, ids=named)
@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_method(method, contract):
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
