"""Damaged text files of any layout and encoding, compressed or not."""

from __future__ import annotations

import encodings.aliases
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.fuzzing.cases import ALL, BY_NAME, Case, Rng, any_request, verdict_on
from tests.fuzzing.damaged_bytes import BYTES, somewhere
from tests.fuzzing.sources import csv_lines, pack, people

Certain = tuple[str, ...]
"""The commands that must reject a change. For other commands, the changed request may be valid."""


def with_line(lines: list[str], at: int, change: Callable[[str], str]) -> list[str]:
    return [change(line) if number == at else line for number, line in enumerate(lines)]


def in_a_line(rng: Rng, lines: list[str], text: str) -> list[str]:
    at = rng.randrange(80)
    return with_line(lines, somewhere(rng, lines), lambda line: line[:at] + text + line[at:])


TEXT: dict[str, tuple[Certain, Callable[[Rng, list[str], str], list[str] | str]]] = {
    "unchanged": ((), lambda _rng, lines, _mark: lines),
    "header only": (("anonymize",), lambda _rng, lines, _mark: lines[:1]),
    "header without line end": (("anonymize",), lambda _rng, lines, _mark: lines[0]),
    "one row": (("anonymize",), lambda _rng, lines, _mark: lines[:2]),
    "quote not closed": (ALL, lambda rng, lines, _mark: with_line(lines, somewhere(rng, lines), '"{}'.format)),
    "last quote not closed": (ALL, lambda _rng, lines, _mark: with_line(lines, len(lines) - 1, '"{}'.format)),
    "quote inside": ((), lambda rng, lines, _mark: in_a_line(rng, lines, '"')),
    "stray delimiter": (ALL, lambda rng, lines, mark: with_line(lines, somewhere(rng, lines), lambda line: mark + line)),
    "cell lost": (
        ALL,
        lambda rng, lines, mark: with_line(lines, somewhere(rng, lines), lambda line: line.partition(mark)[2]),
    ),
    "name doubled": (ALL, lambda _rng, lines, _mark: with_line(lines, 0, lambda line: line.replace("sex", "age"))),
    "name changed": (
        ("anonymize",),
        lambda rng, lines, _mark: with_line(lines, 0, lambda line: line.replace(rng.choice(["name", "born", "note"]), "x")),
    ),
    "no header": (BY_NAME, lambda _rng, lines, _mark: lines[1:]),
    "no header, one row": (BY_NAME, lambda _rng, lines, _mark: lines[1:2]),
    "header twice": ((), lambda _rng, lines, _mark: [lines[0], *lines]),
    "one long line": (("anonymize",), lambda _rng, lines, mark: mark.join(lines)),
    "header and first row in one": (ALL, lambda _rng, lines, mark: [mark.join(lines[:2]), *lines[2:]]),
    "mixed line ends": ((), lambda rng, lines, _mark: "".join(line + rng.choice(["\n", "\r\n"]) for line in lines)),
    "old Mac's line ends": ((), lambda _rng, lines, _mark: "\r".join(lines)),
    "carriage return inside": ((), lambda rng, lines, _mark: in_a_line(rng, lines, "\r")),
    "blank lines": ((), lambda rng, lines, _mark: "".join(line + rng.choice(["\n", "\n\n", "\n\n\n"]) for line in lines)),
    "NULs": ((), lambda rng, lines, _mark: in_a_line(rng, lines, "\0" * rng.choice([1, 50]))),
    "odd character": ((), lambda rng, lines, _mark: in_a_line(rng, lines, rng.choice("\ufeff\u2028\x85\x1c\x1a\v\x07"))),
    "spaces": ((), lambda rng, lines, mark: in_a_line(rng, lines, rng.choice([" ", "  ", " " + mark, mark + " "]))),
    "long cell": ((), lambda rng, lines, _mark: in_a_line(rng, lines, "x" * rng.choice([99_990, 140_000, 300_000]))),
    "very long line": ((), lambda rng, lines, _mark: in_a_line(rng, lines, "x" * rng.choice([1 << 20, 1 << 20, 17 << 20]))),
    "empty": (ALL, lambda _rng, _lines, _mark: ""),
    "line ends only": (ALL, lambda rng, _lines, _mark: "\n" * rng.choice([1, 2, 30])),
    "spaces only": (BY_NAME, lambda rng, _lines, _mark: rng.choice([" ", " \n", "\t\n", " \n \n", "\ufeff", "\ufeff\n"])),
    "quotes only": (BY_NAME, lambda rng, _lines, _mark: rng.choice(['"', '""', '""\n""\n', '"\n'])),
    "delimiters only": (BY_NAME, lambda rng, _lines, mark: rng.choice([mark, f"{mark}\n{mark}\n", mark * 7 + "\n"])),
}
LAYOUTS = (*((".csv", mark) for mark in ",;|\t"), (".tsv", "\t"), (".tab", "\t"), (".txt", ";"), (".CSV", ","))


def write_text(rng: Rng, folder: Path, change: str) -> Case:
    """Write a text file of any layout, changed before or after it is encoded, or after it is compressed."""
    suffix, mark = rng.choice(LAYOUTS)
    suffix += rng.choice(["", "", "", ".gz", ".zst"])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
    certain, changed = TEXT.get(change, TEXT["unchanged"])
    lines = changed(rng, csv_lines(people(rng), mark), mark)
    text = lines if isinstance(lines, str) else "\n".join(lines) + rng.choice(["\n", ""])
    content = text.encode(encoding, "replace")
    if change == "not UTF-8":
        encoding, content, certain = "utf-8", text.encode(), ALL
        at = rng.randrange(9, len(content))
        content = content[:at] + rng.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88"]) + content[at:]
    packed = pack(content, suffix)
    if change in BYTES:
        if rng.random() < 0.5 and suffix.endswith((".gz", ".zst")):
            packed = BYTES[change](rng, packed)
            certain = ALL if change == "cut short" else ()
        else:
            packed = pack(BYTES[change](rng, content), suffix)
    name = f"in{suffix}"
    (folder / name).write_bytes(packed)
    case = any_request(rng, name)
    declared = encoding if encoding == "latin-1" else None
    if change == "encoding declared wrongly":
        declared = rng.choice(["nope", "base64", "rot13", "", "utf-9"])
        certain = ALL
    elif change == "encoding declared oddly":
        declared = rng.choice(sorted(set(encodings.aliases.aliases.values()) | {"idna", "punycode", "utf-8-sig", "undefined"}))
    if declared is not None:
        case = replace(case, arguments=(*case.arguments, "--encoding", declared), encoding=declared)
    title = f"{change}, {suffix} in {encoding}, delimiter {mark!r}"
    return replace(case, title=title, verdict=verdict_on(change, wrong=case.command in certain))
