"""The suggested job file: settings it offers, tree files, and how it is written."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import RequestError
from tests.inspection.inspected import visits


def test_ambiguous_dates_and_commas_are_marked_as_guesses():
    table = pa.table({"born": ["01/02/1960", "03/04/1970"] * 10, "age": ["1,234", "2,345"] * 10})
    text = kh.inspect(table).to_toml()
    assert re.search(r'format = "DD/MM/YYYY"  # guess', text)
    assert re.search(r"guess: .*comma separates decimals is a guess", text)
    assert kh.anonymize(table, kh.Job.from_toml(text)).evidence.passed


# --- further settings that are offered as commented lines


def offers(text: str) -> list[str]:
    """Return the commented settings of a job."""
    return [line for line in text.splitlines() if re.match(r"# \w+ = ", line)]


def taken(text: str, *lines: str) -> str:
    """Return the job with these lines uncommented."""
    return "\n".join(line.removeprefix("# ") if line in lines else line for line in text.splitlines())


OFFERING = {
    "hospital": lambda: kh.datasets.hospital(600).table,
    "visits": visits,
    "decimals": lambda: pa.table(
        {
            "latitude": [f"{48 + n % 97 / 1000:.3f}" for n in range(400)],
            "age": [str(20 + n % 60) for n in range(400)],
            "income": [str(1000 + n * 997 % 5000) for n in range(400)],
            "religion": ["ab"[n % 3 == 0] for n in range(400)],
        }
    ),
}


@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("name", OFFERING)
def test_job_runs_with_each_offered_setting(tmp_path, name, trees):
    table = OFFERING[name]()
    kh.inspect(table).write(tmp_path / "job.toml", trees=tmp_path / "trees" if trees else None)
    text, job = (tmp_path / "job.toml").read_text(encoding="utf-8"), tmp_path / "changed.toml"
    grid = next(line for line in offers(text) if line.startswith("# ranges = "))
    for line in offers(text):
        extra = [grid] if line.startswith("# step = ") else []  # step works only with ranges = "grid", as its comment says
        job.write_text(taken(text, line, *extra), encoding="utf-8")
        assert kh.anonymize(table, job, method="mondrian").evidence.passed, line
    assert {line.split()[1] for line in offers(text)} >= {"ranges", "preset", "k", "step", "l", "hierarchy"}
    every = [line for line in offers(text) if not line.startswith(("# k = ", "# hierarchy = "))]
    job.write_text(taken(text, *every), encoding="utf-8")
    release = kh.anonymize(table, job, method="mondrian")
    assert (release.evidence.passed, release.evidence.k >= 11) == (True, True)


def test_numbers_are_offered_t_with_an_ordered_distance():
    table = kh.datasets.hospital(600).table
    text = kh.inspect(table).to_toml()
    line = next(line for line in offers(text) if line.startswith("# t = "))
    assert 'add t_distance = "ordered"' in line
    ordered = taken(text, line).replace("[columns.cost]", '[columns.cost]\nt_distance = "ordered"')
    release = kh.anonymize(table, kh.Job.from_toml(ordered))
    assert release.evidence.passed
    assert release.evidence.classes > 10


@pytest.mark.parametrize(
    ("values", "offered"),
    [
        (["a"] * 300, None),
        (["a"] * 296 + ["b"] * 2 + ["c"] * 2, None),
        (["a", "b"] * 150, 2),
        (["a"] * 200 + ["b"] * 98 + ["c"] * 2, 2),
        (["a", "b", "c"] * 100, 3),
        ([f"v {n % 150}" for n in range(300)], 3),
        (["1", "2", "3", "4"] * 75, 3),
    ],
)
def test_offered_l_counts_only_values_that_are_common_enough(values, offered):
    table = pa.table({"diagnosis": values, "age": [str(20 + n % 50) for n in range(300)]})
    lines = [line for line in offers(kh.inspect(table).to_toml()) if line.startswith("# l = ")]
    assert [int(line.split()[3]) for line in lines] == ([offered] if offered else [])


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([str(20 + n % 85) for n in range(300)], "5"),
        ([str(n % 9) for n in range(300)], "1"),
        ([str(1000 + n % 100 * 199) for n in range(300)], "1000"),
        ([f"{n % 100 / 50}" for n in range(300)], "0.1"),
        ([f"{n % 100 / 5000:.4f}" for n in range(300)], "0.001"),
        (["7"] * 300, None),
        ([1e200 * (n % 20) for n in range(300)], None),  # multiples of the step cannot be written exactly
        ([-(2**62) + 2**59 * (n % 16) for n in range(300)], "500000000000000000"),
    ],
)
def test_offered_step_is_round_and_about_a_twentieth_of_the_range(values, step):
    table = pa.table({"height": values, "sex": ["f", "m"] * 150})
    inspection = kh.inspect(table)
    lines = [line for line in offers(inspection.to_toml()) if line.startswith("# step = ")]
    assert [line.split()[3] for line in lines] == ([step] if step else [])
    if step:
        text = inspection.to_toml().replace("[promise]", 'ranges = "grid"\n[promise]')
        assert kh.anonymize(table, kh.Job.from_toml(taken(text, *lines))).evidence.passed


def test_settings_that_the_table_cannot_satisfy_are_not_offered():
    few = pa.table({"age": [str(20 + n) for n in range(9)], "sex": ["f", "m", "m"] * 3})
    assert not [line for line in offers(kh.inspect(few).to_toml()) if line.startswith("# preset")]
    vast = pa.table({"height": [1e200 * (n % 20) for n in range(300)], "age": ["31"] * 300})
    assert not [line for line in offers(kh.inspect(vast).to_toml()) if line.startswith(("# preset", "# ranges"))]
    assert kh.anonymize(vast, kh.inspect(vast).job).evidence.passed


# --- files


def test_written_job_uses_its_trees_and_existing_files_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = kh.datasets.hospital(400).table
    Path("sub").mkdir()
    pd.DataFrame(sample.to_pydict()).to_csv("patients.csv", index=False)
    inspection = kh.inspect("patients.csv")
    inspection.write("sub/job.toml", trees="sub/trees")
    assert {file.name for file in Path("sub/trees").iterdir()} == {"age.csv", "zip.csv", "birth_date.csv", "occupation.csv"}
    job = kh.Job.build("sub/job.toml")
    assert Path(str(job.columns["zip"].hierarchy)) == Path("sub/trees/zip.csv")
    assert kh.anonymize("patients.csv", job).evidence.passed
    before = Path("sub/job.toml").read_text(encoding="utf-8")
    for again in (lambda: inspection.write("sub/job.toml"), lambda: inspection.write("new.toml", trees="sub/trees")):
        with pytest.raises(RequestError, match="exists"):
            again()
    assert not Path("new.toml").exists()
    assert Path("sub/job.toml").read_text(encoding="utf-8") == before
    inspection.write("sub/job.toml", trees="sub/trees", force=True)


def test_column_names_that_are_not_file_names_get_different_tree_files(tmp_path):
    names = ["zip/code", "zip:code", "../zip", "zip\ncode", "ZIP/CODE"]
    table = pa.table({name: [f"{n * 37 % 90000:05d}" for n in range(60)] for name in names})
    inspection = kh.inspect(table)
    inspection.write(tmp_path / "job.toml", trees=tmp_path / "trees")
    job = kh.Job.build(tmp_path / "job.toml")
    kept = [name for name, column in job.columns.items() if column.role == "quasi"]
    files = Counter(Path(str(job.columns[name].hierarchy)).resolve() for name in kept)
    assert set(files.values()) == {1}
    assert {file.parent for file in files} == {(tmp_path / "trees").resolve()}
    assert kh.anonymize(table, job).evidence.passed


def test_exact_coordinates_are_published_in_bands():
    table = pa.table({"lat": [f"{48 + n / 977:.5f}" for n in range(300)], "age": [str(n % 9) for n in range(300)]})
    release = kh.anonymize(table, kh.inspect(table).job)
    assert not any(f"{48 + n / 977:.5f}" in text for n in range(300) for text in set(release.table["lat"].to_pylist()))


def test_role_can_be_changed_without_other_changes(tmp_path):
    table = kh.datasets.hospital(300).table
    kh.inspect(table).write(tmp_path / "job.toml")
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    for name in ("birth_date", "zip", "age"):
        text = re.sub(rf'(\[columns.{name}\]\n.*\n)role = "quasi"', r'\1role = "drop"', text)
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    assert not {"birth_date", "zip", "age"} & set(kh.anonymize(table, tmp_path / "job.toml").table.column_names)


def test_interrupted_write_leaves_no_files(tmp_path, monkeypatch):
    inspection = kh.inspect(kh.datasets.hospital(300).table)

    def interrupt(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr("kohort.inspection.job_draft.Path.write_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        inspection.write(tmp_path / "job.toml", trees=tmp_path / "trees")
    assert list(tmp_path.iterdir()) == []


def test_field_names_of_structs_are_not_in_the_job():
    table = pa.table({"s": pa.array([{"a\nb = 1": 1}] * 6), "age": ["1"] * 6, "sex": ["f"] * 6})
    assert kh.inspect(table).job.columns["s"].role == "drop"
