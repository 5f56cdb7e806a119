"""Where rows live. An engine decides nothing about the release: the same job gives the same one on each."""

from __future__ import annotations

from kohort.engines.base import Engine, Result
from kohort.engines.memory import MemoryEngine

ENGINES: dict[str, type[Engine]] = {"memory": MemoryEngine}

__all__ = ["ENGINES", "Engine", "Result"]
