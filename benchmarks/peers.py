"""Peers from the package index beside kohort on UCI Adult: what each loses, what it takes, whether its file is k-anonymous.

`make bench` prints it; `python -m benchmarks.peers` prints it alone. The peers live in an environment of their own, made once
and used again, and are run there by `peers_worker.py`. Every release, kohort's too, is measured from its published text by the
code below, which knows nothing of how it was made.
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

# Both peers break ties by the order in which columns are named, so the order is part of what is measured. anonypy in file
# order lost more than with numbers first (A, k=10: .2867), for as many seconds again: it is not run.
RUNS = (("anonypy", "numbers first"), ("anjana", "numbers first"), ("anjana", "file order"))
KS = (5, 10)
SUPPRESS_PERCENT = 5  # what anjana may leave out; anonypy and kohort's default leave nothing out
PATIENCE = 1800  # wall seconds for one run of a peer
NUMERIC = ("age",)
HEAD = (
    "tool", "QIs", "k", "leaf loss", "CPU s", "of it partition", "smallest class", "rows in classes below k", "rows missing",
    "really k-anonymous", "columns nobody asked for",
)  # fmt: skip
RANGE = re.compile(r"\[?(\d+(?:\.\d+)?)(?: ?- ?(\d+(?:\.\d+)?))?\]?")  # 39, 30-39, [30 - 39]


class PeerError(Exception):
    """Why a peer has no figures."""


@dataclass(frozen=True)
class Setting:
    """One question to all: a set of quasi-identifiers and a k."""

    name: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    k: int

    def row(self, tool: str, release: pd.DataFrame, cpu: str, partition: str = "") -> tuple[str, ...]:
        """A tool's line, from the text that it published."""
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
    """Print the table as Markdown, each line as soon as it is known."""
    try:
        datasets.folder()
    except RequestError as error:
        print(f"Peers are not measured: {error}")
        return
    print("\n**Peers on Adult**: CPU s from a table in memory to its release in memory; leaf loss of the published text\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for cells in rows(home or default_home()):
        print("| " + " | ".join(cells) + " |", flush=True)


def rows(home: Path) -> Iterator[tuple[str, ...]]:
    """The cells of each line, in the order of HEAD."""
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
    """The peer's version, after making the environment and installing into it what is missing."""
    if not python.exists():
        called([sys.executable, "-m", "venv", str(python.parents[1])])
    version = [str(python), "-I", "-c", f"import importlib.metadata as metadata; print(metadata.version({peer!r}))"]
    try:
        return called(version)
    except PeerError:
        # pandas is named because anonypy needs it and does not say so
        called([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pandas", peer])
        return called(version)


def called(command: Sequence[str]) -> str:
    """What a command says; if it fails, the last thing that it complains of is the reason."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()
    except subprocess.TimeoutExpired:
        raise PeerError(f"stopped after {PATIENCE} s") from None
    except subprocess.CalledProcessError as error:
        complaints = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        raise PeerError(complaints[-1].replace("|", "/")[:200]) from None


def numbers_first(quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(quasi, key=lambda name: name not in NUMERIC))


def file_order(quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in pd.read_csv(adult_file(), nrows=0).columns if name in quasi)


def peer_row(peer: str, python: Path, setting: Setting, order: str) -> tuple[str, ...]:
    """A peer's line; one that cannot be installed, fails or publishes what cannot be read says so in it."""
    tool = f"{peer}, {order}"
    try:
        tool = f"{peer} {installed(peer, python)}, {order}"
        release, seconds = peer_release(peer, python, setting)
        return setting.row(tool, release, f"{seconds:.2f}")
    except PeerError as error:
        return (tool, setting.name, str(setting.k), f"failed: {error}", *[""] * (len(HEAD) - 4))


def peer_release(peer: str, python: Path, setting: Setting) -> tuple[pd.DataFrame, float]:
    """What a peer publishes, as text, and the CPU seconds of its call."""
    with tempfile.TemporaryDirectory(prefix="kohort-peers-") as name:
        request, release, seconds = (Path(name) / part for part in ("request.json", "release.csv", "seconds"))
        asked: dict[str, Any] = {
            "peer": peer, "source": str(adult_file()), "release": str(release), "seconds": str(seconds),
            "quasi": setting.quasi, "sensitive": setting.sensitive, "numeric": NUMERIC, "k": setting.k,
            "suppress_percent": SUPPRESS_PERCENT, "trees": {column: str(tree_file(column)) for column in setting.quasi},
        }  # fmt: skip
        request.write_text(json.dumps(asked), encoding="utf-8")
        called([str(python), "-I", str(Path(__file__).with_name("peers_worker.py")), str(request)])
        table = pd.read_csv(release, dtype=str, keep_default_na=False)
        return table, float(seconds.read_text(encoding="utf-8"))


def kohort_row(setting: Setting) -> tuple[str, ...]:
    """kohort's default; a run on some of the rows before it leaves nothing to compile."""
    sample = datasets.adult(setting.quasi, setting.sensitive)
    job = Job.build(sample.job, k=setting.k, method="auto", ranges="tight", seed=7)
    for table in (sample.table.slice(0, 1000), sample.table):
        progress = Progress(1)
        release = run(MemoryEngine(job, progress), table).release_table()[0].to_pandas().astype(str)
    spent = progress.cpu_seconds  # the audit is not in it: no peer has one
    whole = spent["encode"] + spent["partition"] + spent["publish"]
    chosen = "auto" if job.method == "auto" else f"auto: {job.method}"
    return setting.row(f"**kohort {kohort.__version__}** ({chosen})", release, f"{whole:.2f}", f"{spent['partition']:.3f}")


# --- measuring


def adult_file() -> Path:
    return datasets.folder() / "adult" / "adult.csv.gz"


def tree_file(column: str) -> Path:
    return datasets.folder() / "adult" / "hierarchies" / f"{'salary-class' if column == 'class' else column}.csv"


def lost_in(published: pd.Series, source: pd.Series) -> float:
    """The sum over a column's cells of what each lost: 0 for a value as it was, 1 for a star or nothing."""
    column = str(source.name)
    loss_of = range_loss(pd.to_numeric(source)) if column in NUMERIC else node_loss(tree_file(column))
    counts = published.value_counts(dropna=False)
    try:
        return float(sum(many * (1.0 if text in {"*", ""} else loss_of(text)) for text, many in counts.items()))
    except (KeyError, ValueError):
        raise PeerError(f"it publishes in {column} what is no range and no node of the tree") from None


def range_loss(source: pd.Series) -> Callable[[str], float]:
    """(hi - lo) / (max - min); a band of a tree may reach beyond the values that there are, and is cut to them."""
    least, most = float(source.min()), float(source.max())

    def loss(text: str) -> float:
        match = RANGE.fullmatch(text)
        if match is None:
            raise ValueError
        low, high = float(match[1]), float(match[2] or match[1])
        return (min(high, most) - max(low, least)) / (most - least)

    return loss


def node_loss(tree: Path) -> Callable[[str], float]:
    """leaves(LCA) / leaves(tree), 0 for a single leaf; a comma list of values is as wide as the smallest node that holds all."""
    leaves: dict[str, set[str]] = {}  # under each label; no label of Adult's trees names two nodes
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
    parser = argparse.ArgumentParser(description="Peers from the package index beside kohort on UCI Adult.")
    parser.add_argument("--home", type=Path, default=default_home(), help="folder of the peers' environment (%(default)s)")
    main(parser.parse_args().home)
