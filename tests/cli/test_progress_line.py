"""The progress line."""

from __future__ import annotations

import re
import time

import pytest

from kohort.cli import progress_line as watching

# --- progress


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, False), (1.4, True)])
def test_progress_is_shown_only_for_long_work(capsys, seconds, shown):
    with watching.watched(1) as progress, progress.step("partition", total=10):
        progress.slot()[0] = 5
        time.sleep(seconds)
    out, err = capsys.readouterr()
    assert out == ""
    assert bool(re.match(r"kohort: partition 50 %, [0-9]+ rows/s, about [0-9] s left, 1 s\n", err)) == shown
    assert shown or not err
