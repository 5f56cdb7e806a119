"""Show the progress of a run on stderr: nothing in the first second, then one line on a terminal, few lines in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kohort.progress import Progress
from kohort.wording import percent

QUIET_SECONDS = 1.0
STEPS_OF_ROWS = ("read", "encode", "partition", "publish", "audit")  # others count columns or runs
TERMINAL_SECONDS, LOG_SECONDS = 0.2, 10.0


@contextmanager
def watched(threads: int | None) -> Iterator[Progress]:
    """Give a progress whose steps are shown while the block runs."""
    said: set[str] = set()

    def say_once(text: str) -> None:
        if text not in said:
            said.add(text)
            _write(f"kohort: {text} ...\n")

    progress = Progress(threads, note=say_once)
    done = threading.Event()
    reporter = threading.Thread(target=_report, args=(progress, done), name="kohort-progress", daemon=True)
    reporter.start()
    try:
        yield progress
    finally:
        done.set()
        reporter.join()


def _report(progress: Progress, done: threading.Event) -> None:
    terminal = sys.stderr.isatty()
    started = time.monotonic()
    shown_at, shown_step, width = 0.0, "", 0
    while not done.wait(0.1):
        now, step = time.monotonic(), progress.step_name
        if not step or now - started < QUIET_SECONDS:
            continue
        if step == shown_step and now - shown_at < (TERMINAL_SECONDS if terminal else LOG_SECONDS):
            continue
        share = _share(progress)
        if progress.cost_now < progress.cost_before:
            share += f", detail lost now {percent(progress.cost_now / progress.cost_before)} of the start"
        share = ", compiling" if progress.is_compiling else share
        text = f"kohort: {step}{share}, {now - started:.0f} s"
        _write(f"\r{text:<{width}}" if terminal else f"{text}\n")
        shown_at, shown_step, width = now, step, len(text)
    if terminal and width:
        _write(f"\r{'':<{width}}\r")


def _share(progress: Progress) -> str:
    """Return how far a step is, its speed, and the time left at this speed."""
    done, total, seconds = progress.done, progress.total, time.perf_counter() - progress.step_began
    rate = done / seconds if seconds > 0 else 0
    if not total:
        return f" {done:,} rows" if done else ""
    share = f" {min(100 * done // total, 100)} %"
    if rate and seconds > QUIET_SECONDS / 2:  # not the whole time, so that the first line shows it
        speed = f"{rate / 1e6:.1f} M" if rate >= 1e5 else f"{rate:,.0f}"
        share += f", {speed} rows/s" if progress.step_name in STEPS_OF_ROWS else ""
        share += f", about {max(total - done, 0) / rate:.0f} s left"
    return share


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
