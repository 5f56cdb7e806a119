"""`kohort demo`."""

from __future__ import annotations

import pytest


def test_demo_twice(kohort, tmp_path):
    for _ in range(2):
        ran = kohort("demo --folder sample --rows 300")
        assert ran.code == 0
        assert "k = 5" in ran.out
        made = sorted(path.name for path in (tmp_path / "sample").iterdir())
        assert made == ["job.toml", "patients.csv", "release.csv", "trees"]
    assert kohort("audit sample/release.csv --job sample/job.toml").code == 0
    assert kohort("anonymize sample/patients.csv -o r.csv --job sample/job.toml").code == 0


def test_demo_does_not_replace_other_files(kohort, tmp_path):
    before = (tmp_path / "patients.csv").read_bytes()
    kohort("demo --folder . --rows 200")
    assert (tmp_path / "patients.csv").read_bytes() == before


@pytest.mark.parametrize("folder", ["[bold]x", "a[", "x[/y]"])
def test_demo_in_a_folder_with_an_odd_name(kohort, tmp_path, folder):
    ran = kohort(f"demo --folder {folder} --rows 200")
    assert ran.code == 0
    assert (tmp_path / folder / "release.csv").is_file()
    assert f"{folder}/release.csv" in ran.out
