"""The pages of docs/reference are up to date with the code."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages():
    return script("generate_reference").pages()


@pytest.mark.parametrize("name", ["settings.md", "command-line.md", "python.md", "errors.md"])
def test_a_page_is_up_to_date(name, pages):
    assert (FOLDER / "reference" / name).read_text(encoding="utf-8") == pages[name], "run `make reference`"


def test_every_page_is_generated(pages):
    assert {path.name for path in (FOLDER / "reference").iterdir()} == set(pages)


@pytest.mark.slow
def test_the_picture_of_the_readme_is_up_to_date(tmp_path, monkeypatch):
    drawing = script("generate_pictures")
    monkeypatch.setattr(drawing, "FOLDER", tmp_path)
    drawing.main()
    for picture in ("before-after.svg",):  # the other one depends on the version of matplotlib
        assert (tmp_path / picture).read_text(encoding="utf-8") == (FOLDER / "images" / picture).read_text(encoding="utf-8")
