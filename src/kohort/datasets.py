"""Sample tables made by formula, and named public ones from a folder. Nobody in a made table exists.

Every number is a hash of the row and the column, so a table is the same on every machine and any part of it can be made alone.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.row_order import splitmix64
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.tables import tables

Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """A table, the trees of its columns, and a job that fits it."""

    table: pa.Table
    job: Job
    trees: Mapping[str, Rows] = field(default_factory=dict)

    def write(self, folder: Path, **settings: Any) -> tuple[Path, Path]:
        """Put the table, its trees and its job, changed by settings, into a folder; the paths of table and job."""
        (folder / "trees").mkdir(parents=True, exist_ok=True)
        for name, rows in self.trees.items():
            with (folder / "trees" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter=";", lineterminator="\n").writerows(rows)
        source = folder / "patients.csv"
        source.touch()
        tables.batches_to_file(self.table.to_batches(), self.table.schema, source, tables.CsvFormat())
        paths = {name: str(folder / "trees" / f"{name}.csv") for name in self.trees}
        Job.build(self.job, hierarchy=paths, **settings).save(folder / "job.toml")
        return source, folder / "job.toml"


def _uniform(rows: int, column: int, seed: int, first: int = 0) -> NDArray[np.float64]:
    """One number in [0, 1) per row, by the row's number, the column's and the seed."""
    start = splitmix64(np.array([seed * 1_000_003 + column], np.uint64))
    return (splitmix64(np.arange(first, first + rows, dtype=np.uint64) ^ start) >> np.uint64(11)).astype(np.float64) / 2.0**53


def _choose(uniform: NDArray[np.float64], shares: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn uniform numbers into choices with these shares."""
    steps = np.cumsum(np.asarray(shares, np.float64))
    return np.minimum(np.searchsorted(steps / steps[-1], uniform, side="right"), len(steps) - 1).astype(np.int64)


# --- a hospital

_WOMEN = ("Ada", "Aino", "Dana", "Edda", "Gita", "Ines", "Jana", "Kaja", "Lea", "Mara", "Nora", "Olga", "Rosa", "Vera", "Yara")
_MEN = ("Amir", "Bela", "Cato", "Emre", "Finn", "Hugo", "Ivan", "Jon", "Luca", "Milo", "Nils", "Omar", "Paul", "Sami", "Ugo")
_LAST = (
    "Abel", "Arndt", "Bauer", "Berg", "Conti", "Dahl", "Ebert", "Falk", "Geiger", "Haas", "Ivers", "Jansen", "Kern", "Lang",
    "Lorenz", "Moser", "Nagel", "Orth", "Pohl", "Quast", "Reiter", "Sander", "Thoma", "Ulrich", "Vogt", "Weiss", "Zander",
)  # fmt: skip
_OCCUPATIONS: Rows = (
    ("nurse", "health", "services", "*"),
    ("physician", "health", "services", "*"),
    ("teacher", "education", "services", "*"),
    ("lecturer", "education", "services", "*"),
    ("shop assistant", "trade", "services", "*"),
    ("cook", "trade", "services", "*"),
    ("clerk", "office", "services", "*"),
    ("engineer", "office", "services", "*"),
    ("carpenter", "crafts", "production", "*"),
    ("electrician", "crafts", "production", "*"),
    ("machine operator", "industry", "production", "*"),
    ("driver", "industry", "production", "*"),
    ("farmer", "land", "production", "*"),
    ("student", "not working", "not employed", "*"),
    ("unemployed", "not working", "not employed", "*"),
    ("retired", "pension", "not employed", "*"),
)
_WORKING_SHARES = (6, 2, 6, 1, 9, 4, 14, 7, 4, 4, 6, 5, 1.5)
_DIAGNOSES = (
    "influenza",
    "asthma",
    "fracture",
    "appendicitis",
    "pregnancy",
    "diabetes",
    "hypertension",
    "heart failure",
    "cancer",
    "HIV",
)
_COSTS = (900, 1_400, 2_600, 3_100, 3_400, 2_100, 1_500, 6_200, 9_800, 4_700)


def hospital(rows: int = 10_000, seed: int = 1) -> Sample:
    """Patients of a made-up hospital: skewed, correlated, with missing values."""
    ages = np.clip(_ages(rows, seed), 0, 99)
    female = _uniform(rows, 3, seed) < 0.52
    zips = _zips(rows, seed)
    occupations = _occupations(ages, rows, seed)
    diagnoses = _diagnoses(ages, female, rows, seed)
    spread = 0.5 + 1.4 * _uniform(rows, 20, seed) ** 2 + ages / 120
    cost = np.array(_COSTS)[diagnoses] * spread
    born = [
        date(2024 - int(age), 1 + int(12 * u), 1 + int(28 * v)).isoformat()
        for age, u, v in zip(ages, _uniform(rows, 21, seed), _uniform(rows, 22, seed), strict=True)
    ]
    first = _choose(_uniform(rows, 23, seed), np.ones(len(_WOMEN)))
    last = _choose(_uniform(rows, 24, seed), 1 / np.arange(3, 3 + len(_LAST)))
    names = [f"{(_WOMEN if w else _MEN)[f]} {_LAST[g]}" for w, f, g in zip(female, first, last, strict=True)]
    gone = {name: _uniform(rows, 30 + number, seed) < share for number, (name, share) in enumerate(
        {"zip": 0.01, "occupation": 0.03, "diagnosis": 0.005, "cost": 0.02}.items())}  # fmt: skip
    table = pa.table(
        {
            "name": pa.array(names),
            "birth_date": pa.array(born),
            "age": pa.array([str(age) for age in ages.tolist()]),
            "sex": pa.array(np.where(female, "female", "male").tolist()),
            "zip": pa.array(zips, mask=gone["zip"]),
            "occupation": pa.array([_OCCUPATIONS[number][0] for number in occupations], mask=gone["occupation"]),
            "diagnosis": pa.array([_DIAGNOSES[number] for number in diagnoses], mask=gone["diagnosis"]),
            "cost": pa.array([f"{value:.2f}" for value in cost.tolist()], mask=gone["cost"]),
        }
    )
    trees: dict[str, Rows] = {
        "sex": (("female", "*"), ("male", "*")),
        "zip": tuple((code, code[:4] + "*", code[:3] + "**", code[:2] + "***", "*") for code in sorted(set(_all_zips()))),
        "occupation": _OCCUPATIONS,
    }
    job = Job.build(
        identifier=["name", "birth_date"],
        quasi=["age", "sex", "zip", "occupation"],
        sensitive=["diagnosis", "cost"],
        hierarchy=trees,
    )
    return Sample(table, job, trees)


def _ages(rows: int, seed: int) -> NDArray[np.int64]:
    """Children, adults and the old: three humps, the last the highest, as in a ward."""
    hump = _choose(_uniform(rows, 1, seed), (0.16, 0.40, 0.44))
    centre, width = np.array([4, 38, 72])[hump], np.array([9, 26, 24])[hump]
    bell = sum(_uniform(rows, 10 + i, seed) for i in range(4)) / 2 - 1
    return np.abs(centre + width * bell).astype(np.int64)


def _all_zips() -> list[str]:
    return [f"{area:02d}{district}{street:02d}" for area in (1, 4, 7, 10) for district in range(6) for street in range(1, 60, 7)]


def _zips(rows: int, seed: int) -> list[str]:
    """Most patients come from near: the share falls with the rank of the code."""
    codes = _all_zips()
    rank = _choose(_uniform(rows, 4, seed), 1 / np.arange(1, len(codes) + 1) ** 0.9)
    return [codes[number] for number in rank]


def _occupations(ages: NDArray[np.int64], rows: int, seed: int) -> NDArray[np.int64]:
    work = _choose(_uniform(rows, 5, seed), _WORKING_SHARES)
    u = _uniform(rows, 6, seed)
    work = np.where(u < 0.07, 14, work)
    work = np.where((ages < 19) | ((ages < 26) & (u < 0.45)), 13, work)
    retired = (ages >= 67) | ((ages >= 60) & (u > 0.7))
    return np.asarray(np.where(retired, 15, work), np.int64)


def _diagnoses(ages: NDArray[np.int64], female: NDArray[np.bool_], rows: int, seed: int) -> NDArray[np.int64]:
    """Each diagnosis has its age, and two of them a sex."""
    young, old = np.exp(-ages / 18.0), 1 / (1 + np.exp((60 - ages) / 9.0))
    adult = ((ages >= 18) & (ages <= 55)).astype(np.float64)
    weights = np.stack(
        [
            1.0 + 0.5 * young,
            0.4 + 1.5 * young,
            0.7 + 0.8 * young + 0.8 * old,
            0.3 + 0.8 * young,
            2.4 * adult * female * (ages <= 45),
            0.1 + 1.6 * old,
            0.1 + 2.0 * old,
            0.02 + 1.8 * old,
            0.1 + 1.2 * old,
            0.06 * adult * np.where(female, 0.5, 1.0),
        ],
        axis=1,
    )
    steps = np.cumsum(weights, axis=1)
    return np.asarray(np.argmax(_uniform(rows, 7, seed)[:, None] * steps[:, -1:] < steps, axis=1), np.int64)


# --- any size

_SHAPES = (2, 74, 5, 7, 16, 41, 8, 14, 2)  # distinct values of nine columns, as in a census


def census(rows: int, quasi: int = 9, seed: int = 1, first: int = 0) -> pa.Table:
    """A census-like table of any size: integers with skewed shares, every third column following the one before.

    `first` is the number of the first row: a large table is made piece by piece.
    """
    columns: dict[str, pa.Array] = {}
    before = np.zeros(rows)
    for number in range(quasi):
        distinct = _SHAPES[number % len(_SHAPES)]
        uniform = _uniform(rows, number, seed, first)
        if number % 3 == 2:
            uniform = np.where(_uniform(rows, 100 + number, seed, first) < 0.5, before, uniform)
        before = uniform
        shares = np.ones(distinct) if distinct > 50 else 1 / np.arange(1, distinct + 1)
        columns[f"q{number + 1}"] = pa.array(_choose(uniform, shares).astype(np.int16))
    columns["s1"] = pa.array(_choose(_uniform(rows, 50, seed, first), 1 / np.arange(1, 21)).astype(np.int16))
    return pa.table(columns)


# --- public tables

ADULT_A = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "class")
ADULT_B = ("age", "education", "race", "sex")


def folder() -> Path:
    """Where the public tables lie: the folder that KOHORT_DATA names."""
    named = os.environ.get("KOHORT_DATA")
    if not named or not Path(named).is_dir():
        raise RequestError("Public tables are read from a folder. Set KOHORT_DATA to one that holds adult/adult.csv.gz.")
    return Path(named)


def adult(quasi: Sequence[str] = ADULT_A, sensitive: Sequence[str] = ()) -> Sample:
    """UCI Adult, the 30,162 rows without missing values, with the trees beside it; age is a number, the rest is dropped."""
    home = folder() / "adult"
    table, _ = tables.read(home / "adult.csv.gz")
    trees = {
        name: home / "hierarchies" / ("salary-class.csv" if name == "class" else f"{name}.csv") for name in quasi if name != "age"
    }
    job = Job.build(
        quasi=quasi,
        sensitive=sensitive,
        drop=[name for name in table.column_names if name not in {*quasi, *sensitive}],
        hierarchy=trees,
    )
    return Sample(table, job)
