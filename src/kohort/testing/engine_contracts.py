"""The contracts of an engine."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort import api, datasets
from kohort.engines.base import AnyEngine, Result, run
from kohort.engines.choose import ENGINES
from kohort.errors import CancelledError, KohortError, PromiseError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import tables as files
from kohort.testing.requirements import require_raises
from kohort.utility.loss import Loss

Rows = Counter[tuple[str | None, ...]]

PARTS = (None, 60)
"""Values of `rows_at_once`: the engine's own choice, and so few rows that it must work in parts."""
QUASI = ["q1", "q2", "q3"]
REQUESTED: tuple[dict[str, Any], ...] = (
    {"method": "mondrian", "k": 2},
    {"method": "mondrian", "k": 10, "l": 3},
    {"method": "mondrian", "k": 3, "t": 0.4, "ranges": "grid"},
    {"method": "k-member", "k": 2, "block": 50, "l": 3},
    {"method": "k-member", "k": 10, "block": 60},
    {"method": "gccg", "k": 3, "block": 40, "suppress": 0.05, "suppressed": "star"},
    {"method": "auto", "k": 5, "block": 50, "l": 3, "statistic": {"q1": "both"}},
)


def gives_the_same_release(engine: str) -> None:
    """Check that the engine gives the same release as the memory engine, in one piece and in parts.

    Both releases must hold the same rows in any order. A row is compared by its original quasi-identifiers, its published values
    and its sensitive values.
    """
    for number, table in enumerate(_tables()):
        for requested in REQUESTED[number::2]:  # each setting with one table only, because a run on a cluster takes seconds
            require_same(engine, table, {"quasi": QUASI, "sensitive": "s1", "seed": number, **requested})


def counts_persons(engine: str) -> None:
    """Check that the engine counts a person with several rows once, also when it works in parts."""
    requested = (
        ({"method": "mondrian", "k": 4, "l": 2}, {"method": "mondrian", "k": 134}),  # the table has fewer than 134 people
        ({"method": "k-member", "k": 3, "block": 50},),
    )
    for number, table in enumerate(_tables()):
        whose = pa.array([f"P{row * 7919 % (table.num_rows // 3)}" for row in range(table.num_rows)])
        for promised in requested[number]:
            columns = {"quasi": QUASI, "sensitive": "s1", "unit": "who", "seed": number}
            require_same(engine, table.append_column("who", whose), {**columns, **promised})


def refuses_with_a_way_out(engine: str) -> None:
    """Check that the engine runs a job that cannot be done in parts, or raises an error that names a flag to change."""
    table = next(_tables())
    for requested in ({"method": "incognito"}, {"method": "mondrian", "effort": 1}, {"method": "k-member", "block": 0}):
        job = Job.build(quasi=QUASI, sensitive="s1", k=3, seed=1, **requested)
        for rows in PARTS:
            found = released(ENGINES[engine](job, Progress(1), rows), table)
            assert not isinstance(found, KohortError) or (rows and "(--" in str(found)), str(found)


def require_same(engine: str, table: pa.Table, requested: Mapping[str, Any]) -> None:
    """Check that a job gives the same release or error as in memory, in one piece and in parts."""
    shown, roles = with_originals(table, requested["quasi"])
    job = Job.build(**{**requested, **roles})
    expected = released(ENGINES["memory"](job, Progress(1)), shown)
    for rows in PARTS:
        found = released(ENGINES[engine](job, Progress(2), rows), shown)
        if isinstance(expected, KohortError) or isinstance(found, KohortError):
            assert type(found) is type(expected), (rows, requested, found, expected)
            continue
        assert found[0] == expected[0], (rows, requested)
        assert found[1].class_sizes.tolist() == expected[1].class_sizes.tolist(), (rows, requested)
        for name, value in _of_classes(expected[1].loss).items():
            assert abs(found[1].loss.to_dict()[name] - value) <= 1e-9 * max(1.0, abs(value)), (name, rows, requested)


def _of_classes(loss: Loss) -> dict[str, float]:
    """Return the losses that do not depend on the number of clusters: equal rows that do not fit into memory form one cluster."""
    return {name: value for name, value in loss.to_dict().items() if not name.endswith("_clusters")}


def released(engine: AnyEngine, source: Any) -> tuple[Rows, Result] | KohortError:
    """Run an engine. Return the rows of the release in any order and its figures, or the error."""
    try:
        publication = run(engine, source)
        table, evidence = publication.release_table()
    except KohortError as error:
        return error
    assert evidence.passed
    return rows_of(table), publication.result


def rows_of(table: Any) -> Rows:
    """Count the rows of a table, as text and in any order."""
    plain = table if isinstance(table, pa.Table) else table.toArrow()
    columns = [_texts(plain.column(name)) for name in sorted(plain.column_names)]
    return Counter(zip(*columns, strict=True))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in column.to_pylist()]


def with_originals(table: pa.Table, quasi: list[str]) -> tuple[pa.Table, dict[str, Any]]:
    """Add a copy of each quasi-identifier that is published unchanged, so that the release shows the original cells.

    Return the table and the roles of the copies, as settings of a job.
    """
    copies = [f"{name} as it was" for name in quasi]
    for name, copy in zip(quasi, copies, strict=True):
        table = table.append_column(copy, table.column(name))
    return table, {"other": copies, "allow": copies}


def _tables() -> Iterator[pa.Table]:
    """Yield a table of numbers, and a table with missing values, text and many equal rows."""
    yield datasets.census(400, quasi=3)
    table = datasets.census(300, quasi=3, seed=2)
    ages = [None if row % 17 == 0 else 40 if row % 3 else 20 + row % 50 for row in range(300)]
    towns = ["north" if row % 5 else ("south", "west", None)[row % 3] for row in range(300)]
    yield pa.table({"q1": ages, "q2": towns, "q3": table.column("q3"), "s1": table.column("s1")})


def writes_what_it_proved(engine: str) -> None:
    """Check that every file format holds the same release, that the source is unchanged, and that no other files are left."""
    sample, folders = datasets.hospital(400), ENGINES[engine].writes_folders
    job = Job.build(sample.job, engine=engine, seed=7, keep_order=not folders)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, _job = sample.write(folder)
        before = source.read_bytes()
        read_back = []
        targets = ["a.csv", "c.parquet"] if folders else ["a.csv", "b.csv.gz", "c.parquet"]
        for target in targets:
            release = api.anonymize(source, job, output=folder / target)
            assert release.evidence.passed
            text = pa.schema([(name, pa.string()) for name in release.table.schema.names])
            read_back.append(files.read(folder / target)[0].cast(text))
        same = (rows_of(table) == rows_of(read_back[0]) if folders else table.equals(read_back[0]) for table in read_back)
        assert all(same)
        assert source.read_bytes() == before
        assert sorted(path.name for path in folder.iterdir()) == [*targets, "job.toml", "patients.csv", "trees"]


def leaves_nothing_when_it_fails(engine: str) -> None:
    """Check that a promise that cannot be kept and a cancelled run raise the right error and leave no file.

    Parameters
    ----------
    engine : str
        The name of the engine.

    Raises
    ------
    AssertionError
        If there is another error, no error, or a file.

    Examples
    --------
    >>> leaves_nothing_when_it_fails("memory")

    """
    sample = datasets.hospital(100)
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out.csv"
        job = Job.build(sample.job, engine=engine, k=101)
        require_raises(PromiseError, lambda: api.anonymize(sample.table, job, output=target))
        stopped = Progress(1)
        stopped.cancel()
        job = Job.build(sample.job, engine=engine, k=5)
        require_raises(CancelledError, lambda: api.anonymize(sample.table, job, output=target, progress=stopped))
        assert not list(Path(name).iterdir())


def shuffles_unpredictably(engine: str) -> None:
    """Check that two runs of the same job with the same seed publish the same rows in different orders."""
    sample = datasets.hospital(400)
    job = Job.build(sample.job, engine=engine, seed=7)
    one, two = (_listed(api.anonymize(sample.table, job).table) for _ in range(2))
    assert one != two
    assert Counter(map(str, one)) == Counter(map(str, two))


def _listed(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (table if isinstance(table, pa.Table) else table.toArrow()).to_pylist()
    return found
