"""What an inspection says, in forms that tests compare."""

from __future__ import annotations

import json
import random

import pyarrow as pa

import kohort as kh


def roles(inspection: kh.Inspection) -> dict[str, str]:
    return {one.name: said.role for one, said in zip(inspection.profiles, inspection.suggestions, strict=True)}


def all_shown(inspection: kh.Inspection) -> str:
    """Everything that a user may see of an inspection on a screen or in a log."""
    return "\n".join([repr(inspection), *inspection.lines(), json.dumps(inspection.to_dict(), ensure_ascii=False)])


def _pairs(inspection):
    return inspection.profiles, inspection.suggestions


# --- several rows of one person


def visits(rows: int = 600, persons: int = 150, **columns: list[str]) -> pa.Table:
    """Visits of patients, each of whom keeps age, sex and zip, as a table of text."""
    chance = random.Random(7)
    whose = [n % persons for n in range(rows)]
    return pa.table(
        {
            "patient": [f"P{n * 7919 % 100000:05d}" for n in whose],
            "age": [str(20 + n * 37 % 60) for n in whose],
            "sex": ["mf"[n * 31 // 7 % 2] for n in whose],
            "zip": [f"{10000 + n * 53 % 40}" for n in whose],
            "seen": [f"2019-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}" for _ in whose],
            "diagnosis": [chance.choice(["flu", "flu", "cold", "cough", "gout"]) for _ in whose],
            **columns,
        }
    )
