"""Progress: stopping works at any moment."""

from __future__ import annotations

import threading

import pytest

from kohort.errors import CancelledError
from kohort.progress import Progress


def test_a_signal_may_cancel_while_its_own_thread_holds_the_lock():
    """Signal handlers run in the main thread, between any two of its steps; a plain lock would wait for itself."""
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


def test_an_interruption_ends_work_inside_work_and_a_failure_only_its_own():
    """Work set aside may have workers of its own: they must not undo that everything was to stop."""
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


def test_after_a_worker_failed_the_next_work_runs():
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
