"""What a comparison has found so far, line by line in a file, so that a run that was stopped goes on where it was."""

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
    """The entries of one comparison. Lines of another table, job or workload are none of it."""

    def __init__(self, folder: Path | None, mark: str, *, force: bool = False) -> None:
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
            raise MachineError(f"The folder {self._file.parent} cannot be used: {error.strerror}.") from None
        self._is_cut_off = bool(text) and not text.endswith("\n")
        found = [facts for line in text.splitlines() if (facts := _parsed(line)) is not None]
        if found and all(facts.get("mark") != mark for facts in found):
            raise RequestError(
                f"{self._file} is of a comparison of another table, job, workload or column to model, or by another version. "
                "Choose another folder, or start anew with force (--force)."
            )
        for facts in found:
            if facts.get("mark") == mark:
                with suppress(TypeError):  # half an entry is none
                    entry = Entry.from_dict(facts["entry"])
                    self.entries[entry.method, entry.k] = entry

    def add(self, entry: Entry) -> None:
        """Keep an entry; it is on the disk before this returns."""
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
            raise MachineError(f"{self._file} cannot be written: {error.strerror}.") from None


def _parsed(line: str) -> Mapping[str, Any] | None:
    """A line; None for one that was cut off when the run was stopped."""
    with suppress(ValueError):
        facts = json.loads(line)
        if isinstance(facts, dict) and isinstance(facts.get("entry"), dict):
            return facts
    return None


def mark_of(table: pa.Table, facts: Mapping[str, Any]) -> str:
    """What tells one comparison from another: the table, and all that is asked of it."""
    digest = sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest.update(sink.getvalue())
    return digest.hexdigest()[:24]
