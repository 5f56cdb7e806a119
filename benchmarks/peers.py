"""Compare kohort with other packages (peers) on UCI Adult: their loss, their time, and whether their releases are k-anonymous.

`make bench` prints this; `python -m benchmarks.peers` prints only this. The peers are installed in a separate environment, which
is created once, and `peers_worker.py` runs them there. Every release, also kohort's, is measured from its published text by the
code below, which uses no other information about the release.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

import kohort
from benchmarks.methods import SETS
from kohort import datasets
from kohort.engines.base import run
from kohort.engines.memory import MemoryEngine
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress

# In both peers, the order of the columns decides between equal choices, so the order is part of the measurement. anonypy is not
# run in file order: it lost more than with numbers first (A, k=10: 0.2867) and would take the same time again.
RUNS = (("anonypy", "numbers first"), ("anjana", "numbers first"), ("anjana", "file order"))
KS = (5, 10)
SUPPRESS_PERCENT = 5  # per cent of rows that anjana may suppress; anonypy and kohort's default suppress none
TIMEOUT = 1800  # wall seconds for one run of a peer
NUMERIC = ("age",)
HEAD = (
    "tool", "columns", "k", "leaf loss", "CPU s", "of it partition", "smallest group", "rows in groups below k", "rows missing",
    "k-anonymous", "additional columns",
)  # fmt: skip
RANGE = re.compile(r"\[?(\d+(?:\.\d+)?)(?: ?- ?(\d+(?:\.\d+)?))?\]?")  # 39, 30-39, [30 - 39]


class PeerError(Exception):
    """The reason why a peer could not be measured."""


@dataclass(frozen=True)
class Setting:
    """A task for all tools: a set of quasi-identifiers and a k."""

    name: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    k: int

    def row(self, tool: str, release: pd.DataFrame, cpu: str, partition: str = "") -> tuple[str, ...]:
        """Return the line of a tool, measured from the text that it published."""
        source = pd.read_csv(adult_file(), dtype=str, keep_default_na=False)
        quasi = list(self.quasi)
        if not {*quasi} <= {*release.columns}:
            raise PeerError("it does not publish every quasi-identifier")
        sizes = release.groupby(quasi, dropna=False).size()
        missing, smallest, below = len(source) - len(release), int(sizes.min()), int(sizes[sizes < self.k].sum())
        lost = missing * len(quasi) + sum(lost_in(release[name], source[name]) for name in quasi)
        more = ", ".join(name for name in release.columns if name not in {*self.quasi, *self.sensitive})
        figures = (f"{lost / len(source) / len(quasi):.4f}", cpu, partition, str(smallest), str(below), f"{missing:,}")
        return (tool, self.name, str(self.k), *figures, "no" if below else "yes", more)


def main(home: Path | None = None) -> None:
    """Print the table as Markdown, each line as soon as it is measured."""
    try:
        datasets.folder()
    except RequestError as error:
        print(f"Peers were not measured. {error}")
        return
    print("\n**Peers on Adult**: CPU s from a table in memory to its release in memory; leaf loss of the published text\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for cells in rows(home or default_home()):
        print("| " + " | ".join(cells) + " |", flush=True)


def rows(home: Path) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each line, in the order of HEAD."""
    for name, (quasi, sensitive) in SETS.items():
        for k in KS:
            setting = Setting(name, quasi, sensitive, k)
            orders = {"numbers first": numbers_first(quasi), "file order": file_order(quasi)}
            for peer, order in RUNS:
                if order == "numbers first" or orders[order] != orders["numbers first"]:
                    yield peer_row(peer, home / "bin" / "python", replace(setting, quasi=orders[order]), order)
            yield kohort_row(setting)


# --- running


def default_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kohort-peers"


def installed(peer: str, python: Path) -> str:
    """Return the peer's version. Create the environment and install the peer if needed."""
    if not python.exists():
        called([sys.executable, "-m", "venv", str(python.parents[1])])
    version = [str(python), "-I", "-c", f"import importlib.metadata as metadata; print(metadata.version({peer!r}))"]
    try:
        return called(version)
    except PeerError:
        # pandas is listed because anonypy needs it but does not declare it
        called([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pandas", peer])
        return called(version)


def called(command: Sequence[str]) -> str:
    """Return the output of a command. If it fails, raise a PeerError with the last line of its stderr."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout.strip()
    except subprocess.TimeoutExpired:
        raise PeerError(f"stopped after {TIMEOUT} s") from None
    except subprocess.CalledProcessError as error:
        complaints = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        raise PeerError(complaints[-1].replace("|", "/")[:200]) from None


def numbers_first(quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(quasi, key=lambda name: name not in NUMERIC))


def file_order(quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in pd.read_csv(adult_file(), nrows=0).columns if name in quasi)


def peer_row(peer: str, python: Path, setting: Setting, order: str) -> tuple[str, ...]:
    """Return the line of a peer. If it cannot be installed, fails or publishes unreadable text, the line gives the reason."""
    tool = f"{peer}, {order}"
    try:
        tool = f"{peer} {installed(peer, python)}, {order}"
        release, seconds = peer_release(peer, python, setting)
        return setting.row(tool, release, f"{seconds:.2f}")
    except PeerError as error:
        return (tool, setting.name, str(setting.k), f"failed: {error}", *[""] * (len(HEAD) - 4))


def peer_release(peer: str, python: Path, setting: Setting) -> tuple[pd.DataFrame, float]:
    """Return the release of a peer, as text, and the CPU seconds of its call."""
    with tempfile.TemporaryDirectory(prefix="kohort-peers-") as name:
        request, release, seconds = (Path(name) / part for part in ("request.json", "release.csv", "seconds"))
        content: dict[str, Any] = {
            "peer": peer, "source": str(adult_file()), "release": str(release), "seconds": str(seconds),
            "quasi": setting.quasi, "sensitive": setting.sensitive, "numeric": NUMERIC, "k": setting.k,
            "suppress_percent": SUPPRESS_PERCENT, "trees": {column: str(tree_file(column)) for column in setting.quasi},
        }  # fmt: skip
        request.write_text(json.dumps(content), encoding="utf-8")
        called([str(python), "-I", str(Path(__file__).with_name("peers_worker.py")), str(request)])
        table = pd.read_csv(release, dtype=str, keep_default_na=False)
        return table, float(seconds.read_text(encoding="utf-8"))


def kohort_row(setting: Setting) -> tuple[str, ...]:
    """Return the line of kohort's default. A first run on some rows compiles the kernels."""
    sample = datasets.adult(setting.quasi, setting.sensitive)
    job = Job.build(sample.job, k=setting.k, method="auto", ranges="tight", seed=7)
    for table in (sample.table.slice(0, 1000), sample.table):
        progress = Progress(1)
        release = run(MemoryEngine(job, progress), table).release_table()[0].to_pandas().astype(str)
    spent = progress.cpu_seconds  # without the audit, because no peer has one
    whole = spent["encode"] + spent["partition"] + spent["publish"]
    chosen = "auto" if job.method == "auto" else f"auto: {job.method}"
    return setting.row(f"**kohort {kohort.__version__}** ({chosen})", release, f"{whole:.2f}", f"{spent['partition']:.3f}")


# --- measuring


def adult_file() -> Path:
    return datasets.folder() / "adult" / "adult.csv.gz"


def tree_file(column: str) -> Path:
    return datasets.folder() / "adult" / "hierarchies" / f"{'salary-class' if column == 'class' else column}.csv"


def lost_in(published: pd.Series, source: pd.Series) -> float:
    """Return the sum of the losses of a column's cells: 0 for an unchanged value, 1 for `*` or an empty cell."""
    column = str(source.name)
    loss_of = range_loss(pd.to_numeric(source)) if column in NUMERIC else node_loss(tree_file(column))
    counts = published.value_counts(dropna=False)
    try:
        return float(sum(many * (1.0 if text in {"*", ""} else loss_of(text)) for text, many in counts.items()))
    except (KeyError, ValueError):
        raise PeerError(f"column {column} contains text that is neither a range nor a node of the tree") from None


def range_loss(source: pd.Series) -> Callable[[str], float]:
    """Return a function for (high - low) / (max - min). A range of a tree may be wider than the values, so it is cut to them."""
    least, most = float(source.min()), float(source.max())

    def loss(text: str) -> float:
        match = RANGE.fullmatch(text)
        if match is None:
            raise ValueError
        low, high = float(match[1]), float(match[2] or match[1])
        return (min(high, most) - max(low, least)) / (most - least)

    return loss


def node_loss(tree: Path) -> Callable[[str], float]:
    """Return a function for leaves(node) / leaves(tree), 0 for a single leaf.

    A list of values with commas counts as the smallest node that contains all of them.
    """
    leaves: dict[str, set[str]] = {}  # leaves under each label; in Adult's trees, every label belongs to one node
    with tree.open(encoding="utf-8", newline="") as file:
        for path in csv.reader(file, delimiter=";"):
            for label in path:
                leaves.setdefault(label, set()).add(path[0])

    def loss(text: str) -> float:
        held = set().union(*(leaves[part] for part in text.split(",")))
        node = min(len(below) for below in leaves.values() if held <= below)
        return 0.0 if node == 1 else node / len(leaves["*"])

    return loss


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare kohort with other packages on UCI Adult.")
    parser.add_argument("--home", type=Path, default=default_home(), help="folder of the peers' environment (%(default)s)")
    main(parser.parse_args().home)
