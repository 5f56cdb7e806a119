"""Sample tables: invented tables of any size, and public tables from a folder. The people in invented tables do not exist.

Every value of an invented table is computed from a hash of the row number and the column number. Therefore a table is the same on
every machine, and any part of it can be made without the rest.

>>> import kohort as kh
>>> kh.datasets.hospital(rows=3).table.column_names
['name', 'birth_date', 'age', 'sex', 'zip', 'occupation', 'diagnosis', 'cost']
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
    """A table with the trees of its columns and a job for it.

    Attributes
    ----------
    table : pyarrow.Table
        The table.
    job : Job
        A job with the roles of the columns. Set k, or other promises, when you use it.
    trees : Mapping
        By column: the rows of its tree, each from the value to the root.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=200)
    >>> sample.table.num_rows, list(sample.trees)
    (200, ['sex', 'zip', 'occupation'])
    >>> kh.anonymize(sample.table, sample.job, k=5).evidence.passed
    True

    """

    table: pa.Table
    job: Job
    trees: Mapping[str, Rows] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Sample({self.table.num_rows:,} rows, {self.job!r}, trees of {', '.join(self.trees)})"

    def write(self, folder: Path, **settings: Any) -> tuple[Path, Path]:
        """Write the table, its trees and its job to a folder.

        Parameters
        ----------
        folder : Path
            The folder. kohort creates it if it does not exist.
        **settings
            Settings of the job to change, for example `k=5`.

        Returns
        -------
        tuple[Path, Path]
            The paths of the table (CSV) and of the job (TOML).

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source, job = hospital(rows=100).write(Path(folder), k=5)
        ...     source.name, job.name
        ('patients.csv', 'job.toml')

        """
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
    """Return one number in [0, 1) per row, computed from the row number, the column number and the seed."""
    start = splitmix64(np.array([seed * 1_000_003 + column], np.uint64))
    return (splitmix64(np.arange(first, first + rows, dtype=np.uint64) ^ start) >> np.uint64(11)).astype(np.float64) / 2.0**53


def _choose(uniform: NDArray[np.float64], shares: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
    """Convert uniform numbers to choices with these shares."""
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
    """Return patients of an invented hospital. Columns are skewed and correlated, and have missing values.

    Parameters
    ----------
    rows : int, optional
        Number of rows.
    seed : int, optional
        Seed of the values. The same seed gives the same table on every machine.

    Returns
    -------
    Sample
        The table, with trees for sex, zip and occupation, and a job.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=500)
    >>> sample.table.num_rows
    500
    >>> sample.job.names("quasi")
    ['age', 'sex', 'zip', 'occupation']

    """
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
    missing = {name: _uniform(rows, 30 + number, seed) < share for number, (name, share) in enumerate(
        {"zip": 0.01, "occupation": 0.03, "diagnosis": 0.005, "cost": 0.02}.items())}  # fmt: skip
    table = pa.table(
        {
            "name": pa.array(names),
            "birth_date": pa.array(born),
            "age": pa.array([str(age) for age in ages.tolist()]),
            "sex": pa.array(np.where(female, "female", "male").tolist()),
            "zip": pa.array(zips, mask=missing["zip"]),
            "occupation": pa.array([_OCCUPATIONS[number][0] for number in occupations], mask=missing["occupation"]),
            "diagnosis": pa.array([_DIAGNOSES[number] for number in diagnoses], mask=missing["diagnosis"]),
            "cost": pa.array([f"{value:.2f}" for value in cost.tolist()], mask=missing["cost"]),
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
    """Return ages with three peaks: children, adults and old people. As in a hospital, the last peak is the highest."""
    hump = _choose(_uniform(rows, 1, seed), (0.16, 0.40, 0.44))
    centre, width = np.array([4, 38, 72])[hump], np.array([9, 26, 24])[hump]
    bell = sum(_uniform(rows, 10 + i, seed) for i in range(4)) / 2 - 1
    return np.abs(centre + width * bell).astype(np.int64)


def _all_zips() -> list[str]:
    return [f"{area:02d}{district}{street:02d}" for area in (1, 4, 7, 10) for district in range(6) for street in range(1, 60, 7)]


def _zips(rows: int, seed: int) -> list[str]:
    """Return zip codes. The share of a code falls with its rank: most patients live near the hospital."""
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
    """Return diagnoses. Each depends on the age, and two depend on the sex."""
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

_SHAPES = (2, 74, 5, 7, 16, 41, 8, 14, 2)  # number of distinct values of nine columns, as in a census


def census(rows: int, quasi: int = 9, seed: int = 1, first: int = 0) -> pa.Table:
    """Return a table of any size that resembles a census: integers with skewed shares.

    Every third column is correlated with the column before it.

    Parameters
    ----------
    rows : int
        Number of rows.
    quasi : int, optional
        Number of quasi-identifiers, named q1, q2, ... The table has one more column, s1, as a sensitive column.
    seed : int, optional
        Seed of the values. The same seed gives the same table on every machine.
    first : int, optional
        Number of the first row. Use it to make a large table in parts.

    Returns
    -------
    pyarrow.Table
        The table.

    Examples
    --------
    >>> import kohort as kh
    >>> table = kh.datasets.census(1_000, quasi=3)
    >>> table.num_rows, table.column_names
    (1000, ['q1', 'q2', 'q3', 's1'])
    >>> kh.datasets.census(500, quasi=3, first=500).equals(table.slice(500))
    True

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
    """Return the folder of the public tables, which the environment variable KOHORT_DATA names.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    RequestError
        If KOHORT_DATA is not set, or does not name a folder.

    Examples
    --------
    >>> import kohort as kh
    >>> kh.datasets.folder()  # doctest: +SKIP
    PosixPath('/home/me/data')

    """
    named = os.environ.get("KOHORT_DATA")
    if not named or not Path(named).is_dir():
        raise RequestError(
            "kohort reads public tables from a folder, but KOHORT_DATA does not name a folder. "
            "Set the environment variable KOHORT_DATA to a folder that contains adult/adult.csv.gz."
        )
    return Path(named)


def adult(quasi: Sequence[str] = ADULT_A, sensitive: Sequence[str] = ()) -> Sample:
    """Return the UCI Adult table: the 30,162 rows without missing values.

    The table and its trees are read from the folder that KOHORT_DATA names. Age is a number and has no tree.

    Parameters
    ----------
    quasi : Sequence[str], optional
        The quasi-identifiers.
    sensitive : Sequence[str], optional
        The sensitive columns. All other columns are dropped.

    Returns
    -------
    Sample
        The table and a job. The job names the files of the trees.

    Raises
    ------
    RequestError
        If KOHORT_DATA is not set, or the folder does not contain the table.

    Examples
    --------
    >>> import kohort as kh
    >>> kh.datasets.adult(kh.datasets.ADULT_B, sensitive=["occupation"]).table.num_rows  # doctest: +SKIP
    30162

    """
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
