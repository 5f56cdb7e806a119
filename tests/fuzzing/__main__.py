"""Run one case again and keep its folder: `python -m tests.fuzzing SEED NUMBER`."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from tests.fuzzing import try_case


def show(seed: int, number: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{seed}-{number}-"))
    judged = try_case(seed, number, folder)
    lines = (
        f"cd {folder}\nkohort {shlex.join(judged.case.arguments)}",
        f"# {judged.case.title}: a request that is {judged.case.verdict}",
        f"# exit code {judged.ran.code}\n{judged.ran.out}{judged.ran.err}{judged.ran.crash}",
        "# problems: " + ("; ".join(judged.complaints) or "none"),
    )
    sys.stdout.write("\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n")


if __name__ == "__main__":
    show(int(sys.argv[1]), int(sys.argv[2]))
