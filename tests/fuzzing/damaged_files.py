"""Damaged sources: Parquet and Arrow files, folders of files, paths that are not files. `damaged_text` makes text files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.fuzzing.cases import ALL, FLAGS, Case, Rng, any_request, request, verdict_on
from tests.fuzzing.damaged_bytes import BYTES, cut
from tests.fuzzing.damaged_text import TEXT, Certain, write_text
from tests.fuzzing.sources import HEADER, PLACES, RARE, pack, people, plain_csv, typed, write_file

ODD_COLUMNS: tuple[tuple[list[Any], Any], ...] = (
    ([None], pa.null()),
    ([RARE.encode(), b"\xff\xfe"], pa.binary()),
    ([[RARE], []], pa.list_(pa.string())),
    ([{"a": RARE}], pa.struct({"a": pa.string()})),
    ([float("nan"), float("inf"), -0.0, 4711.0815], pa.float64()),
    ([2**64 - 1, 0], pa.uint64()),
    ([90817, 1], pa.duration("ns")),
    ([90817, 1], pa.time64("us")),
    ([-(2**62), 1], pa.timestamp("ns", tz="Europe/Bern")),
    ([-(2**31), 2**31 - 1], pa.date32()),
    ([True, None], pa.bool_()),
    ([90817, None], pa.decimal128(38, 2)),
    ([90817, None], pa.decimal256(60, 2)),
    ([RARE, ""], pa.large_string()),
    ([RARE, "\0"], pa.string_view()),
    ([b"0123456789abcdef"], pa.binary(16)),
    ([(1, 2, 3)], pa.month_day_nano_interval()),
)
"""Cells that are repeated to fill a column, and their type."""


def write_typed(rng: Rng, folder: Path, change: str) -> Case:
    """Write a Parquet or Arrow file, with a change of the table or of its bytes."""
    name = f"in{rng.choice(['.parquet', '.pq', '.arrow', '.feather', '.ipc'])}"
    table = typed(people(rng))
    certain: Certain = ()
    if change in ("no rows", "one row"):
        table, certain = table[: change == "one row"], ("anonymize",)
    elif change == "name doubled":
        table, certain = table.rename_columns(["age", "age", *table.column_names[2:]]), ALL
    elif change == "name changed":
        table, certain = table.rename_columns(["x", *table.column_names[1:]]), ("anonymize",)
    elif change == "no columns":
        table, certain = table.select([]), ALL
    elif change == "odd column":
        column = rng.choice(HEADER)
        cells, kind = rng.choice(ODD_COLUMNS)
        if name.endswith((".parquet", ".pq")) and kind == pa.month_day_nano_interval():
            name = "in.arrow"  # Parquet does not have this type
        odd = pa.array(cells * table.num_rows, kind)[: table.num_rows]
        table = table.set_column(HEADER.index(column), column, odd)
    write_file(table, folder / name)
    if change in BYTES:
        (folder / name).write_bytes(BYTES[change](rng, (folder / name).read_bytes()))
        certain = ALL if change == "cut short" else ()
    case = any_request(rng, name)
    return replace(case, title=f"{change}, {name}", verdict=verdict_on(change, wrong=case.command in certain))


def write_folder(rng: Rng, folder: Path, change: str) -> Case:
    """Write a folder of Parquet files, read by its name or by a pattern. Some have a column in the names of folders."""
    table = typed(people(rng))
    parts = folder / "parts"
    certain: Certain = ()
    by_city = rng.random() < 0.5
    for number, city in enumerate(PLACES if by_city else range(3)):
        subfolder = parts / f"city={city}" if by_city else parts
        subfolder.mkdir(parents=True, exist_ok=True)
        piece = table.filter(pc.field("city") == city).drop_columns("city") if by_city else table[number::3]
        write_file(piece.unify_dictionaries(), subfolder / f"part-{number}.parquet")
    files = sorted(parts.rglob("*.parquet"))
    one = rng.choice(files)
    if change == "one file differs":
        other = pq.read_table(one, partitioning=None)
        differ = (
            other.drop_columns("note"),
            other.append_column("more", other["name"]),
            other.set_column(1, "age", other["name"]),
            other.rename_columns([*other.column_names[:-1], "age"]),
        )
        write_file(rng.choice(differ), one)
        certain = ALL
    elif change == "one file is damaged":
        one.write_bytes(rng.choice([cut(rng, one.read_bytes()), b"", b"PAR1", RARE.encode(), bytes(99)]))
        certain = ALL
    elif change == "a column twice":
        again = (table, one.with_name("more.parquet")) if by_city else (table.append_column("age", table["age"]), one)
        write_file(*again)
        certain = ALL
    elif change == "files of other kinds":
        (parts / "notes.csv").write_text(RARE, encoding="utf-8")
        (parts / "_hidden.parquet").write_bytes(b"rubbish")
        (parts / ".kohort").mkdir()
    elif change == "nothing in it":
        for file in files:
            file.unlink()
        certain = ALL
    elif change == "a link to itself":
        (parts / "loop.parquet").symlink_to("loop.parquet")
        certain = ALL
    elif change == "a link to its folder":
        (parts / "again").symlink_to(".", target_is_directory=True)
    source = rng.choice(["parts", "parts/**/*.parquet"]) if by_city else rng.choice(["parts", "parts/*.parquet", "parts/p*"])
    case = any_request(rng, source)
    if change == "output inside":
        inside = "parts/city=Bern/o.parquet" if by_city else "parts/o.parquet"
        case = replace(request(rng, "parts"), arguments=("anonymize", "parts", "-o", inside, *FLAGS))
        certain = ALL
    if source != "parts" and change in ("a link to itself", "a column twice"):
        certain = ()  # the pattern may not match it
    title = f"folder, {change}{', keys in names' if by_city else ''}, read as {source}"
    verdict = verdict_on(change, wrong=case.command in certain)
    return replace(case, title=title, verdict=verdict, machine=change == "a link to itself")


def write_wrong_place(rng: Rng, folder: Path, change: str) -> Case:
    """Write valid content to a file name of another format, or make a path that is not a file."""
    name = "in.csv"
    path = folder / name
    content = plain_csv(rng).encode()
    if change == "wrong suffix":
        kinds = {".csv": content, ".csv.gz": pack(content, ".gz"), ".csv.zst": pack(content, ".zst")}
        for kind in (".parquet", ".arrow"):
            write_file(typed(people(rng)), folder / f"was{kind}")
            kinds[kind] = (folder / f"was{kind}").read_bytes()
        was, other = rng.sample(sorted(kinds), 2)
        other = rng.choice([other, other, "", ".xlsx", ".json", ".gz", ".csv.bz2", ".parquet.gz", "."])
        name, path = f"in{other}", folder / f"in{other}"
        path.write_bytes(kinds[was])
        change = f"{was} called {name}"
    elif change == "folder":
        path.mkdir()
    elif change == "link to itself":
        path.symlink_to(name)
    elif change == "link to nothing":
        path.symlink_to("none.csv")
    elif change == "device":
        path.symlink_to("/dev/null")
    elif change == "not to be read" and os.geteuid():
        path.write_bytes(content)
        path.chmod(0)
    elif change == "name too long":
        name = "x" * 300 + ".csv"
    return replace(any_request(rng, name), title=change, verdict="wrong", machine=change in ("link to itself", "name too long"))


TYPED = ("unchanged", "no rows", "one row", "name doubled", "name changed", "no columns")
FILE_CHANGES = [
    (write, change)
    for write, changes in (
        (write_text, (*TEXT, *BYTES, *BYTES, "not UTF-8", "encoding declared wrongly", "encoding declared oddly")),
        (write_typed, (*TYPED, *BYTES, *BYTES, "odd column", "odd column", "odd column")),
        (write_folder, ("unchanged", "one file differs", "one file is damaged", "a column twice", "files of other kinds")),
        (write_folder, ("nothing in it", "a link to itself", "a link to its folder", "output inside")),
        (write_wrong_place, ("wrong suffix", "wrong suffix", "folder", "link to itself", "link to nothing")),
        (write_wrong_place, ("device", "not to be read", "missing", "name too long")),
    )
    for change in changes
]


def bad_file(rng: Rng, folder: Path, turn: int) -> Case:
    write, change = FILE_CHANGES[turn % len(FILE_CHANGES)]
    return write(rng, folder, change)
