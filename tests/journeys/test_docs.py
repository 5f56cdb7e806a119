"""README and docs are complete and correct."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kohort
from kohort.cli.commands import group
from kohort.methods import METHODS
from kohort.schema.columns import ROLES
from kohort.schema.promises import DEFINITIONS

ROOT = Path(__file__).resolve().parents[2]


def test_readme_names_every_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"kohort {name}" in readme or f"make {name}" in readme for name in group.commands)


def test_every_public_name_exists_and_has_a_docstring():
    for name in kohort.__all__:
        assert getattr(kohort, name).__doc__, name
    assert set(kohort.__all__) <= set(dir(kohort))


def test_every_method_cites_its_paper_and_describes_its_options():
    papers = text_of(ROOT / "docs" / "papers.md")
    for method in METHODS.values():
        first_author = re.match(r"[\w-]+", method.paper)
        assert first_author is not None, method.name
        assert first_author[0] == "kohort" or f" {first_author[0]}" in papers, f"docs/papers.md does not cite {method.paper}"
        assert all(field.description for field in method.options.model_fields.values())


def is_full_run(config: pytest.Config) -> bool:
    return [Path(path).name for path in config.args] == ["tests", "src", "README.md", "docs"] and not config.option.keyword


def test_full_run_collects_many_tests(request):
    """A guard against tests that silently were not collected. Only a full run can tell."""
    if is_full_run(request.config):
        assert len(request.session.items) >= 100


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
# Files that a reader is to write, planned folders, and files that commands on the same page write.
NOT_THERE = re.compile(r"yours|trees/|attacks/|web/|utils\.py|excel|comparison/comparison")
OF_ITS_TIME = re.compile(r"decisions/000\d")  # these decisions name files as they were called when they were decided
KNOWN_FILES = {path.name for folder in ("src", "tests", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.*")}
LANGUAGES = {"python", "sh", "text", "toml", "yaml"}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def location_of(name: str, page: Path) -> Path | None:
    """The file of this name, as it is written on a page: from the root, the package, the tests or the folder of the page."""
    folders = (ROOT, ROOT / "src" / "kohort", ROOT / "src", ROOT / "tests", page.parent)
    return next((folder / name for folder in folders if (folder / name).exists()), None)


@EVERY_PAGE
def test_every_file_that_a_page_names_exists(page):
    if OF_ITS_TIME.search(page.as_posix()):
        return
    named = [name for name in re.findall(r"`([\w./-]+\.(?:py|md|toml|csv|html))`", text_of(page)) if not NOT_THERE.search(name)]
    paths = [name for name in named if "/" in name and location_of(name, page) is None]
    modules = [name for name in named if "/" not in name and name.endswith(".py") and name not in KNOWN_FILES]
    assert not paths + modules


@EVERY_PAGE
def test_every_name_is_in_the_file_that_a_page_gives_for_it(page):
    """Developer pages say: `function` in `folder/file.py`."""
    if OF_ITS_TIME.search(page.as_posix()):
        return
    for name, file in re.findall(r"`([\w.]+)`\s+in\s+`([\w./]+/[\w]+\.py)`", text_of(page)):
        path = location_of(file, page)
        assert path is not None, file
        assert re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", path.read_text(encoding="utf-8")), (
            f"{name} is not in {file}"
        )


@EVERY_PAGE
def test_every_link_of_a_page_leads_somewhere(page):
    """To a file that exists, and to a heading of that page."""
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)", text_of(page)):
        file, _, heading = link.partition("#")
        target = page if not file else page.parent / file
        if "://" in link:
            continue
        if not target.exists() or (heading and heading not in headings_of(target)):
            wrong.append(link)
    assert not wrong


def headings_of(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    outside = re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", outside, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@EVERY_PAGE
def test_every_code_block_names_its_language(page):
    """`sh` blocks are run as commands, `python` blocks as doctests: an unmarked block would silently not be tested."""
    fences = re.findall(r"^```(.*)$", text_of(page), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert not set(fences[1::2]) - {""}
    assert not set(fences[::2]) - LANGUAGES


@EVERY_PAGE
def test_every_python_block_is_a_doctest(page):
    """A block without `>>>` would not be run."""
    blocks = re.findall(r"^```python\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)
    assert all(block.startswith(">>> ") for block in blocks)


def test_a_page_cites_papers_by_author_and_year():
    assert not [page.name for page in PAGES if re.search(r"\b[Pp]apers? 00\d|^\*\*00\d", text_of(page), re.MULTILINE)]


@pytest.mark.parametrize("name", [*METHODS, *DEFINITIONS])
def test_papers_page_names_the_file_of_every_method_and_promise(name):
    lines = text_of(ROOT / "docs" / "papers.md").splitlines()
    files = [file for line in lines if line.startswith(f"| `{name}` |") for file in re.findall(r"`([\w/]+\.py)`", line)]
    assert files
    assert all((ROOT / "src" / "kohort" / file).is_file() for file in files)


@pytest.mark.parametrize("name", [*ROLES, *DEFINITIONS])
def test_glossary_explains_every_role_and_promise(name):
    assert re.search(rf"^\*\*[^*]*`{name}`[^*]*\.\*\* \w", text_of(ROOT / "docs" / "glossary.md"), re.MULTILINE)


def test_every_page_with_examples_is_run_as_a_doctest(request):
    """Pages in nested folders too. Only a full run can tell."""
    if is_full_run(request.config):
        collected = {Path(item.path) for item in request.session.items}
        assert not [page.name for page in PAGES if ">>> " in text_of(page) and page not in collected]


@pytest.mark.parametrize("package", sorted((ROOT / "src" / "kohort").rglob("__init__.py")), ids=lambda path: path.parent.name)
def test_docstring_of_a_package_names_only_its_modules(package):
    """A single lower-case word in backticks is a module or a folder in it."""
    paragraph = (ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or "").partition(">>>")[0]
    words = re.findall(r"`([a-z_]+)`", paragraph)
    inside = {path.stem for path in package.parent.iterdir()}
    assert not [word for word in words if word not in inside and word not in WORDS]


WORDS = {"audit", "csv_", "inspect", "ml", "on_compile", "testing"}  # commands, functions, extras, the beginning of names


def test_no_print_in_the_package():
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*print\(", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
