"""Starts or checks the Spark session of a run, and turns Spark's errors into kohort errors."""

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

NO_SPARK = (
    "The spark engine needs pyspark 4 and Java 17. pyspark is not installed. "
    "Run pip install 'kohort[spark]', or use another engine (--engine disk)."
)
NO_JAVA = (
    "The spark engine needs Java 17. The program java was not found. "
    "Install Java 17, or set the environment variable JAVA_HOME to its folder."
)
MASTER = re.compile(r"local(\[[^\]]+\])?|yarn|(spark|k8s)://\S+")
KOHORT_NOT_INSTALLED = "No module named 'kohort'"
LOGGERS_WITH_CELLS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of pyspark that print errors together with cell values."""
LARGE_TEXTS = "spark.sql.execution.arrow.useLargeVarTypes"
CARRIED_ERROR = re.compile(r"kohort:([A-Za-z0-9+/=]+):")
"""Matches a kohort error that `carry_errors` has put into the message of another error."""

Batches = Iterator[pa.RecordBatch]


def session_for(given: Any, master: str | None) -> Any:
    """Return the given session or the active one; otherwise start a new session that prints no log messages."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MachineError(NO_SPARK) from None
    active = given if given is not None else SparkSession.getActiveSession()
    if active is not None:
        _require_usable(active)
        return active
    if master is not None and not MASTER.fullmatch(master):
        raise RequestError(
            f"{master!r} is not a Spark master. Set master (--master) to local[4], spark://host:7077, k8s://... or yarn."
        )
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise MachineError(NO_JAVA)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise executors use the first python3 on their path
    builder = SparkSession.builder.appName("kohort").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    builder = builder.master(master) if master else builder
    failure = f"Spark could not be started{f' with the master {master}' if master else ''}"
    with plain_errors(failure), _interrupt_handler_kept(), _stderr_discarded():
        return builder.getOrCreate()


def _require_usable(spark: Any) -> None:
    """Raise an error for a session that was stopped, or whose settings kohort cannot work with."""
    if getattr(spark.sparkContext, "_jsc", None) is None:
        raise RequestError(
            "The Spark session was stopped. Start a new session, and pass it (spark=...) or a data frame that was made with it."
        )
    if spark.conf.get(LARGE_TEXTS, "false") == "true":
        raise RequestError(
            f"The Spark session has {LARGE_TEXTS} set to true. With this setting tasks cannot return texts. Set it to false."
        )


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """Restore the handler of SIGINT (Ctrl-C), which Spark replaces."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_main and before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _stderr_discarded() -> Iterator[None]:
    """Start the JVM without stderr. Otherwise it would print warnings, and later stack traces that may contain cell values."""
    if os.environ.get("KOHORT_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


# --- errors


@contextmanager
def plain_errors(what: str) -> Iterator[None]:
    """Turn Spark's errors into kohort errors that begin with `what`.

    Spark's messages may contain cell values, so only the type of the error is reported. Errors that kohort's own tasks raised are
    reported completely.
    """
    loggers = _loggers_with_cells()
    to_jvm = [logging.getLogger(name) for name in (None, "py4j.clientserver", "py4j.java_gateway")]
    before = [logger.level for logger in loggers]
    for logger in to_jvm:
        logger.addFilter(_is_not_interruption)
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            # This warning does not concern the run: kohort does not use pandas on Spark.
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    except (KohortError, KeyboardInterrupt):
        raise
    except Exception as error:
        own_error = _own_error_of(error)
        if own_error is not None:
            raise own_error from None
        if os.environ.get("KOHORT_DEBUG"):
            raise
        if KOHORT_NOT_INSTALLED in (_text_or_none(error.__str__) or ""):
            advice = "Install kohort on every worker, or set PYSPARK_PYTHON to a Python that has kohort."
            raise MachineError(f"{what}: the Python of the Spark executors cannot import kohort. {advice}") from None
        condition = _text_or_none(getattr(error, "getCondition", lambda: None))
        error_type = ", ".join(filter(None, (type(error).__name__, condition)))
        raise MachineError(
            f"{what} (error: {error_type}). Nothing was published. "
            "Set the environment variable KOHORT_DEBUG=1 and run again to see the whole error; it may contain cell values."
        ) from None
    finally:
        for logger in to_jvm:
            logger.removeFilter(_is_not_interruption)
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _is_not_interruption(record: logging.LogRecord) -> bool:
    """Filter out log records of the connection to the JVM that report an interruption. The command reports it itself."""
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:  # an interruption can also cause the error that is logged when the connection is closed
        if isinstance(error, KeyboardInterrupt):
            return False
        error = error.__context__
    return not str(record.msg).startswith("KeyboardInterrupt while sending command")


def _loggers_with_cells() -> list[logging.Logger]:
    """Return the loggers that print cell values.

    They are created with pyspark's own class. If the standard library created them first, pyspark would get loggers of another
    class.
    """
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in LOGGERS_WITH_CELLS]


def carry_errors(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Wrap a task so that its kohort errors reach the driver unchanged, inside the message of the error that Spark raises."""

    @wraps(run)
    def carrying(batches: Batches) -> Batches:
        try:
            yield from run(batches)
        except KohortError as error:
            raise RuntimeError(f"kohort:{base64.b64encode(pickle.dumps(error)).decode()}:") from None

    return carrying


def _own_error_of(error: Exception) -> KohortError | None:
    """Return the kohort error that a task raised, if this error carries one."""
    found = CARRIED_ERROR.search(_text_or_none(lambda: str(error)) or "")
    with suppress(Exception):
        own_error = pickle.loads(base64.b64decode(found[1])) if found else None  # noqa: S301 - our own tasks wrote it
        return own_error if isinstance(own_error, KohortError) else None
    return None


def _text_or_none(call: Callable[[], Any]) -> str | None:
    try:
        found = call()
    except Exception:  # noqa: BLE001 - reading Spark's error may itself raise any error
        return None
    return str(found) if found else None
