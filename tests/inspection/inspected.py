"""Helpers for tests of inspections: roles by column, all texts shown to users, and a table of visits."""

from __future__ import annotations

import json
import random

import pyarrow as pa

import kohort as kh


def roles(inspection: kh.Inspection) -> dict[str, str]:
    """Return the suggested role of each column."""
    return {one.name: suggestion.role for one, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True)}


def reasons(inspection: kh.Inspection) -> dict[str, str]:
    """Return the reason for the suggested role of each column."""
    return {one.name: suggestion.reason for one, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True)}


def all_shown(inspection: kh.Inspection) -> str:
    """Return everything that a user may see of an inspection on a screen or in a log."""
    return "\n".join([repr(inspection), *inspection.lines(), json.dumps(inspection.to_dict(), ensure_ascii=False)])


# --- several rows of one person


def visits(rows: int = 600, persons: int = 150, **columns: list[str]) -> pa.Table:
    """Return a table of visits. Age, sex and zip of a patient are the same in all visits."""
    rng = random.Random(7)
    person = [n % persons for n in range(rows)]
    return pa.table(
        {
            "patient": [f"P{n * 7919 % 100000:05d}" for n in person],
            "age": [str(20 + n * 37 % 60) for n in person],
            "sex": ["mf"[n * 31 // 7 % 2] for n in person],
            "zip": [f"{10000 + n * 53 % 40}" for n in person],
            "seen": [f"2019-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}" for _ in person],
            "diagnosis": [rng.choice(["flu", "flu", "cold", "cough", "gout"]) for _ in person],
            **columns,
        }
    )
