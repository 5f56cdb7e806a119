"""Mistakes that people make on the command line, to read and to test their messages: `python -m tests.journeys.mistakes`."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROLES = "--quasi age,sex --sensitive disease --identifier name --drop zip"
ANONYMIZE = "anonymize patients.csv -o out.csv"
RUN = f"{ANONYMIZE} {ROLES}"

MISTAKES = {
    "no role for a column": f"{ANONYMIZE} --quasi age,sex",
    "no quasi-identifier": f"{ANONYMIZE} --sensitive disease --drop name,age,sex,zip",
    "misspelt column": f"{ANONYMIZE} --quasi agee,sex --sensitive disease --identifier name --drop zip",
    "two roles": f"{RUN} --other sex",
    "misspelt flag": f"{RUN} --sensitve disease",
    "missing output": "anonymize patients.csv --quasi age",
    "missing input": "anonymize nothing.csv -o out.csv --quasi age",
    "input is a folder without tables": "anonymize empty -o out.csv --quasi age",
    "k too small": f"{RUN} --k 1",
    "k is no number": f"{RUN} --k five",
    "k larger than the table": f"{RUN} --k 1000",
    "l too large": f"{RUN} --l 5",
    "alpha out of range": f"{RUN} --alpha 1.5",
    "alpha that cannot be kept": f"{RUN} --alpha 0.1",
    "alpha twice": f"{RUN} --alpha 0.5 --alpha 0.6",
    "alpha is no number": f"{RUN} --alpha half",
    "t out of range": f"{RUN} --t 2",
    "t distance without t": f"{RUN} --t-distance ordered",
    "entropy l that cannot be kept": f"{RUN} --entropy-l 2",
    "recursive l in words": f"{RUN} --recursive-l three",
    "recursive l that cannot be kept": f"{RUN} --recursive-l 2,0.1",
    "beta of zero": f"{RUN} --beta 0",
    "delta that is negative": f"{RUN} --delta=-1",
    "promise without a sensitive column": f"{ANONYMIZE} --quasi age,sex --drop name,zip,disease --l 2",
    "unknown method": f"{RUN} --method mondrain",
    "unknown option": f"{RUN} --method gccg --option part=4",
    "option without a value": f"{RUN} --method gccg --option parts",
    "effort for a global method": f"{RUN} --method datafly --effort 1",
    "negative effort": f"{RUN} --effort=-1",
    "unknown objective": f"{RUN} --objective leafs",
    "class objective without a label": f"{RUN} --objective class",
    "sensitive label": f"{RUN} --objective class --label disease",
    "unknown preset": f"{RUN} --preset hospital",
    "k below the preset": f"{RUN} --preset public --k 5",
    "weight of a column without a role": f"{RUN} --weight agee=2",
    "weight of a sensitive column": f"{RUN} --weight disease=2",
    "weight is no number": f"{RUN} --weight age=much",
    "tree file that does not exist": f"{RUN} --hierarchy sex=trees/sex.csv",
    "tree file without all values": f"{RUN} --hierarchy sex=half.csv",
    "tree file with two parents for a value": f"{RUN} --hierarchy sex=twice-in-tree.csv",
    "misspelt tree rule": f"{RUN} --hierarchy age=intervall:5",
    "tree rule without numbers": f"{RUN} --hierarchy age=interval:five",
    "folder of trees that does not exist": f"{RUN} --hierarchies trees",
    "type that does not fit": f"{RUN} --type sex=integer",
    "unknown type": f"{RUN} --type age=number",
    "format of something that is no date": f"{RUN} --format age=DD.MM.YYYY",
    "format that cannot be read": f"{RUN} --format age=day.month",
    "output exists": f"anonymize patients.csv -o exists.csv {ROLES}",
    "output is the input": f"anonymize patients.csv -o patients.csv {ROLES} --force",
    "output in a folder that does not exist": f"anonymize patients.csv -o there/out.csv {ROLES}",
    "output of an unknown format": f"anonymize patients.csv -o out.docx {ROLES}",
    "input of an unknown format": "anonymize patients.dta -o out.csv --quasi age",
    "input that is a PDF": "anonymize staff.pdf -o out.csv --quasi age",
    "input without rows": "anonymize header.csv -o out.csv --quasi a,b",
    "empty input": "anonymize nothing.txt -o out.csv --quasi a",
    "lines of different length": "anonymize ragged.csv -o out.csv --quasi a,b",
    "not UTF-8": "anonymize latin.csv -o out.csv --quasi name",
    "unknown encoding": "inspect latin.csv --encoding latin-99",
    "same column twice": "anonymize twice.csv -o out.csv --quasi a",
    "broken gzip": "anonymize broken.csv.gz -o out.csv --quasi a",
    "broken Parquet": "anonymize broken.parquet -o out.csv --quasi a",
    "free text as other": "anonymize notes.csv -o out.csv --quasi age --other note",
    "key as other": f"{ANONYMIZE} --quasi age,sex --sensitive disease --other name --drop zip --k 2",
    "job that does not exist": f"{ANONYMIZE} --job nojob.toml",
    "job that is not TOML": f"{ANONYMIZE} --job broken.toml",
    "job with an unknown key": f"{ANONYMIZE} --job unknown.toml",
    "job without a role": f"{ANONYMIZE} --job norole.toml",
    "saved job with another ending": f"{RUN} --save-job job.yaml",
    "two units": f"{ANONYMIZE} --quasi age,sex --sensitive disease --unit name,zip",
    "too little memory": f"{RUN} --memory 10MB",
    "memory in words": f"{RUN} --memory much",
    "no threads": f"{RUN} --threads 0",
    "unknown engine": f"{RUN} --engine dask",
    "suppress out of range": f"{RUN} --suppress 2",
    "explanation of the disk engine": f"{RUN} --engine disk --explain why.json",
    "explanation with another ending": f"{RUN} --explain why.txt",
    "workload that does not exist": f"{RUN} --workload questions.toml",
    "workload with an unknown column": f"{RUN} --workload wrong.toml",
    "audit of a column that is not there": "audit patients.csv --quasi age,income --k 5",
    "audit that fails": "audit patients.csv --quasi age,sex,zip --k 50",
    "graph with another ending": "audit patients.csv --quasi age --sensitive disease --graph graph.txt",
    "graph without a sensitive column": "audit patients.csv --quasi age --graph graph.svg",
    "comparison of unknown methods": "compare patients.csv --job good.toml --k 5 --methods mondrain -o comparison",
    "comparison with k in words": "compare patients.csv --job good.toml --k few -o comparison",
    "draft with another ending": "inspect patients.csv -o job.json",
    "unknown command": "anonymise patients.csv",
    "unknown method to list": "methods mondrain",
}
"""What is wrong, and the command line."""


def prepare(folder: Path) -> None:
    """Write the files that the mistakes need."""
    rows = [f"Xanthippe-{n},{n % 30},{'mf'[n % 2]},{n:05},{'flu' if n % 3 else 'hiv'}\n" for n in range(90)]
    files = {
        "patients.csv": "name,age,sex,zip,disease\n" + "".join(rows),
        "patients.dta": "a,b\n1,2\n",
        "staff.pdf": "%PDF-1.7\n",
        "exists.csv": "a\n1\n",
        "header.csv": "a,b\n",
        "nothing.txt": "",
        "ragged.csv": "a,b\n1,2\n1,2,3\n" + "1,2\n" * 9,
        "twice.csv": "a,a\n1,2\n",
        "notes.csv": "age,note\n" + "".join(f"{n % 5},the patient came in with pain number {n}\n" for n in range(50)),
        "half.csv": "m;*\n",
        "twice-in-tree.csv": "m;x;*\nm;y;*\nf;x;*\n",
        "broken.toml": "method = \n",
        "unknown.toml": 'metod = "auto"\n[columns.age]\nrole = "quasi"\n',
        "norole.toml": '[columns.age]\ntype = "integer"\n',
        "good.toml": '[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n[columns.disease]\nrole = "sensitive"\n'
        '[columns.name]\nrole = "identifier"\n[columns.zip]\nrole = "drop"\n',
        "wrong.toml": '[[query]]\nwhere = [["income", "=", "1"]]\n',
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("name\nJürgen\n".encode("latin-1"))
    (folder / "broken.csv.gz").write_bytes(gzip.compress(b"".join(b"%d\n" % (n * n) for n in range(999)))[:1500])
    (folder / "broken.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    (folder / "empty").mkdir()


def main() -> None:
    """Print every message."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        prepare(Path(name))
        for what, command in MISTAKES.items():
            words = [sys.executable, "-m", "kohort", *shlex.split(command)]
            (Path(name) / "out.csv").unlink(missing_ok=True)
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
            sys.stdout.write(
                f"== {what}\n$ kohort {command}\n{(ran.stdout + ran.stderr).rstrip()}\n(exit code {ran.returncode})\n\n"
            )


if __name__ == "__main__":
    main()
