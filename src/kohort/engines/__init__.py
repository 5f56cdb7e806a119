"""Where rows live. An engine decides nothing about the release: the same job gives the same one on each."""

from __future__ import annotations

from kohort.engines.base import Engine, Result
from kohort.engines.choose import ENGINES, engine_for

__all__ = ["ENGINES", "Engine", "Result", "engine_for"]
