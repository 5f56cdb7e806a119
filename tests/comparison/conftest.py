"""Fixtures for the tests in this folder."""

from __future__ import annotations

import pytest

from kohort import datasets


@pytest.fixture(scope="module")
def sample():
    return datasets.hospital(600)
