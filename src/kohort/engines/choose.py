"""Selects the engine of a job: the one that the job names, or for `auto` the one that the table fits into."""

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

PROGRAM_BYTES = 256 << 20  # memory of the program without any rows
TABLE_COPIES = 5  # the table, its columns in the order of the release, and for each of the two the columns that the auditor reads
BYTES_PER_ROW = 30  # codes, labels and row orders
TEXT_ROW_BYTES = 40  # assumed size of a row if the number of rows is not known yet


def engine_for(job: Job, source: Any, progress: Progress, spark: Any = None) -> AnyEngine:
    """Return the engine of a run. If the table decides on disk or Spark, a note says why. `spark` is a session to run in."""
    source = tables.open_source(source, job.encoding, job.columns)
    if is_spark_frame(source.given) and spark is None:
        spark = source.given.sparkSession
    if job.engine == "spark" or (job.engine == "auto" and (spark is not None or job.master is not None)):
        return SparkEngine(job, progress, spark=spark)
    if spark is not None:
        raise RequestError(
            f"The source or the setting spark uses a Spark session, but engine is {job.engine!r}. A Spark session works only "
            "with the spark engine. Set engine to 'spark' (--engine spark) or leave it out, or do not use a Spark session."
        )
    if job.master is not None:
        raise RequestError(
            f"master (--master) is set, but engine is {job.engine!r}. Only the spark engine uses a master. "
            "Leave out master, or set engine to 'spark' (--engine spark)."
        )
    if job.engine != "auto":
        return ENGINES[job.engine](job, progress)
    if isinstance(source.location, str):
        progress.note("engine: spark, because the table is at an address and only Spark reads addresses")
        return SparkEngine(job, progress)
    if job.workload is not None or not source.is_named:  # a data frame is in memory already
        return MemoryEngine(job, progress)
    needed = _memory_needed(source)
    if needed <= job.memory_bytes:
        return MemoryEngine(job, progress)
    limit = f"the limit is {_gib(job.memory_bytes)} (--memory)"
    progress.note(f"engine: disk, because the table needs about {_gib(needed)} of memory and {limit}")
    return DiskEngine(job, progress)


def _memory_needed(source: Source) -> int:
    """Estimate the bytes of memory of a run with all rows in memory."""
    try:
        stream = source.stream()
    except RequestError:  # the engine reads the source again and raises the same error
        return 0
    rows = stream.rows if stream.rows is not None else stream.size_in_memory // TEXT_ROW_BYTES
    return PROGRAM_BYTES + TABLE_COPIES * stream.size_in_memory + BYTES_PER_ROW * rows


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
