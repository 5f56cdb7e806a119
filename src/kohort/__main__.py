"""`kohort` and `python -m kohort`: a Ctrl-C while the command line is still loading ends it without a traceback too."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        signal.signal(signal.SIGINT, _too_early)
        from kohort.cli.commands import main as run
    except KeyboardInterrupt:
        _too_early(signal.SIGINT, None)
    run()


def _too_early(_signal: int, _frame: object) -> None:
    sys.stderr.write("Interrupted; nothing was published.\n")
    sys.stderr.flush()
    os._exit(130)  # nothing has been opened yet, and what is half imported need not be tidied up


if __name__ == "__main__":
    main()
