"""A valid table, and functions to write it in every format."""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq

RARE = "Xanthippe-4711"
PLANTED = re.compile(r"xanth|hippe|(?<![\d.])90817(?!\d)|4711[.,]08|07-03-04|(?<![\d.])1907(?!\d)", re.IGNORECASE)
QUASI = ("age", "sex", "city", "born", "income")
HEADER = ["name", *QUASI, "disease", "note"]
PLACES = {"Zürich": "east", "Bern": "west", "Genève": "west", "Basel, Stadt": "east", RARE: "west"}


def people(rng: random.Random) -> list[list[str]]:
    """Return rows of text. The first and the last row contain the planted values that must not appear in messages."""
    rows = [
        [
            f"Person {number}",
            str(rng.randrange(20, 60)),
            rng.choice("mf"),
            rng.choice([place for place in PLACES if place != RARE]),
            date(rng.randrange(1950, 1999), rng.randrange(1, 13), rng.randrange(1, 28)).isoformat(),
            f"{rng.randrange(1000, 9000)}.{rng.randrange(10, 99)}",
            rng.choice(["Grippe", "Fièvre", "HIV", ""]),
            rng.choice(["a, b; c|d\te", "plain", 'said "no"']),
        ]
        for number in range(rng.randrange(24, 40))
    ]
    planted = [RARE, "90817", RARE, RARE, "1907-03-04", "4711.0815", RARE, RARE]
    return [planted, *rows, [f"{RARE}-II", *planted[1:]]]


def typed(rows: Sequence[Sequence[str]]) -> pa.Table:
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(HEADER)}
    columns["age"] = pa.array(map(int, columns["age"]), pa.int32())
    columns["born"] = pa.array(map(date.fromisoformat, columns["born"]), pa.date32())
    columns["income"] = pa.array(map(float, columns["income"]), pa.float64())
    columns["note"] = pa.array(columns["note"], pa.string()).dictionary_encode()
    return pa.table(columns, pa.schema([(name, getattr(cells, "type", pa.string())) for name, cells in columns.items()]))


def csv_lines(rows: Sequence[Sequence[str]], mark: str) -> list[str]:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows([HEADER, *rows])
    return text.getvalue().splitlines()


def plain_csv(rng: random.Random) -> str:
    return "\n".join(csv_lines(people(rng), ",")) + "\n"


def pack(content: bytes, suffix: str) -> bytes:
    if suffix.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if suffix.endswith(".zst"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(content)
        return bytes(sink.getvalue())
    return content


def write_file(table: pa.Table, path: Path) -> None:
    """Write a Parquet or Arrow file in the format of its name. `.ipc` is written as a stream."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, compression="none" if path.suffix == ".pq" else "snappy")
    elif path.suffix == ".feather":
        pf.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink:
            kind = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
            with kind(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=10)
