"""What a job asks of a file that anyone made: what can be asked of it, and what cannot be seen in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort import sensitive, tables
from kohort.auditor import Check
from kohort.auditor.promises import Ground
from kohort.engines.claims import grounds_of
from kohort.errors import RequestError
from kohort.job import Job
from kohort.privacy import Secrecy
from kohort.schema import Schema, load_trees

UNSEEN = "rows were counted: which of them belong to one person cannot be seen in a release"


@dataclass(frozen=True)
class Asked:
    """The promises that a file can be asked about."""

    secrecy: Mapping[str, Secrecy]
    grounds: Mapping[str, Ground]
    units: Mapping[str, pa.ChunkedArray] | None
    """The column that tells persons apart, where the file holds it although it should not."""
    not_run: Sequence[Check]

    @classmethod
    def of(cls, job: Job, release: pa.Table | Path, names: Sequence[str]) -> Asked:
        secrecy, not_run, units = job.secrecy(), [], None
        for unit in job.names("unit"):
            if unit in names:
                units = {"u1": tables.as_text(_columns(release, [unit]).column(unit))}
                continue
            not_run.append(Check("persons", None, None, "not run", UNSEEN))
            for name, asked in secrecy.items():  # shares of rows are not those of persons; different values are the same
                unseen = [promise for promise in asked.asked if promise != "l"]
                not_run += [Check(f"{promise} {name}", None, None, "not run", UNSEEN) for promise in unseen]
            secrecy = {name: Secrecy(l=asked.l) for name, asked in secrecy.items()}
        return cls(secrecy, _grounds(job, release, secrecy), units, not_run)


def _grounds(job: Job, release: pa.Table | Path, secrecy: Mapping[str, Secrecy]) -> dict[str, Ground]:
    """How far values are apart, where that takes a tree or an order."""
    measured = {
        name: Secrecy(t=asked.t, t_distance=asked.t_distance) for name, asked in secrecy.items() if name in job.measured()
    }
    measured = {name: asked for name, asked in measured.items() if asked.t is not None}
    if not measured:
        return {}
    trees, problems = load_trees(job.columns, job.hierarchies, measured)
    if problems:
        raise RequestError(problems)
    schema = Schema(job.columns, tuple(measured), trees, job.missing)
    return grounds_of(sensitive.encode_secrets(_columns(release, list(measured)), schema, measured))


def _columns(release: pa.Table | Path, names: list[str]) -> pa.Table:
    return release.select(names) if isinstance(release, pa.Table) else pq.ParquetFile(release).read(names)
