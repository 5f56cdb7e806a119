"""Valid and damaged files of every format, written without kohort."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

RARE = "Xanthippe-4711"  # a planted value that must not appear in messages or releases
PACKED = {".gz": "gzip", ".zst": "zstd"}


def write_csv(path: Path, names, rows, delimiter=",", newline="\n"):
    """Write CSV without a library, so that an empty cell and a quoted empty cell differ."""

    def cell(value):
        if value is None:
            return ""
        return '"' + value.replace('"', '""') + '"' if value == "" or any(mark in value for mark in '"\r\n,;\t|') else value

    text = "".join(delimiter.join(map(cell, row)) + newline for row in (names, *rows))
    path.write_bytes(pa.compress(text.encode(), PACKED[path.suffix], asbytes=True) if path.suffix in PACKED else text.encode())


def read_csv(path: Path, delimiter=","):
    with pa.input_stream(str(path), compression=PACKED.get(path.suffix)) as file:
        text = file.read().decode()
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


# --- Parquet and data frames

TYPES = {
    "int8": pa.array([1, None, 3, 4], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0, 1, None], pa.uint64()),
    "float": pa.array([float("nan"), None, -0.5, 1e300]),
    "float32": pa.array([0.1, 0.2, None, 3.5], pa.float32()),
    "date": pa.array([dt.date(1999, 12, 31), None, dt.date(2020, 2, 29), dt.date(1, 1, 1)]),
    "timestamp": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC)] * 3 + [None], pa.timestamp("us", "Europe/Berlin")),
    "nanoseconds": pa.array([1, 2, None, 3], pa.timestamp("ns")),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-0.01"), Decimal("9999.99")]),
    "bool": pa.array([True, None, False, True]),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int8()), ["a", "b", RARE]),
    "ordered": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int16()), ["lo", "hi", RARE], ordered=True),
    "large text": pa.array(["02139", "", None, "x"], pa.large_string()),
    "binary": pa.array([b"\xff\x00", None, b"", b"x"]),
    "duration": pa.array([1, None, 3, 4], pa.duration("us")),
    "list": pa.array([[1, 2], None, [], [3]]),
}


# --- files that cannot be read


def arrow(table: pa.Table, writer) -> bytes:
    sink = io.BytesIO()
    with writer(sink, table.schema) as open_writer:
        open_writer.write_table(table)
    return sink.getvalue()


GOOD = "a,b\n" + "".join(f"{number},{RARE}{number}\n" for number in range(3000))
ZIPPED = gzip.compress(GOOD.encode())
ZSTD = pa.compress(GOOD.encode(), codec="zstd", asbytes=True)
ARROW_FILE, ARROW_STREAM = (arrow(pa.table({"a": [RARE]}), writer) for writer in (pa.ipc.new_file, pa.ipc.new_stream))
PARQUET = io.BytesIO()
pq.write_table(pa.table({"a": [RARE]}), PARQUET)
BAD = {
    "empty.csv": (b"", "empty"),
    "bom.csv": (b"\xef\xbb\xbf", "empty"),
    "blank.csv": (b"\n\n\n", "the first line is empty"),
    "long row.csv": (f"a,b\n1,2\n3,{RARE},5\n".encode(), "line 3 has 3 cells, but the header has 2.*contains a comma"),
    "short row.csv": (f"a;b;c\n1;2;3\n\n{RARE};5\n".encode(), "line 4 has 2 cells, but the header has 3.*contains a semicolon"),
    "late row.csv": ((GOOD + f"{RARE}\n").encode(), "line 3002 has 1 cell, but the header has 2"),
    "open quote.csv": (f'a,b\n1,"x\n{RARE},2\n'.encode(), "quote"),
    "stray quote.csv": (f'a,b\n1,"x\n{RARE},"y"\n3,z\n'.encode(), "quote"),
    "latin.csv": (GOOD.encode() + b"1,\xe9\n", "line 3002 is not UTF-8 text.*--encoding latin-1"),
    "latin header.csv": (b"caf\xe9,b\n1,2\n", "line 1 is not UTF-8 text"),
    "binary.csv": (bytes(range(256)) * 9, "not a text file"),
    "zeros.txt": (bytes(999), "not a text file"),
    "numbers.csv": (bytes(range(1, 9)) * 2 + bytes([0, 10]) * 9, "not a text file"),
    "gzipped.csv": (ZIPPED, "compressed with gzip. Add .gz to the end of its name"),
    "sheet.csv": (b"PK\x03\x04" + bytes(99), "spreadsheet"),
    "half a letter.csv": (b"\xff\xfe" + GOOD.encode("utf-16-le")[:-1], "line 3001 is not UTF-16 text"),
    "twice.csv": (b"a,b,a\n1,2,3\n", r"same name \(columns 1, 3\)"),
    "twice without rows.csv": (b"a,b,a\n", r"same name \(columns 1, 3\)"),
    "twice, and nothing else.csv": (b"a,b,a", r"same name \(columns 1, 3\)"),
    "cut.csv.gz": (ZIPPED[:-9], "gzip"),
    "harmed.csv.gz": (ZIPPED[:10] + b"\x07" + ZIPPED[11:], "gzip"),  # there is no block of this type
    "wrong sum.csv.gz": (ZIPPED[:-8] + bytes(4) + ZIPPED[-4:], "gzip"),
    "plain.csv.gz": (GOOD.encode(), "gzip"),
    "cut.csv.zst": (ZSTD[:-9], "zstd"),
    "harmed.tsv.zst": (ZSTD[:6] + b"\xff" + ZSTD[7:], "zstd"),
    "plain.csv.zst": (GOOD.encode(), "zstd"),
    "cut.parquet": (PARQUET.getvalue()[:-9], "Parquet"),
    "headless.parquet": (PARQUET.getvalue()[9:], "Parquet"),
    "empty.parquet": (b"", "Parquet"),
    "text.parquet": (GOOD.encode(), "Parquet"),
    "cut.arrow": (ARROW_FILE[:-9], "Arrow"),
    "headless.feather": (ARROW_FILE[9:], "Arrow"),
    "empty.ipc": (b"", "Arrow"),
    "text.arrow": (GOOD.encode(), "Arrow"),
    "cut stream.arrow": (ARROW_STREAM[:-9], "Arrow"),
    "stream cut between messages.arrow": (ARROW_STREAM[:-8], "Arrow"),
    "twice.arrow": (arrow(pa.table([["x"], ["y"]], ["a", "a"]), pa.ipc.new_file), r"same name \(columns 1, 2\)"),
    "packed.parquet.gz": (GOOD.encode(), "Decompress the file"),
    "table.xlsx": (GOOD.encode(), "Save the sheet as CSV"),
    "table": (GOOD.encode(), "format"),
}
