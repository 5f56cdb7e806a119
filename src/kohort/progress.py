"""How a run is watched, stopped and spread over threads. Methods see nothing else of the outside world."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from kohort.errors import CancelledError

Task = Callable[[], "Iterable[Task]"]
"""A piece of work; it returns the pieces that it opened up."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Progress:
    """One run's progress. Kernels write `slot[0]` (rows done) and read `slot[1]` (stop); no two share a slot."""

    def __init__(self, threads: int | None = None, note: Callable[[str], None] | None = None) -> None:
        self.threads = threads or _cores()
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.step_name = ""
        self.total = 0
        self.cancelled = False
        self.is_compiling = False
        self.note = note or (lambda _text: None)
        self._slots: list[NDArray[np.int64]] = []
        self._lock = threading.RLock()  # a signal may call cancel() in the very thread that holds it

    @contextmanager
    def step(self, name: str, total: int = 0) -> Iterator[None]:
        """Name and time one step of the run; refuses to start once cancelled."""
        self.check()
        with self._lock:
            self._slots.clear()
        self.step_name, self.total = name, total
        started, started_cpu = time.perf_counter(), time.process_time()
        try:
            yield
            self.check()
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
            self.cpu_seconds[name] = self.cpu_seconds.get(name, 0.0) + time.process_time() - started_cpu
            self.step_name, self.total = "", 0

    def slot(self) -> NDArray[np.int64]:
        """A fresh (done, stop) pair for one kernel call."""
        pair = np.zeros(2, np.int64)
        with self._lock:
            pair[1] = self.cancelled
            self._slots.append(pair)
        return pair

    @property
    def done(self) -> int:
        with self._lock:
            return int(sum(pair[0] for pair in self._slots))

    def cancel(self) -> None:
        """Ask running kernels to stop; the run then ends with CancelledError at its next check."""
        with self._lock:
            self.cancelled = True
            for pair in self._slots:
                pair[1] = 1

    def check(self) -> None:
        if self.cancelled:
            message = "Stopped before it was done; nothing was published."
            raise CancelledError(message)

    def run(self, tasks: Iterable[Task]) -> None:
        """Run tasks, and the tasks they return, on this run's threads until none is left."""
        self.check()
        with ThreadPoolExecutor(self.threads, thread_name_prefix="kohort") as pool:
            pending: set[Future[Iterable[Task]]] = {pool.submit(task) for task in tasks}
            try:
                while pending:
                    finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in finished:
                        opened = future.result()
                        if not self.cancelled:
                            pending |= {pool.submit(task) for task in opened}
            except BaseException:  # Ctrl-C too: the kernels must stop before the pool can close
                self.cancel()
                raise
        self.check()
