"""Test that a run can be stopped at any moment."""

from __future__ import annotations

import threading

import pytest

from kohort.errors import CancelledError
from kohort.progress import Progress


def test_cancel_works_in_the_thread_that_holds_the_lock():
    """Signal handlers run in the main thread at any moment. With a lock that is not re-entrant, cancel would never return."""
    progress = Progress(1)

    def interrupted() -> None:
        with progress._lock:
            progress.cancel()

    thread = threading.Thread(target=interrupted, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert progress.cancelled
    assert progress.slot()[1] == 1


def test_interruption_also_stops_inner_thread_pools():
    """Work on another thread may have its own pool. The end of this pool must not reset the cancellation."""
    progress, rounds = Progress(2), []

    def inner() -> None:
        for _ in range(1_000):
            progress.run([tuple, tuple])
            rounds.append(1)

    def interrupted() -> None:
        with progress._workers(1) as pool:
            pool.submit(inner)
            while not rounds:
                pass
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(rounds) < 1_000
    with pytest.raises(CancelledError):
        progress.check()


def test_tasks_run_after_an_earlier_task_failed():
    progress, done = Progress(2), []

    def fails() -> tuple[()]:
        raise MemoryError

    def works() -> tuple[()]:
        done.append(1)
        return ()

    with pytest.raises(MemoryError):
        progress.run([fails, tuple])
    progress.run([works])
    assert done == [1]
