"""The one registry of methods. To add one: write its file, list it here; the contract suite finds it."""

from __future__ import annotations

from kohort.algorithms import gccg, k_member, k_members, kaca, mondrian, threshold
from kohort.algorithms.base import Method, Options, Partition

_FILES = (mondrian, k_member, k_members, gccg, kaca, threshold)
METHODS: dict[str, Method] = {file.METHOD.name: file.METHOD for file in _FILES}

__all__ = ["METHODS", "Method", "Options", "Partition"]
