"""Journal of a comparison: one line per result in a file, so that a stopped run can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import MachineError, RequestError
from kohort.report.comparison_rows import Entry

NAME = "comparison.jsonl"


class Journal:
    """The entries of one comparison, also stored in a file. Lines with another fingerprint are ignored."""

    def __init__(self, folder: Path | None, mark: str, *, force: bool = False) -> None:
        """Read the entries in `folder` whose fingerprint is `mark`. With `force`, delete the file first."""
        self.entries: dict[tuple[str, int], Entry] = {}
        self._file = None if folder is None else folder / NAME
        self._mark, self._is_cut_off = mark, False
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if force:
                self._file.unlink(missing_ok=True)
            text = self._file.read_text(encoding="utf-8", errors="replace") if self._file.exists() else ""
        except OSError as error:
            raise MachineError(
                f"kohort cannot use the folder {self._file.parent}: {error.strerror}. Choose another folder (-o)."
            ) from None
        self._is_cut_off = bool(text) and not text.endswith("\n")
        found = [facts for line in text.splitlines() if (facts := _parsed(line)) is not None]
        if found and all(facts.get("mark") != mark for facts in found):
            raise RequestError(
                f"{self._file} has results for another table, job, workload, models column or version of kohort. "
                "Choose another folder (-o), or set force (--force) to delete these results and start again."
            )
        for facts in found:
            if facts.get("mark") == mark:
                with suppress(TypeError):  # ignore an incomplete entry
                    entry = Entry.from_dict(facts["entry"])
                    self.entries[entry.method, entry.k] = entry

    def add(self, entry: Entry) -> None:
        """Add an entry and write it to the disk before returning."""
        self.entries[entry.method, entry.k] = entry
        if self._file is None:
            return
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write("\n" * self._is_cut_off + json.dumps({"mark": self._mark, "entry": entry.to_dict()}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            self._is_cut_off = False
        except OSError as error:
            raise MachineError(
                f"kohort cannot write {self._file}: {error.strerror}. Free some space, or choose another folder (-o)."
            ) from None


def _parsed(line: str) -> Mapping[str, Any] | None:
    """Parse a line; None if it is incomplete because the run was stopped while writing it."""
    with suppress(ValueError):
        facts = json.loads(line)
        if isinstance(facts, dict) and isinstance(facts.get("entry"), dict):
            return facts
    return None


def fingerprint(table: pa.Table, facts: Mapping[str, Any]) -> str:
    """Return a hash of the table and of all settings of the comparison."""
    digest = sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest.update(sink.getvalue())
    return digest.hexdigest()[:24]
