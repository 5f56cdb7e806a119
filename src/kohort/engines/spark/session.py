"""A Spark session to run in, and its failures told as ours."""

from __future__ import annotations

import base64
import logging
import os
import pickle
import re
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

import pyarrow as pa

from kohort.errors import KohortError, MachineError, RequestError

NO_SPARK = "The spark engine needs pyspark 4 and Java 17: install kohort[spark]."
NO_JAVA = "The spark engine needs Java 17, and there is none: install it, or set JAVA_HOME to where it is."
MASTER = re.compile(r"local(\[[^\]]+\])?|yarn|(spark|k8s)://\S+")
NOT_THERE = "No module named 'kohort'"
SPEAKERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Of pyspark's: they print failures, cells and all."""
LARGE_TEXTS = "spark.sql.execution.arrow.useLargeVarTypes"
TOLD = re.compile(r"kohort:([A-Za-z0-9+/=]+):")

Batches = Iterator[pa.RecordBatch]


def session_for(given: Any, master: str | None) -> Any:
    """The session that was given, or that is at work; else a new one, as silent as a program's part should be."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MachineError(NO_SPARK) from None
    active = given if given is not None else SparkSession.getActiveSession()
    if active is not None:
        _require_usable(active)
        return active
    if master is not None and not MASTER.fullmatch(master):
        raise RequestError(f"{master!r} is nowhere that Spark runs. Take local[4], spark://host:7077, k8s://... or yarn.")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise MachineError(NO_JAVA)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else executors take whatever python3 they find first
    builder = SparkSession.builder.appName("kohort").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    builder = builder.master(master) if master else builder
    with speaking_plainly(f"Spark could not be started{f' at {master}' if master else ''}"), _own_signals(), _silent_start():
        return builder.getOrCreate()


def _require_usable(spark: Any) -> None:
    """Refuse a session in which nothing would work, in plain words."""
    if getattr(spark.sparkContext, "_jsc", None) is None:
        raise RequestError("The Spark session was stopped. Give one that is at work, and a data frame of it.")
    if spark.conf.get(LARGE_TEXTS, "false") == "true":
        raise RequestError(f"The Spark session has {LARGE_TEXTS} on, with which tasks cannot hand texts back. Set it to false.")


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep who listens to an interruption: Spark would take it for itself."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_main and before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silent_start() -> Iterator[None]:
    """Start the JVM without our stderr: it would print warnings of its own, and later stack traces that may quote cells."""
    if os.environ.get("KOHORT_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


# --- failures


@contextmanager
def speaking_plainly(what: str) -> Iterator[None]:
    """Spark's failures as ours. Its messages may quote cells, so only their kind is told; what our tasks said is told whole."""
    loggers, to_jvm = _speakers(), [logging.getLogger(name) for name in (None, "py4j.clientserver", "py4j.java_gateway")]
    before = [logger.level for logger in loggers]
    for logger in to_jvm:
        logger.addFilter(_no_interruption)
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")  # we use none of it
            yield
    except (KohortError, KeyboardInterrupt):
        raise
    except Exception as error:
        own_error = _own_error_of(error)
        if own_error is not None:
            raise own_error from None
        if os.environ.get("KOHORT_DEBUG"):
            raise
        if NOT_THERE in (_quietly(error.__str__) or ""):
            way_out = "Install it there, or let PYSPARK_PYTHON name one that has it."
            raise MachineError(f"{what}: the executors' Python cannot import kohort. {way_out}") from None
        condition = _quietly(getattr(error, "getCondition", lambda: None))
        kind = ", ".join(filter(None, (type(error).__name__, condition)))
        raise MachineError(f"{what} ({kind}; KOHORT_DEBUG=1 shows more). Nothing was published.") from None
    finally:
        for logger in to_jvm:
            logger.removeFilter(_no_interruption)
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _no_interruption(record: logging.LogRecord) -> bool:
    """False for what the line to the JVM logs, with a trace, of an interruption: the interrupted command says so itself."""
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:  # closing the line may fail too, because of the interruption
        if isinstance(error, KeyboardInterrupt):
            return False
        error = error.__context__
    return not str(record.msg).startswith("KeyboardInterrupt while sending command")


def _speakers() -> list[logging.Logger]:
    """Pyspark's loggers, of its own kind: whoever asks the standard library first would leave it with others."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in SPEAKERS]


def telling(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """What a task of ours refuses comes to the driver as it was said, through whatever Spark makes of it."""

    @wraps(run)
    def own_error(batches: Batches) -> Batches:
        try:
            yield from run(batches)
        except KohortError as error:
            raise RuntimeError(f"kohort:{base64.b64encode(pickle.dumps(error)).decode()}:") from None

    return own_error


def _own_error_of(error: Exception) -> KohortError | None:
    found = TOLD.search(_quietly(lambda: str(error)) or "")
    with suppress(Exception):
        own_error = pickle.loads(base64.b64decode(found[1])) if found else None  # noqa: S301 - our own tasks wrote it
        return own_error if isinstance(own_error, KohortError) else None
    return None


def _quietly(ask: Callable[[], Any]) -> str | None:
    try:
        found = ask()
    except Exception:  # noqa: BLE001 - whatever goes wrong while asking what went wrong
        return None
    return str(found) if found else None
