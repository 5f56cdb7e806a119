"""Which engine runs a job: the one that is named, else the one whose rows fit."""

from __future__ import annotations

from typing import Any

from kohort.engines.base import AnyEngine
from kohort.engines.disk.engine import DiskEngine
from kohort.engines.memory import MemoryEngine
from kohort.engines.spark.engine import SparkEngine
from kohort.engines.spark.sources import is_spark_frame
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import tables
from kohort.tables.tables import Source

ENGINES: dict[str, type[AnyEngine]] = {"memory": MemoryEngine, "disk": DiskEngine, "spark": SparkEngine}

FIRST_BYTES = 256 << 20  # what the program takes without rows
TIMES_THE_TABLE = 5  # the table, its columns as they are taken in another order, and beside each what the auditor sees
BYTES_A_ROW = 30  # codes, labels, orders
ROW_OF_TEXT = 40  # bytes, where rows are not counted yet


def engine_for(job: Job, source: Any, progress: Progress, spark: Any = None) -> AnyEngine:
    """The engine of a run; says so if it had to choose one that nobody asked for. `spark` is a session to run in."""
    source = tables.open_source(source, job.encoding, job.columns)
    if is_spark_frame(source.given) and spark is None:
        spark = source.given.sparkSession
    if job.engine == "spark" or (job.engine == "auto" and (spark is not None or job.master is not None)):
        return SparkEngine(job, progress, spark=spark)
    if spark is not None:
        raise RequestError(f"A Spark session runs the spark engine, not {job.engine}. Leave the engine out, or the session.")
    if job.master is not None:
        raise RequestError(f"A master is for the spark engine, not for {job.engine}. Leave out one of the two.")
    if job.engine != "auto":
        return ENGINES[job.engine](job, progress)
    if isinstance(source.location, str):
        progress.note("the table lies at an address: Spark reads it")
        return SparkEngine(job, progress)
    if job.workload is not None or not source.is_named:  # a data frame is in memory already
        return MemoryEngine(job, progress)
    needed = _needed(source)
    if needed <= job.memory_bytes:
        return MemoryEngine(job, progress)
    more = f"about {_gib(needed)} of memory, more than {_gib(job.memory_bytes)} (--memory)"
    progress.note(f"the table would take {more}: its rows stay on disk")
    return DiskEngine(job, progress)


def _needed(source: Source) -> int:
    """About how much memory a run with all rows in memory takes."""
    try:
        stream = source.stream()
    except RequestError:  # reading it will raise the error again
        return 0
    rows = stream.rows if stream.rows is not None else stream.size_in_memory // ROW_OF_TEXT
    return FIRST_BYTES + TIMES_THE_TABLE * stream.size_in_memory + BYTES_A_ROW * rows


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
