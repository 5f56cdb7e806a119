"""Fixtures for the tests of this folder."""

from __future__ import annotations

import pytest


@pytest.fixture
def sklearn():
    pytest.importorskip("sklearn", reason="models need scikit-learn: install kohort[ml]")


@pytest.fixture
def small_forest(monkeypatch):
    monkeypatch.setattr("kohort.utility.models.estimators.TREES", 20)
