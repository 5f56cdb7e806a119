"""Make, run and judge random wrong requests.

A case depends only on (seed, number). `python -m tests.fuzzing SEED NUMBER` runs it again and shows what happened. A case starts
with a valid table (`sources`) and a valid request (`cases`). Then one thing is changed: the file (`damaged_files`,
`damaged_text`, `damaged_bytes`), a tree (`trees`), the job (`jobs`) or the command line (`lines`). The request runs in this
process (`running`). `judging` checks the exit code, all output and every file, and reads a release with readers that are not
kohort's (`readers`). Every column of every table contains values that occur nowhere else, so that `judging` finds a message that
quotes a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fuzzing.cases import Case, Rng
from tests.fuzzing.damaged_files import bad_file
from tests.fuzzing.jobs import bad_job
from tests.fuzzing.judging import Judged, judge
from tests.fuzzing.lines import bad_line
from tests.fuzzing.running import Ran, run, snapshot
from tests.fuzzing.sources import RARE
from tests.fuzzing.trees import bad_tree

__all__ = ["RARE", "Case", "Ran", "judge", "make", "snapshot", "try_case"]

Family = Callable[[Rng, Path, int], Case]
FAMILIES: tuple[Family, ...] = (bad_file, bad_job, bad_file, bad_tree, bad_line, bad_file, bad_job, bad_line)


def make(seed: int, number: int, folder: Path) -> Case:
    """Return the case with this number, and write its files to `folder`."""
    rounds, turn = divmod(number, len(FAMILIES))
    family = FAMILIES[turn]
    turns = [index for index, other in enumerate(FAMILIES) if other is family]
    return family(Rng(f"{seed}/{number}"), folder, rounds * len(turns) + turns.index(turn))


def try_case(seed: int, number: int, folder: Path) -> Judged:
    """Make, run and judge one case in an empty folder."""
    case = make(seed, number, folder)
    (folder / "scratch").mkdir()
    before = snapshot(folder)
    ran = run(case.arguments, folder)
    return Judged(seed, number, case, ran, judge(case, ran, before, folder))
