"""Progress: stopping works at any moment."""

from __future__ import annotations

import threading

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
