"""README and docs are complete and correct."""

from __future__ import annotations

import re
from pathlib import Path

import kohort
from kohort.cli.commands import group
from kohort.datasets import hospital
from kohort.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]


def test_readme_names_every_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"kohort {name}" in readme or f"make {name}" in readme for name in group.commands)


def test_every_public_name_is_there_and_documented():
    for name in kohort.__all__:
        assert getattr(kohort, name).__doc__, name
    assert set(kohort.__all__) <= set(dir(kohort))


def test_every_method_cites_its_paper_and_describes_its_options():
    for method in METHODS.values():
        assert re.search(r"\d{4}|paper 00\d|^ours\b", method.paper)
        assert all(field.description for field in method.options.model_fields.values())


def test_readme_shows_the_cohort_that_the_demo_makes():
    names = re.findall(r"^\| (\w+ \w+) \| \d+ \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == 5
    assert set(names) <= set(hospital().table["name"].to_pylist())


def test_the_suite_is_not_small(request):
    """A guard against tests that silently were not collected; only a full run can tell."""
    if [Path(path).name for path in request.config.args] == ["tests", "src", "README.md", "docs"]:
        assert len(request.session.items) >= 100


def test_no_print_in_the_package():
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*print\(", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
