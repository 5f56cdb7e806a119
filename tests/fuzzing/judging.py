"""Check what kohort did: no crash, no incomplete file, no cell in a message, no success for a wrong request."""

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
IN_PLACE = "The release itself was written"  # the run is complete except for the saved job


@dataclass
class Judged:
    """The result of a case: the rules that kohort broke, and how to run the case again."""

    seed: int
    number: int
    case: Case
    ran: Ran
    complaints: list[str]

    def __str__(self) -> str:
        again = f".venv/bin/python -m tests.fuzzing {self.seed} {self.number}"
        text = f"case {self.number} of seed {self.seed} ({self.case.title}): {'; '.join(self.complaints)}\n    again: {again}"
        return text.encode("utf-8", "backslashreplace").decode()  # xdist cannot transfer file names that are not UTF-8


def judge(case: Case, ran: Ran, before: Snapshot, folder: Path) -> list[str]:
    """Return every rule that was broken."""
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
        wrong.append(f"a library writes to stderr: {ran.err[-200:]!r}")
    if case.verdict == "wrong" and ran.code == 0:
        wrong.append("exit code 0 for a wrong request")
    if case.verdict == "right" and ran.code != 0:
        wrong.append(f"exit code {ran.code} for a valid request ({ran.err[-300:]!r})")
    if ran.code:
        wrong += _judge_messages(case, ran)
    wrong += _judge_files(case, ran, before, snapshot(folder))
    if ran.code == 0 and not wrong:
        wrong += _judge_success(case, ran, folder)
    return wrong


def _judge_messages(case: Case, ran: Ran) -> list[str]:
    """Check that a failure has a message on stderr or, for a failed audit, on stdout."""
    if case.command == "audit" and ran.code == 1 and ran.out:
        return ["a failed audit says that it passed"] if not re.search(r'NOT kept|"passed": false', ran.out) else []
    wrong = [] if re.search("^Error: .", ran.err, re.MULTILINE) else [f"no message ({ran.err[-200:]!r})"]
    if ran.out and IN_PLACE not in ran.err and (case.command != "demo" or SUCCESS.search(ran.out)):
        wrong.append(f"a failure writes to stdout ({ran.out[:100]!r})")
    return wrong


def _judge_files(case: Case, ran: Ran, before: Snapshot, after: Snapshot) -> list[str]:
    """Check that no temporary file remains, and that no other file was changed."""
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
    """Check the release with readers that are not kohort's."""
    if case.command not in ALL or "-h" in case.arguments:
        return []
    if case.command == "inspect":
        if case.output:
            tomllib.loads((folder / case.output).read_text(encoding="utf-8"))
        return []
    if not SUCCESS.search(ran.out):
        return ["success without a message"]
    try:
        k, quasi = _requested(case, folder)
        carried = ["disease"] if case.command == "anonymize" else []
        source = rows_of(folder, case.source, case.encoding, [*quasi, *carried])
        if case.command == "audit":
            return _judge_groups(source, quasi, k)
        assert case.output is not None
        release = rows_of(folder, case.output, "utf-8", ())
    except Exception as error:  # noqa: BLE001 - a reader may raise any error
        if case.command == "audit" and str(case.source).endswith((".parquet", ".pq")):
            return []  # SQL reads pages of a wrong length that Arrow rejects, and kohort audits the rows that SQL reads
        return [f"accepted a file that others cannot read: {type(error).__name__}: {str(error)[:100]}"]
    wrong = _judge_groups(release, [name for name in release[0] if name.removesuffix(".mean") in quasi] if release else [], k)
    if len(release) != len(source):
        wrong.append(f"{len(source)} rows became {len(release)}")
    elif "disease" not in quasi and _diseases(source) != _diseases(release):
        wrong.append("a sensitive column was changed")
    return wrong


def _diseases(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter("" if row.get("disease") is None else str(row["disease"]) for row in rows)


def _requested(case: Case, folder: Path) -> tuple[int, list[str]]:
    k, quasi = 5, []
    if case.job:
        text = (folder / case.job).read_text(encoding="utf-8-sig")
        job = json.loads(text) if case.job.endswith(".json") else tomllib.loads(text)
        k = int(job.get("promise", {}).get("k", 5))
        quasi = [name for name, column in job["columns"].items() if column["role"] == "quasi"]
    flags = dict(pairwise(case.arguments))
    return int(flags.get("--k", k)), flags["--quasi"].split(",") if "--quasi" in flags else quasi


def _judge_groups(rows: Sequence[Mapping[str, Any]], quasi: Sequence[str], k: int) -> list[str]:
    sizes = Counter(tuple(None if row[name] is None else str(row[name]) for name in quasi) for row in rows)
    return [] if quasi and sizes and min(sizes.values()) >= k else [f"not {k}-anonymous: {min(sizes.values(), default=0)}"]
