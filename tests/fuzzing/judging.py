"""Whether kohort did what it should: no crash, no half file, no cell in a message, no success for what is wrong."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fuzzing.cases import ALL, Case
from tests.fuzzing.readers import rows_of
from tests.fuzzing.running import Ran, Snapshot, snapshot
from tests.fuzzing.sources import PLANTED

SUCCESS = re.compile(r'audit passed|k = \d|"passed": true')
IN_PLACE = "The release is in place"  # all is done but for the saved job


@dataclass
class Judged:
    """What is wrong with what kohort did, and how to see it again."""

    seed: int
    number: int
    case: Case
    ran: Ran
    complaints: list[str]

    def __str__(self) -> str:
        again = f".venv/bin/python -m tests.fuzzing {self.seed} {self.number}"
        told = f"case {self.number} of seed {self.seed} ({self.case.title}): {'; '.join(self.complaints)}\n    again: {again}"
        return told.encode("utf-8", "backslashreplace").decode()  # odd names of files are no text that xdist could pass on


def judge(case: Case, ran: Ran, before: Snapshot, folder: Path) -> list[str]:
    """Every rule that was broken."""
    wrong = []
    if ran.crash:
        wrong.append(f"crash: {ran.crash}")
    elif ran.code not in ((0, 1, 2, 3) if case.machine else (0, 1, 2)):
        wrong.append(f"exit code {ran.code} ({ran.err[-200:]!r})")
    for name, text in (("stdout", ran.out), ("stderr", ran.err)):
        if "Traceback" in text or "please report" in text:
            wrong.append(f"a traceback on {name}")
        shown = PLANTED.search(text.replace("\0", ""))
        if shown:
            wrong.append(f"a cell on {name}: {text[max(0, shown.start() - 60) : shown.end() + 20]!r}")
    if re.search(r"^/?[\w/]*\.(cc|cpp|h):\d+", ran.err, re.MULTILINE):
        wrong.append(f"a library speaks on stderr: {ran.err[-200:]!r}")
    if case.verdict == "wrong" and ran.code == 0:
        wrong.append("exit code 0 for a wrong request")
    if case.verdict == "right" and ran.code != 0:
        wrong.append(f"exit code {ran.code} for a right request ({ran.err[-300:]!r})")
    if ran.code:
        wrong += _judge_words(case, ran)
    wrong += _judge_files(case, ran, before, snapshot(folder))
    if ran.code == 0 and not wrong:
        wrong += _judge_success(case, ran, folder)
    return wrong


def _judge_words(case: Case, ran: Ran) -> list[str]:
    """A failure says so: on stderr, and an audit that found something on stdout."""
    if case.command == "audit" and ran.code == 1 and ran.out:
        return ["a failed audit says that it passed"] if not re.search(r'FAILED|"passed": false', ran.out) else []
    wrong = [] if re.search("^Error: .", ran.err, re.MULTILINE) else [f"no message ({ran.err[-200:]!r})"]
    if ran.out and IN_PLACE not in ran.err and (case.command != "demo" or SUCCESS.search(ran.out)):
        wrong.append(f"a failure writes to stdout ({ran.out[:100]!r})")
    return wrong


def _judge_files(case: Case, ran: Ran, before: Snapshot, after: Snapshot) -> list[str]:
    """Nothing is left over, and nothing is touched that should not be."""
    changed = [name for name in {**before, **after} if before.get(name, "") != after.get(name, "")]
    may_make = ran.code == 0 or case.command == "demo" or IN_PLACE in ran.err
    made = [os.path.normpath(name) for name in case.makes] if may_make else []
    wrong = [
        f"{'lost' if name not in after else 'changed' if name in before else 'left'}: {name}"
        for name in changed
        if not any(name == one or name.startswith(f"{one}/") for one in made) or ".kohort-" in name
    ]
    if case.verdict == "unclear" and ran.code == 0 and "--save-job" not in case.arguments:
        wrong += [f"{name}, which is read, was changed" for name in (case.source, case.job) if name in changed]
    return wrong


def _judge_success(case: Case, ran: Ran, folder: Path) -> list[str]:
    """Somebody else's readers must find what kohort says to have made."""
    if case.command not in ALL or "-h" in case.arguments:
        return []
    if case.command == "inspect":
        if case.output:
            tomllib.loads((folder / case.output).read_text(encoding="utf-8"))
        return []
    if not SUCCESS.search(ran.out):
        return ["success without a word of it"]
    try:
        k, quasi = _asked(case, folder)
        carried = ["disease"] if case.command == "anonymize" else []
        source = rows_of(folder, case.source, case.encoding, [*quasi, *carried])
        if case.command == "audit":
            return _judge_classes(source, quasi, k)
        assert case.output is not None
        release = rows_of(folder, case.output, "utf-8", ())
    except Exception as error:  # noqa: BLE001 - whatever a reader says
        if case.command == "audit" and str(case.source).endswith((".parquet", ".pq")):
            return []  # SQL reads pages of a wrong length that Arrow refuses; what it counts is what it read
        return [f"accepted what others cannot read: {type(error).__name__}: {str(error)[:100]}"]
    wrong = _judge_classes(release, [name for name in release[0] if name.removesuffix(".mean") in quasi] if release else [], k)
    if len(release) != len(source):
        wrong.append(f"{len(source)} rows became {len(release)}")
    elif "disease" not in quasi and _diseases(source) != _diseases(release):
        wrong.append("a sensitive column was changed")
    return wrong


def _diseases(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter("" if row.get("disease") is None else str(row["disease"]) for row in rows)


def _asked(case: Case, folder: Path) -> tuple[int, list[str]]:
    k, quasi = 5, []
    if case.job:
        text = (folder / case.job).read_text(encoding="utf-8-sig")
        job = json.loads(text) if case.job.endswith(".json") else tomllib.loads(text)
        k = int(job.get("promise", {}).get("k", 5))
        quasi = [name for name, column in job["columns"].items() if column["role"] == "quasi"]
    flags = dict(pairwise(case.arguments))
    return int(flags.get("--k", k)), flags["--quasi"].split(",") if "--quasi" in flags else quasi


def _judge_classes(rows: Sequence[Mapping[str, Any]], quasi: Sequence[str], k: int) -> list[str]:
    sizes = Counter(tuple(None if row[name] is None else str(row[name]) for name in quasi) for row in rows)
    return [] if quasi and sizes and min(sizes.values()) >= k else [f"not {k}-anonymous: {min(sizes.values(), default=0)}"]
