"""Progress, cancellation and threads of a run. Methods get this object and nothing else from outside."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kohort.errors import CancelledError

_Made = TypeVar("_Made")
Task = Callable[[], "Iterable[Task]"]
"""A piece of work. It returns further tasks, which then have to be run too."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_main_thread() -> bool:
    """Whether this is the main thread. Signals arrive here, so a signal cannot stop work on this thread until it ends."""
    return threading.current_thread() is threading.main_thread()


class Progress:
    """Shows the progress of a run, stops it, and limits its threads.

    Pass one to a call of kohort, then read it, or cancel the run, from another thread. Use a new one for every call.

    Parameters
    ----------
    threads : int, optional
        Number of threads that the run may use. The default is the number of cores that this process may use.
    note : callable, optional
        Function that is called with a text if the user should know something during the run, for example that kohort
        compiles code first.

    Attributes
    ----------
    threads : int
        Number of threads that the run may use.
    step_name : str
        Name of the current step; empty between steps.
    done : int
        Number of rows that the current step has finished.
    total : int
        Number of rows of the current step; 0 if it is not known.
    seconds, cpu_seconds : dict[str, float]
        Time and CPU time of each finished step, by its name.
    cancelled : bool
        Whether `cancel` was called.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=200)
    >>> progress = kh.Progress(threads=1)
    >>> release = kh.anonymize(sample.table, sample.job, k=5, progress=progress)
    >>> all(seconds >= 0 for seconds in progress.seconds.values())
    True

    A cancelled run raises an error and publishes nothing:

    >>> progress = kh.Progress(threads=1)
    >>> progress.cancel()
    >>> kh.anonymize(sample.table, sample.job, k=5, progress=progress)
    Traceback (most recent call last):
    kohort.errors.CancelledError: The run was stopped before it finished, so nothing was published.

    """

    # Each kernel call gets its own slot. The kernel writes slot[0] (rows done) and reads slot[1] (whether to stop).

    def __init__(self, threads: int | None = None, note: Callable[[str], None] | None = None) -> None:
        self.threads = threads or _cores()
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.step_name = ""
        self.total = 0
        self.step_began = 0.0
        self.cancelled = self._stopped = False
        self.is_compiling = False
        self.note = note or (lambda _text: None)
        self.cost_before, self.cost_now = 0, 0
        self._slots: list[NDArray[np.int64]] = []
        self._inside = threading.local()
        self._lock = threading.RLock()  # a signal handler may call cancel() in the thread that holds the lock

    @contextmanager
    def step(self, name: str, total: int = 0) -> Iterator[None]:
        """Name and time one step of the run.

        Parameters
        ----------
        name : str
            Name of the step.
        total : int, optional
            Number of rows of the step, if it is known.

        Raises
        ------
        CancelledError
            If the run was cancelled before or during the step.

        Examples
        --------
        >>> progress = Progress(threads=1)
        >>> with progress.step("encode", total=100):
        ...     progress.step_name, progress.total
        ('encode', 100)
        >>> list(progress.seconds)
        ['encode']

        """
        self.check()
        with self._lock:
            self._slots.clear()
        self.step_name, self.total = name, total
        self.cost_before = self.cost_now = 0
        started, started_cpu = time.perf_counter(), time.process_time()
        self.step_began = started
        try:
            yield
            self.check()
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
            self.cpu_seconds[name] = self.cpu_seconds.get(name, 0.0) + time.process_time() - started_cpu
            self.step_name, self.total = "", 0

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Call `note` if a kernel must be compiled inside this context."""
        from kohort.kernels import on_compile

        def set_compiling(is_compiling: bool) -> None:
            self.is_compiling = is_compiling
            if is_compiling:
                self.note("compiling code for this type of job: up to half a minute, only once on this machine")

        with on_compile(set_compiling):
            yield

    def slot(self) -> NDArray[np.int64]:
        """Return a new pair (rows done, stop) for one kernel call."""
        pair = np.zeros(2, np.int64)
        with self._lock:
            pair[1] = self._stopped
            self._slots.append(pair)
        return pair

    @property
    def done(self) -> int:
        """Number of rows that the current step has finished."""
        with self._lock:
            return int(sum(pair[0] for pair in self._slots))

    def begin_improving(self, cost: int) -> None:
        """Add the cost of groups that will now be improved."""
        with self._lock:
            self.cost_before += cost
            self.cost_now += cost

    def improved(self, by: int) -> None:
        """Subtract the cost that an improvement saved."""
        with self._lock:
            self.cost_now -= by

    def cancel(self) -> None:
        """Stop the run. It ends with a CancelledError at its next check and publishes nothing.

        Examples
        --------
        >>> progress = Progress(threads=1)
        >>> progress.cancel()
        >>> progress.cancelled
        True

        """
        with self._lock:
            self.cancelled = True
            self._stop()

    def _stop(self) -> None:
        """Stop the running kernels, because the run was cancelled or a task failed."""
        with self._lock:
            self._stopped = True
            for pair in self._slots:
                pair[1] = 1

    def check(self) -> None:
        """Raise a CancelledError if the run was stopped."""
        if self._stopped:
            message = "The run was stopped before it finished, so nothing was published."
            raise CancelledError(message)

    def run(self, tasks: Iterable[Task]) -> None:
        """Run tasks, and the tasks that they return, on the threads of this run. Inside a task, run them on the same thread."""
        self.check()
        if getattr(self._inside, "a_task", False) or (self.threads == 1 and not _on_main_thread()):
            self._run_here(tasks)
            return
        with self._workers(self.threads) as pool:
            pending: set[Future[Iterable[Task]]] = {pool.submit(self._task, task) for task in tasks}
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    opened = future.result()
                    if not self.cancelled:
                        pending |= {pool.submit(self._task, task) for task in opened}
        self.check()

    def aside(self, work: Callable[[], _Made]) -> _Made:
        """Run `work` on another thread, so that signals reach the main thread while a kernel runs."""
        with self._workers(1) as pool:
            return pool.submit(work).result()

    @contextmanager
    def _workers(self, threads: int) -> Iterator[ThreadPoolExecutor]:
        """Yield a pool of threads. All of them have ended before an error or an interruption is raised further."""
        pool = ThreadPoolExecutor(threads, "kohort")
        try:
            yield pool
        except Exception:
            self._stop()
            raise
        except BaseException:  # Ctrl-C: pools that tasks have opened must end too
            self.cancel()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._stopped = self.cancelled  # all threads have ended, so a failed task need not stop the next ones

    def _task(self, task: Task) -> Iterable[Task]:
        self._inside.a_task = True
        return task()

    def _run_here(self, tasks: Iterable[Task]) -> None:
        """Run tasks one after the other on this thread. A task that has tasks already has a thread."""
        waiting = list(tasks)[::-1]
        while waiting and not self.cancelled:
            waiting += list(waiting.pop()())[::-1]
        self.check()
