"""Command lines with a wrong or unusual flag, or with an output where none is allowed."""

from __future__ import annotations

import codecs
import re
import shlex
from itertools import pairwise
from pathlib import Path

import tomli_w

from tests.fuzzing.cases import Case, Rng, Verdict
from tests.fuzzing.jobs import job_of
from tests.fuzzing.sources import RARE, people, plain_csv, typed, write_file
from tests.fuzzing.trees import TREE

RUN = "anonymize in.csv -o out.csv"
ROLES = "--quasi age,sex,city,born,income --sensitive disease --identifier name --other note --seed 7"
WRONG_FLAGS = (
    "--k five", "--k 1e3", "--k ''", "--k 0", "--k 1", "--k -5", "--k 99999999999999999999999", "--k 3.5", "--k", "--k 1000",
    "--seed -1", "--seed x", "--seed 9223372036854775808", "--threads 0", "--threads -1", "--threads 99999", "--threads x",
    "--weight age=nan", "--weight age=-1", "--weight =3", "--weight age", "--weight age=x", "--weight age=1e9", "--weight note=2",
    "--weight nobody=2", "--weight ''", "--type age=number", "--type age", "--type =text", "--type city=integer", "--type born=",
    "--type city=date", "--type nobody=text", "--type age=boolean", "--format born=QQ", "--format born=",
    "--format age=DD.MM.YYYY", "--format born=DD.MM.YYYY", "--format nobody=YYYY", "--statistic age=median",
    "--statistic city=mean", "--statistic age", "--method none", "--method ''", "--method mondrian --option relaxed=maybe",
    "--option x=1", "--option relaxed=1", "--option relaxed", "--option =1", "--effort -1", "--effort x", "--effort 1.5",
    "--effort 1 --method datafly", "--objective leave", "--objective class", "--label disease", "--objective class --label name",
    "--objective class --label nobody", "--objective class --label $'\\xff'",
    "--engine dask", "--engine ''", "--memory lots", "--memory 1MiB", "--master nowhere", "--engine disk --master local",
    "--row-order random", "--encoding nope", "--encoding ''",
    "--hierarchy city", "--hierarchy city=", "--hierarchy city=none.csv", "--hierarchy =x", "--hierarchy city=in.csv",
    "--hierarchy city=.", "--hierarchy nobody=flat", "--hierarchy note=flat", "--hierarchies none", "--hierarchies in.csv",
    "--hierarchies ''", "--allow age", "--allow nobody", "--drop age", "--drop nobody", "--other age", "--sensitive sex",
    "--identifier 'age,\"sex'", "--drop ''", "--quasy age", "--job none.toml", "--job in.csv", "--job .", "--job ''",
    "--job loop.csv", "--save-job in.csv", "--save-job no/j.toml", "--json=1", "--save-job job.toml", "--save-job out.csv",
    "--save-job x", "--save-job .", "--save-job ''", "--force=yes", "more.csv", "--quasi $'\\xff'", "--drop $'\\xff\\n'",
    "--hierarchy city=$'\\xff'", "--method $'\\xff'", "--encoding $'\\xff'",
)  # fmt: skip
WRONG_LINES = (
    "unknown", "--unknown", "anonymize", "anonymize in.csv", "anonymize -o out.csv", "inspect", "audit", "anonymize in.csv -o",
    "audit in.csv", "audit in.csv --quasi agee", "audit in.csv --quasi age --k 1", "audit none.csv --quasi age",
    "audit in.csv --quasi age,city --k 5", "audit in.csv --quasi '' --k 2", "audit in.csv --job none.toml",
    "audit in.csv --job in.csv", "audit in.csv --quasi sex --sensitive nobody", "audit in.csv --quasi sex --sensitive sex",
    "audit in.csv --quasi sex --identifier name", "audit in.csv --job job.toml", "audit in.csv --quasi age.mean",
    "audit . --quasi age", "audit job.toml --quasi age", "audit '*.nothing' --quasi age", "audit parts --quasi agee",
    "audit '' --quasi age", "audit loop.csv --quasi age", "demo --rows 5", "demo --rows x", "demo --k 1", "demo --k x",
    "demo --folder in.csv", "demo --folder in.csv/x", "demo more", "demo --folder ''", "methods more", "methods --jsonn",
    "inspect in.csv more", "inspect none.csv", "inspect ''", "inspect loop.csv", "inspect in.csv -o in.csv",
    "inspect in.csv -o in.csv --force", "inspect in.csv -o job.toml", "inspect in.csv -o job.json",
    "inspect in.csv -o no/job.toml", "inspect in.csv -o new", "inspect in.csv -o parts", "inspect in.csv --trees in.csv",
    "inspect in.csv --trees in.csv --force", "inspect in.csv --trees in.csv/x", "inspect in.csv --trees old",
    "inspect old/age.csv --trees old", "inspect old/age.csv --trees old --force", "inspect in.csv --encoding nope",
    "inspect job.toml -o job.toml --force", f"anonymize none.csv -o out.csv {ROLES}", f"anonymize '' -o out.csv {ROLES}",
    f"anonymize in.csv -o '' {ROLES}", f"anonymize in.csv -o in.csv {ROLES}", f"anonymize in.csv -o in.csv {ROLES} --force",
    f"anonymize in.csv -o ./parts/../in.csv {ROLES} --force", f"anonymize in.csv -o link.csv {ROLES}",
    f"anonymize in.csv -o link.csv {ROLES} --force", f"anonymize link.csv -o in.csv {ROLES} --force",
    f"anonymize in.csv -o there.csv {ROLES}", f"anonymize in.csv -o no/out.csv {ROLES}",
    f"anonymize in.csv -o in.csv/out.csv {ROLES}", f"anonymize in.csv -o parts {ROLES}",
    f"anonymize in.csv -o parts {ROLES} --force", f"anonymize in.csv -o out {ROLES}", f"anonymize in.csv -o out.xlsx {ROLES}",
    f"anonymize in.csv -o - {ROLES}", f"anonymize in.csv -o out.parquet.gz {ROLES}",
    f"anonymize in.csv -o out.csv.zst.gz {ROLES}", f"anonymize in.csv -o .csv {ROLES}",
    f"anonymize in.csv -o {'x' * 300}.csv {ROLES}", f"anonymize parts -o parts/out.parquet {ROLES}",
    f"anonymize parts -o parts/part.parquet {ROLES} --force", f"anonymize 'parts/*' -o parts/out.csv {ROLES}",
    f"anonymize in.csv -o loop.csv {ROLES}", f"anonymize in.csv -o dangling.csv {ROLES}",
    f"anonymize in.csv -o /dev/null {ROLES}", f"anonymize in.csv -o dangling/out.csv {ROLES}",
    f"anonymize in.csv -o tree.csv {ROLES} --hierarchy city=tree.csv --force",
    f"anonymize in.csv -o old/city.csv {ROLES} --hierarchies old --force",
    "anonymize in.csv -o requested.csv --job requested.csv --force",
    f"anonymize in.csv -o out.csv {ROLES} --hierarchy city=tree.toml --save-job tree.toml --force",
    "anonymize in.csv -o out.csv --job job.toml --save-job out.csv/j.toml", "anonymize in.csv -o out.csv --quasi age --drop name",
    "anonymize in.csv -o out.csv --job job.toml --quasi agee", "anonymize in.csv -o out.csv --job job.toml --k 0",
    "anonymize in.csv -o out.csv --quasi sex --other name,age,city,born,income,disease,note",
    "anonymize in.csv -o out.csv --job job.toml --job none.toml", f"anonymize in.csv in.csv -o out.csv {ROLES}",
)  # fmt: skip
ODD_LINES = (
    f"anonymize in.csv -o $'out\\xff.csv' {ROLES}", f"anonymize in.csv -o $'out\\xff.parquet' {ROLES} --json",
    f"anonymize $'odd\\xff.csv' -o out.csv {ROLES}", f"anonymize $'odd\\xff.csv' -o out.arrow {ROLES} --json",
    "audit $'odd\\xff.csv' --quasi sex --k 2", "audit $'odd\\xff.csv' --quasi sex --k 2 --json", "inspect $'odd\\xff.csv'",
    "inspect $'odd\\xff.csv' -o new.toml", "inspect $'odd\\xff.csv' --json", "inspect in.csv --trees $'new\\xff' -o new.toml",
    "inspect in.csv -o $'new\\xff.toml'", f"{RUN} {ROLES} --save-job $'new\\xff.toml'",
    f"{RUN} {ROLES} --missing $'\\xff' --save-job new.toml", f"anonymize in.csv -o $'out\\n.csv' {ROLES}",
    f"anonymize in.csv -o ' .csv' {ROLES}", f"anonymize in.csv -o '[x]*.csv' {ROLES}",
    f"anonymize in.csv -o $'out\\'.parquet' {ROLES}", f"anonymize in.csv -o there.csv {ROLES} --force",
    f"anonymize in.csv -o dangling {ROLES}", f"anonymize in.csv -o loop.csv {ROLES} --force",
    f"anonymize in.csv -o dangling.csv {ROLES} --force", f"{RUN} {ROLES} --missing {RARE}",
    f"{RUN} {ROLES} --missing m --missing f", f"{RUN} {ROLES} --missing ''", f"{RUN} {ROLES} --weight age=0",
    f"{RUN} {ROLES} --seed 0", f"{RUN} {ROLES} --statistic age=mean --statistic income=both",
    f"{RUN} {ROLES} --statistic born=mean", f"{RUN} {ROLES} --method mondrian --option relaxed=TRUE",
    f"{RUN} {ROLES} --effort 0", f"{RUN} {ROLES} --effort 2 --objective class --label disease",
    f"{RUN} {ROLES} --objective class --label note --json", f"{RUN} {ROLES} --objective square-error --method merge",
    f"{RUN} {ROLES} --type age=text --type born=text", f"{RUN} {ROLES} --type income=integer",
    f"{RUN} {ROLES} --type age=decimal", f"{RUN} {ROLES} --encoding latin-1", f"{RUN} {ROLES} --encoding utf-16",
    f"{RUN} {ROLES} --encoding cp1252", f"{RUN} {ROLES} --allow note", f"{RUN} {ROLES} --keep-order --row-order given",
    f"{RUN} {ROLES} --hierarchies old", f"{RUN} {ROLES} --hierarchies .", f"{RUN} {ROLES} --save-job new.json --json",
    f"{RUN} --job job.toml --save-job job.toml --force", f"{RUN} {ROLES} --save-job loop.toml --force",
    "inspect in.csv -o new.toml --trees old --force", "inspect in.csv -o job.toml --force", "inspect in.csv -o loop.toml --force",
    "inspect in.csv --missing m --missing f", "inspect .", "inspect parts", "inspect 'parts/*'", "inspect link.csv",
    "demo --rows 100 --k 101", "demo --folder parts --rows 100", "methods", "-h", "audit in.csv --quasi sex --k 2 --drop nobody",
    "audit parts --quasi sex --k 2", "audit tree.csv --quasi 'west end' --k 2",
)  # fmt: skip
MACHINE_ERRORS = (
    "loop", "xxxxx", "dangling", "demo --folder in.csv", "/dev/null", "in.csv/", "--trees in.csv", "inspect . ", "--job .", "=. ",
)  # fmt: skip
OUTPUT_FLAGS = ("-o", "--save-job", "--trees", "--folder")


def split(line: str) -> list[str]:
    r"""Split a line like a shell. `$'\xff'` is a byte that is not UTF-8; Python passes it on as a lone surrogate."""
    plain = re.sub(r"\$'((?:[^'\\]|\\.)*)'", lambda found: shlex.quote(codecs.decode(found[1], "unicode_escape")), line)
    return [part.replace("\xff", "\udcff") for part in shlex.split(plain)]


def bad_line(rng: Rng, folder: Path, turn: int) -> Case:
    """Return the next line of the lists, and write all files that the lines name."""
    write_files(rng, folder)
    rounds, kind = divmod(turn, 4)
    verdict: Verdict = "wrong" if kind else "unclear"
    if kind == 0:
        line = ODD_LINES[rounds % len(ODD_LINES)]
    elif kind == 1:
        line = f"{RUN} {ROLES} {WRONG_FLAGS[rounds % len(WRONG_FLAGS)]}"
    else:
        line = WRONG_LINES[(rounds * 2 + kind % 2) % len(WRONG_LINES)]
    arguments = tuple(split(line))
    return Case(
        f"kohort {line}"[:250],
        arguments,
        verdict,
        source=next((name for name in arguments[1:2] if not name.startswith("-")), "in.csv"),
        makes=(*(value for flag, value in pairwise(arguments) if flag in OUTPUT_FLAGS), "kohort-demo"),
        encoding=dict(pairwise(arguments)).get("--encoding"),
        job="job.toml" if "--job" in arguments else None,
        machine=any(word in f"{line} " for word in MACHINE_ERRORS),
    )


def write_files(rng: Rng, folder: Path) -> None:
    for name in ("parts", "old"):
        (folder / name).mkdir()
    table, job = plain_csv(rng), tomli_w.dumps(job_of())
    texts = {
        **dict.fromkeys(("in.csv", "odd\udcff.csv"), table),
        **dict.fromkeys(("tree.csv", "tree.toml", "old/city.csv"), TREE),
        **dict.fromkeys(("job.toml", "requested.csv"), job),
        "old/age.csv": "age,sex\n" + "21,m\n22,f\n90817,m\n" * 9,
        "there.csv": "mine",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_file(typed(people(rng)), folder / "parts/part.parquet")
    links = {"link.csv": "in.csv", "loop.csv": "loop.csv", "loop.toml": "loop.toml", "dangling.csv": "none/x.csv"}
    for name, target in links.items():
        (folder / name).symlink_to(target)
