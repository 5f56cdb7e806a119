"""Invalid trees, and rules for trees that are wrong or do not fit their column."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from tests.fuzzing.cases import Case, Rng, request, verdict_on
from tests.fuzzing.damaged_bytes import cut, flipped, inserted, removed
from tests.fuzzing.jobs import job_of, with_job
from tests.fuzzing.sources import PLACES, RARE, plain_csv

TREE = "".join(f'"{place}";{side} end;*\n' for place, side in PLACES.items())
LINES = TREE.splitlines(keepends=True)
Content = str | bytes | Callable[[Rng], str | bytes]
WRONG_TREES: dict[str, Content] = {
    "a value is missing": lambda rng: "".join(rng.sample([line for line in LINES if RARE not in line], 4)),
    "a value under two parents": TREE + f"{RARE};east end;*\n",
    "a value on two levels": TREE + f"{RARE};*\n",
    "a label under two parents": TREE.replace(";*", ";all;*") + "x;west end;none;*\n",
    "a label is a value": TREE + f"x;{RARE};*\n",
    "a cycle": TREE.replace("west end", "Bern").replace("east end", RARE) + f"Bern;{RARE};*\n{RARE};Bern;*\n",
    "a quote is not closed": lambda rng: TREE + f'"{RARE}-2;west end;*\n' * rng.choice([1, 2]),
    "a label is empty": TREE + f"{RARE}-2;;*\n",
    "empty": lambda rng: rng.choice(["", "\n", " \n", ";;\n", "\ufeff", '""\n']),
    "binary": lambda rng: rng.randbytes(200),
    "NULs": bytes(100),
    "latin-1": TREE.encode("latin-1"),
    "UTF-16": TREE.encode("utf-16"),
    "another delimiter": TREE.replace(";", "|"),
}
NO_TREES = ("the table itself", "a folder", "a link to itself", "not there")
ODD_TREES: dict[str, Content] = {
    "very deep": lambda rng: ";".join(["x", *map(str, range(rng.choice([40, 3000]))), "*\n"]),
    "a very long label": TREE.replace("west end", "w" * 200_000),
    "levels of different number": TREE.replace("west end;*", "west end;all;*"),
    "no root": TREE.replace(";*", ""),
    "several roots": TREE.replace("west end;*", "west end;+"),
    "bytes flipped": lambda rng: flipped(rng, TREE.encode()),
    "bytes removed": lambda rng: removed(rng, TREE.encode()),
    "bytes inserted": lambda rng: inserted(rng, TREE.encode()),
    "cut short": lambda rng: cut(rng, TREE.encode()),
}
TREE_CHANGES = ("unchanged", *WRONG_TREES, *NO_TREES, *ODD_TREES)
ALL_PLACES = ",".join(place for place in PLACES if "," not in place)
WRONG_RULES: dict[str, tuple[Any, ...]] = {
    "city": (
        "interval:5", "interval", "date", "date:year", "prefix:0", "prefix:-1", "prefix:2,3", "prefix:x", "prefix:2,2",
        "prefix:1.5", "order:", f"order:{RARE},Bern", "rare:1", "rare:x", "rare:5,6", "rare:-3", "flat:x", "none.csv", "tree",
        "intervals:5", "order", f"order:{RARE},{RARE}", f"order:{ALL_PLACES}", [[1, 2]], [], [[]], [["x", "*"]], [[RARE]], 7,
        True, [[RARE, ["x"]]], [RARE], {}, {"by": "magic"}, {"by": "order", "values": RARE}, {"by": "order", "values": [RARE, 7]},
        {"by": ["interval"]}, {"by": "rare", "label": "*"}, {"by": "rare", "label": RARE}, {"by": "rare", "least": 1e99},
        {"by": "prefix", "lengths": [3, "x"]}, {"by": "flat", "values": [RARE]}, {"steps": [5]},
    ),
    "age": (
        "interval:0", "interval:-5", "interval:5,7", "interval:10,5", "interval:nan", "interval:inf", "date", "interval:",
        "interval:5,", "interval:1e999", "interval:5;10", "interval:a", "date:century", "order:1,2",
        {"by": "interval", "steps": []}, {"by": "interval", "steps": [5] * 30}, {"by": "interval", "steps": 5},
        {"by": "interval", "steps": [RARE]}, {"by": "date", "levels": [RARE]}, {"by": RARE},
    ),
    "born": (
        "interval:30", "date:year,month", "date:week", "date:year,year", "date:", f"order:{RARE}",
    ),
    "disease": (
        "flat:7", "prefix:0", "prefix:a",
    ),
}  # fmt: skip
ODD_RULES: dict[str, tuple[Any, ...]] = {
    "age": (
        "interval:1e-300", "interval:1e300", "interval:0.1,0.3", "interval:1e-5,1e5", "prefix", "rare:999999999999",
        "interval:0.30000000000000004", f"prefix:{10**30}", f"rare:{10**30}", "interval:1" + "0" * 400,
    ),
    "income": (
        "interval:1e-300,1", "interval:1e308", "interval:0.001", "prefix:3", "flat", "interval:5e-324",
    ),
    "born": (
        "date", "date:day", "date:decade", "prefix:4", "prefix:9,7,4", "flat", "rare:2",
    ),
    "city": (
        "prefix", "prefix:99", "prefix:1", "rare:2", "flat", "order: Bern", "./interval:5",
    ),
}  # fmt: skip


def bad_tree(rng: Rng, folder: Path, turn: int) -> Case:
    """Return a request with a wrong tree: alternately a rule and a file."""
    (folder / "in.csv").write_text(plain_csv(rng), encoding="utf-8")
    if turn % 2:
        wrong = rng.random() < 0.7
        rules = WRONG_RULES if wrong else ODD_RULES
        column, rule = rng.choice([(column, rule) for column, those in rules.items() for rule in those])
        case = with_hierarchy(rng, folder, column, rule)
        return replace(case, title=f"tree of {column!r}: {rule!r}"[:150], verdict="wrong" if wrong else "unclear")
    change = TREE_CHANGES[turn // 2 % len(TREE_CHANGES)]
    name = rng.choice(["tree.csv", "trees/city.csv"])
    write_tree(rng, folder, name, change)
    if name.startswith("trees/") and change != "not there" and rng.random() < 0.5:
        case = request(rng, "in.csv")
        case = replace(case, arguments=(*case.arguments, "--hierarchies", "trees"))
    else:
        case = with_hierarchy(rng, folder, "city", name)
    verdict = verdict_on(change, wrong=change in WRONG_TREES or change in NO_TREES)
    return replace(case, title=f"tree: {change}", verdict=verdict, machine=change == "a link to itself")


def write_tree(rng: Rng, folder: Path, name: str, change: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if change == "the table itself":
        path.write_bytes((folder / "in.csv").read_bytes())
    elif change == "a folder":
        path.mkdir()
    elif change == "a link to itself":
        path.symlink_to(path.name)
    elif change != "not there":
        made = {"unchanged": TREE, **WRONG_TREES, **ODD_TREES}[change]
        content = made(rng) if callable(made) else made
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def with_hierarchy(rng: Rng, folder: Path, column: str, tree: Any) -> Case:
    """Return a request with a tree for a column, as a flag or in a job."""
    case = request(rng, "in.csv")
    if isinstance(tree, str) and rng.random() < 0.5:
        return replace(case, arguments=(*case.arguments, "--hierarchy", f"{column}={tree}"))
    job = job_of()
    job["columns"][column]["hierarchy"] = tree
    return with_job(rng, folder, json.dumps(job) if rng.random() < 0.5 or tree in ([], {}) else tomli_w.dumps(job))
