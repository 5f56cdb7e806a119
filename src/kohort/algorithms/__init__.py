"""The one registry of methods. To add one: write its file, list it here; the contract suite finds it."""

from __future__ import annotations

from kohort.algorithms import mondrian
from kohort.algorithms.base import Method, Options, Partition

METHODS: dict[str, Method] = {method.name: method for method in (mondrian.METHOD,)}

__all__ = ["METHODS", "Method", "Options", "Partition"]
