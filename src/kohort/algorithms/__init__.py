"""The one registry of methods. To add one: write its file, list it here; the contract suite finds it."""

from __future__ import annotations

from kohort.algorithms import datafly, gccg, incognito, k_member, k_members, kaca, mondrian, mondrian_1d, threshold
from kohort.algorithms.base import Method, Options, Partition

_FILES = (mondrian, mondrian_1d, k_member, k_members, gccg, kaca, threshold, incognito, datafly)
METHODS: dict[str, Method] = {file.METHOD.name: file.METHOD for file in _FILES}

__all__ = ["METHODS", "Method", "Options", "Partition"]
