"""How a run is watched, stopped and spread over threads. Methods see nothing else of the outside world."""

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
"""A piece of work; it returns the pieces that it opened up."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_main_thread() -> bool:
    """Whether signals come here: whoever works here cannot be stopped by one until it is done."""
    return threading.current_thread() is threading.main_thread()


class Progress:
    """One run's progress. Kernels write `slot[0]` (rows done) and read `slot[1]` (stop); no two share a slot."""

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
        self._lock = threading.RLock()  # a signal may call cancel() in the very thread that holds it

    @contextmanager
    def step(self, name: str, total: int = 0) -> Iterator[None]:
        """Name and time one step of the run; refuses to start once cancelled."""
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
        """Say so when, inside this context, a kernel has to be compiled first."""
        from kohort.kernels import on_compile

        def tell(is_compiling: bool) -> None:
            self.is_compiling = is_compiling
            if is_compiling:
                self.note("compiling kernels for this kind of job, once on this machine: up to half a minute")

        with on_compile(tell):
            yield

    def slot(self) -> NDArray[np.int64]:
        """A fresh (done, stop) pair for one kernel call."""
        pair = np.zeros(2, np.int64)
        with self._lock:
            pair[1] = self._stopped
            self._slots.append(pair)
        return pair

    @property
    def done(self) -> int:
        with self._lock:
            return int(sum(pair[0] for pair in self._slots))

    def begin_improving(self, cost: int) -> None:
        """Groups of this cost are about to be improved."""
        with self._lock:
            self.cost_before += cost
            self.cost_now += cost

    def improved(self, by: int) -> None:
        with self._lock:
            self.cost_now -= by

    def cancel(self) -> None:
        """Ask running kernels to stop; the run then ends with CancelledError at its next check."""
        with self._lock:
            self.cancelled = True
            self._stop()

    def _stop(self) -> None:
        """Ask running kernels to stop, whether someone wants that or one of them failed."""
        with self._lock:
            self._stopped = True
            for pair in self._slots:
                pair[1] = 1

    def check(self) -> None:
        if self._stopped:
            message = "Stopped before it was done; nothing was published."
            raise CancelledError(message)

    def run(self, tasks: Iterable[Task]) -> None:
        """Run tasks, and the tasks they return, on this run's threads until none is left; inside a task, right here."""
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
        """Do this in a thread of its own, so that signals reach the main one while a kernel runs."""
        with self._workers(1) as pool:
            return pool.submit(work).result()

    @contextmanager
    def _workers(self, threads: int) -> Iterator[ThreadPoolExecutor]:
        """Threads that stop, and end, before an error or an interruption goes on its way."""
        pool = ThreadPoolExecutor(threads, "kohort")
        try:
            yield pool
        except Exception:
            self._stop()
            raise
        except BaseException:  # Ctrl-C: whatever works inside these workers must end, too
            self.cancel()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._stopped = self.cancelled  # whoever failed, nobody works any more

    def _task(self, task: Task) -> Iterable[Task]:
        self._inside.a_task = True
        return task()

    def _run_here(self, tasks: Iterable[Task]) -> None:
        """One after the other: a task that has tasks of its own already has a thread."""
        waiting = list(tasks)[::-1]
        while waiting and not self.cancelled:
            waiting += list(waiting.pop()())[::-1]
        self.check()
