"""README and docs are complete and correct."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

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
        assert re.search(r"\d{4}|^kohort's own method\b", method.paper)
        assert all(field.description for field in method.options.model_fields.values())


def test_readme_shows_the_cohort_that_the_demo_makes():
    names = re.findall(r"^\| (\w+ \w+) \| \d+ \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == 5
    assert set(names) <= set(hospital().table["name"].to_pylist())


def test_the_suite_is_not_small(request):
    """A guard against tests that silently were not collected; only a full run can tell."""
    if [Path(path).name for path in request.config.args] == ["tests", "src", "README.md", "docs"]:
        assert len(request.session.items) >= 100


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "dev").glob("*.md")),
]
NOT_THERE = re.compile(r"yours|trees/|attacks/|web/|utils\.py|excel")  # examples of files to write, and rooms to come


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page):
    named = re.findall(r"`([\w./-]+\.(?:py|md|toml|csv))`", page.read_text(encoding="utf-8"))
    homes = (ROOT, ROOT / "src" / "kohort", ROOT / "src", ROOT / "tests", page.parent)
    known = {path.name for home in ("src", "tests", "benchmarks", "docs") for path in (ROOT / home).rglob("*.*")}
    gone = [
        name
        for name in named
        if ("/" in name and not NOT_THERE.search(name) and not any((home / name).exists() for home in homes))
        or (name.endswith(".py") and "/" not in name and not NOT_THERE.search(name) and name not in known)
    ]
    assert not gone


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


@pytest.mark.parametrize("package", sorted((ROOT / "src" / "kohort").rglob("__init__.py")), ids=lambda path: path.parent.name)
def test_the_paragraph_of_a_package_names_its_modules(package):
    """A single lower-case word in backticks is a module or a folder in it."""
    paragraph = (ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or "").partition(">>>")[0]
    words = re.findall(r"`([a-z_]+)`", paragraph)
    inside = {path.stem for path in package.parent.iterdir()}
    assert not [word for word in words if word not in inside and word not in WORDS]


WORDS = {"audit", "csv_", "inspect", "ml", "on_compile", "testing"}  # commands, functions, extras, the beginning of names


def test_no_print_in_the_package():
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*print\(", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
