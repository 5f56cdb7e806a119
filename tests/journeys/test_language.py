"""The private language that LANGUAGE.md retired does not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml", "Makefile")),
    *(
        path
        for folder in ("src", "docs", "tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".toml") and path != Path(__file__)
    ),
]
RETIRED = {
    "papers by number": r"\bpapers? 00\d\b",
    "may stand": r"\bmay (?:not )?stand\b(?! for)",
    "hides among": r"\bhid(?:e|es|ing) (?:among|in|with)\b",
    "speaks of": r"\bspeaks? of\b",
    "stands alone": r"\bstands? alone\b|\balone with (?:its|their)\b",
    "look alike": r"\b(?:look|all|be|is|are|classes|groups) alike\b",
    "nobody's business": r"\bnobody's business\b",
    "what is asked": r"\bwhat (?:is|was) asked\b|\basked for by\b",
    "of a cell": r"\d of a cell\b",
    "dear": r"\bdearer?\b",
    "who hides": r"\bcohorts?\b",
    "goes by": r"\bgo(?:es)? by (?:them|it)\b",
    "conscience": r"\bconscience\b",
}


@pytest.mark.parametrize("phrase", RETIRED)
def test_a_retired_phrase_is_gone(phrase):
    found = re.compile(RETIRED[phrase], re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.search(line)
    ]
    assert not places
