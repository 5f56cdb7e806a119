"""Invalid jobs: with broken text, with one wrong setting, or with a random value."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from tests.fuzzing.cases import OUTPUTS, Case, K, Rng
from tests.fuzzing.damaged_bytes import BYTES
from tests.fuzzing.sources import HEADER, QUASI, RARE, csv_lines, people, plain_csv

NUL_PATH, LONG_PATH, LONE = "a\0b", "x" * 5000, "\ud800"
WRONG_SETTINGS: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("version",): (2, 0, "one", [], 1.5, 10**400),
    ("method",): ("none", 7, [], {}, "", LONE, "mondrian\0"),
    ("option",): ({"relaxed": "maybe"}, {"speed": 1}, [], 3, {"relaxed": []}, {"relaxed": {"a": 1}}, {"": 0}, {"relaxed": 7}),
    ("effort",): (-1, 1001, 1.5, "x", [], 10**400, float("nan")),
    ("objective",): ("leave", "class", 7, [], {}, LONE),
    ("label",): ("disease", "nobody", 7, [], {}, LONE),
    ("seed",): (-1, 2**63, 1.5, "x", [], 10**400, float("nan")),
    ("missing",): (7, [1], {"a": 1}, [[]], [None], True),
    ("encoding",): ("nope", 7, [], "base64", "\0", "", LONE, "x" * 5000),
    ("hierarchies",): ("none", 7, [], NUL_PATH, LONG_PATH, "in.csv", LONE),
    ("keep_order",): ("maybe", 7, [], {}),
    ("row_order",): ("random", 7, [], ""),
    ("engine",): ("dask", "sparks", 7, {}),
    ("memory",): ("7 apples", "1MiB", -7, {}),
    ("threads",): (0, -1, 10**9, "x", 1.5, [], 10**400),
    ("promise",): (7, [], "k", {"k": 0}, {"k": 3, "l": 1}, {"k": 3, "s": 2}, None),
    ("promise", "k"): (0, -1, 1, 1.5, "five", 10**30, 10**400, True, [], {}, float("inf"), float("nan"), 42, 10**6, None),
    ("columns",): (7, [], "x", {}, [{"role": "quasi"}], None),
    ("columns", "age"): (7, [], "quasi", {}, None, {"role": "quasi", "more": {"a": [RARE]}}),
    ("columns", "nobody"): ({"role": "quasi"}, {"role": "drop"}, {}, 7),
    ("columns", LONE): ({"role": "quasi"}, {}),
    ("columns", "a\0"): ({"role": "other"},),
    ("columns", ""): ({"role": "other"}, {}),
    ("columns", "x" * 100_000): ({"role": "other"},),
    ("columns", "age", "role"): ("quasy", 7, [], "", None, {}, LONE),
    ("columns", "age", "type"): ("number", 7, "date", "timestamp", "boolean", [], LONE),
    ("columns", "city", "type"): ("integer", "decimal", "date", "boolean"),
    ("columns", "born", "type"): ("integer", "decimal", "boolean"),
    ("columns", "age", "format"): ("QQ", "", "DD.MM.YYYY", 7, [], "YYYY", "%Y"),
    ("columns", "born", "format"): ("DD.MM.YYYY", "YYYY", "%Y-%m-%d", "MM/DD", "", "YYYY-MM-DD" * 99, "\0", LONE, 7),
    ("columns", "age", "weight"): (-1, 1e9, float("nan"), float("inf"), "x", [], 10**400),
    ("columns", "age", "statistic"): ("median", 7, [], ""),
    ("columns", "city", "statistic"): ("mean", "both"),
    ("columns", "age", "allow"): (True, "maybe", 7, []),
    ("columns", "disease", "allow"): (True,),
    ("columns", "disease", "weight"): (2,),
    ("columns", "name", "type"): ("txt",),
    ("columns", "name", "role"): ("other",),
    ("columns", "city", "hierarchy"): ("none.csv", NUL_PATH, LONG_PATH, LONE, "in.csv", ".", "/dev/null", "", "~", "../in.csv"),
    ("colums",): ({}, 7),
    ("k",): (5,),
    ("",): (1,),
    (LONE,): (1,),
    ("promise", "alpha"): (
        0,
        1,
        2,
        "half",
        [],
        {},
        {"default": 0},
        {"nobody": 0.5},
        True,
        float("nan"),
        10**400,
        {"x": "y"},
        1e-9,
    ),
    ("promise", "l"): (0, 1, 1.5, "x", 10**6, 10**400, [], {}),
    ("promise", "entropy_l"): (1, 0, 1e6, "x", float("inf"), float("nan"), [], 10**400),
    ("promise", "recursive_l"): ("3", [3], [1, 2], [3, 0], "a,b", [3, 2, 1], {"l": 3}, 7, [3, 10**400], [10**400, 2], [3, 1e-9]),
    ("promise", "t"): (0, 1, 1.5, -1, "x", [], float("nan"), 10**400),
    ("promise", "beta"): (0, -1, "x", float("inf"), float("nan"), []),
    ("promise", "delta"): (0, -1, "x", float("inf"), float("nan"), {}),
    ("promise", "t_distance"): ("equal", "far", 7, []),
    ("promise", "beta_kind"): ("basic", "strong", 7),
    ("columns", "age", "l"): (3,),
    ("columns", "disease", "l"): (1, "x", 10**6),
    ("columns", "disease", "step"): (5,),
    ("columns", "age", "step"): (0, -1, "x"),
    ("columns", "disease", "role"): ("units",),
    ("preset",): ("publik", "public", 7, [], ""),
    ("ranges",): ("wide", 7, []),
    ("suppress",): (-0.1, 1.5, "x", float("nan"), []),
    ("suppressed",): ("gone", 7),
}
SETTINGS = [(path, value) for path, values in WRONG_SETTINGS.items() for value in values]
BROKEN_TEXTS: dict[str, Callable[[Rng, str, str], str | bytes]] = {
    "cut JSON": lambda rng, _toml, made: made[: rng.randrange(2, len(made))],
    "two objects": lambda _rng, _toml, made: made + made,
    "a list": lambda _rng, _toml, made: f"[{made}]",
    "empty JSON": lambda _rng, _toml, _made: "{}",
    "deep JSON": lambda rng, _toml, _made: '{"a":' * (deep := rng.choice([900, 5_000, 200_000])) + "1" + "}" * deep,
    "deep JSON list": lambda rng, _toml, _made: (
        '{"missing": ' + "[" * (deep := rng.choice([900, 5_000, 200_000])) + "]" * deep + "}"
    ),
    "deep list in a column": lambda rng, _toml, made: made.replace(
        '{"role": "quasi"}', '{"role": "quasi", "hierarchy": ' + "[" * (deep := rng.choice([100, 400, 900])) + "]" * deep + "}", 1
    ),
    "deep TOML": lambda rng, toml, _made: (
        f"missing = {'[' * (deep := rng.choice([300, 900, 5_000, 100_000]))}{']' * deep}\n{toml}"
    ),
    "deep TOML table": lambda rng, toml, _made: f"{'a.' * rng.choice([300, 900, 5_000])}a = 1\n{toml}",
    "deep TOML header": lambda rng, toml, _made: f"{toml}\n[{'a.' * rng.choice([300, 900, 5_000])}a]\n",
    "a key twice": lambda _rng, toml, _made: f"seed = 8\n{toml}",
    "a table twice": lambda _rng, toml, _made: f"{toml}\n[promise]\nk = 4\n",
    "a table in a value": lambda _rng, toml, _made: f"{toml}\n[promise.k]\na = 1\n",
    "random text after": lambda rng, toml, _made: (
        toml + rng.choice(["]]", "= 3", 'a = "x', "a = '''", "[", "a = 1 2", "a", "\0", "a = 01"])
    ),
    "a huge number": lambda _rng, toml, _made: toml.replace("seed = 7", f"seed = {'9' * 5000}"),
    "a huge JSON number": lambda _rng, _toml, made: made.replace('"seed": 7', f'"seed": {"9" * 5000}'),
    "a huge float": lambda _rng, toml, _made: toml.replace("seed = 7", "seed = 1e999"),
    "a date for a number": lambda rng, toml, _made: toml.replace(
        "seed = 7", f"seed = {rng.choice(['1907-03-04', '07:03:04', 'nan'])}"
    ),
    "a date for a column": lambda _rng, toml, _made: toml.replace('role = "quasi"', "role = 1907-03-04", 1),
    "not UTF-8": lambda _rng, toml, _made: f"# é {RARE}\n{toml}".encode("latin-1"),
    "UTF-16": lambda _rng, toml, _made: toml.encode("utf-16"),
    "binary": lambda rng, _toml, _made: b"a" + rng.randbytes(99) + b"\xff",
    "empty": lambda rng, _toml, _made: rng.choice(["", "\n", "# nothing\n", "\ufeff"]),
    "the table": lambda rng, _toml, _made: "\n".join(csv_lines(people(rng), ",")),
    "the table as JSON": lambda rng, _toml, _made: json.dumps(people(rng)),
    "NaN": lambda _rng, _toml, made: made.replace('"seed": 7', '"seed": NaN'),
    "only a column": lambda _rng, _toml, _made: '[columns.age]\nrole = "quasi"\n',
    "a column without a role": lambda _rng, toml, _made: toml.replace('role = "identifier"\n', "", 1),
}


def job_of() -> dict[str, Any]:
    """Return a valid job."""
    roles = {"name": "identifier", **dict.fromkeys(QUASI, "quasi"), "disease": "sensitive", "note": "other"}
    columns = {name: {"role": role} for name, role in roles.items()}
    return {"version": 1, "method": "mondrian", "seed": 7, "promise": {"k": K}, "columns": columns}


def with_job(rng: Rng, folder: Path, text: str | bytes) -> Case:
    """Return a request with a job of this text."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    name = "requested.json" if content.startswith((b"{", b"[")) else "requested.toml"
    (folder / name).write_bytes(content)
    output = rng.choice(OUTPUTS)
    return Case("", ("anonymize", "in.csv", "-o", output, "--job", name), "right", "in.csv", (output,), job=name)


def random_value(rng: Rng, cell: str, depth: int = 0) -> Any:
    plain = (None, True, -1, 0, 7, 2.5, 10**20, "", "quasi", "x", cell, "\0", "1", float("inf"))
    kind = rng.randrange(8 if depth < 4 else 6)
    if kind == 6:
        return [random_value(rng, cell, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        names = ("a", "role", "k", "age", "type", "by", "hierarchy", "steps", "", "promise", "columns", "values")
        return {rng.choice(names): random_value(rng, cell, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(plain)


def put(job: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(job)
    *above, last = path
    here = changed
    for name in above:
        here = here.setdefault(name, {})
    here[last] = value
    return changed


def paths_in(job: Mapping[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = [path for name, value in job.items() if isinstance(value, dict) for path in paths_in(value, (*above, name))]
    return [*((*above, name) for name in job), *below]


def written(rng: Rng, job: dict[str, Any]) -> str:
    """Return the job as TOML, or as JSON if TOML cannot express it."""
    if rng.random() < 0.5:
        with contextlib.suppress(TypeError, ValueError, UnicodeError):
            text = tomli_w.dumps(job)
            text.encode()
            return text
    return json.dumps(job)


def bad_job(rng: Rng, folder: Path, turn: int) -> Case:
    """Return a request whose job has broken text, one wrong setting, or a random value."""
    (folder / "in.csv").write_text(plain_csv(rng), encoding="utf-8")
    job = job_of()
    rounds, kind = divmod(turn, 8)
    if kind == 0:
        change = list(BROKEN_TEXTS)[rounds % len(BROKEN_TEXTS)]
        case = with_job(rng, folder, BROKEN_TEXTS[change](rng, tomli_w.dumps(job), json.dumps(job)))
        return replace(case, title=f"job: {change}", verdict="wrong")
    if kind == 1:
        path = rng.choice([*paths_in(job), ("columns", "city", "hierarchy"), ("option",), ("missing",), ("hierarchies",)])
        cells = {"hierarchy": f"order:{RARE}", "missing": RARE}  # only these settings of a job contain cells
        value = random_value(rng, cells.get(path[-1], "y"))
        case = with_job(rng, folder, written(rng, put(job, path, value)))
        return replace(case, title=f"job: {path} = {value!r}"[:150], verdict="unclear")
    if kind == 2 and rounds % 2:
        name = rng.choice(HEADER)
        job["columns"].pop(name)
        return replace(with_job(rng, folder, written(rng, job)), title=f"job: without {name!r}", verdict="wrong")
    if kind == 2:
        text = BYTES[change := rng.choice(list(BYTES))](rng, written(rng, job).encode())
        return replace(with_job(rng, folder, text), title=f"job: {change}", verdict="unclear")
    path, value = SETTINGS[(rounds * 5 + kind - 3) % len(SETTINGS)]
    case = with_job(rng, folder, written(rng, put(job, path, value)))
    is_path_error = value in (LONG_PATH, ".", "/dev/null")
    return replace(case, title=f"job: {path} = {value!r}"[:150], verdict="wrong", machine=is_path_error)
