"""Messages say what happened and what to do, in plain words, and never show a cell."""

import re

import pytest

from tests.journeys.mistakes import MISTAKES, prepare

WORDS_IN_A_SENTENCE = 32


@pytest.fixture
def folder(tmp_path, kohort):
    assert kohort is not None  # it enters the folder
    prepare(tmp_path)
    return tmp_path


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_has_a_plain_message(what, kohort, folder):
    ran = kohort(MISTAKES[what])
    assert ran.code in (1, 2), ran.out
    message = ran.err.partition("Error: ")[2] or ran.out
    assert message.strip()
    assert "Xanthippe" not in ran.out + ran.err
    assert "hiv" not in ran.out + ran.err
    assert (folder / "out.csv").exists() is False
    for sentence in re.split(r"(?<=[.?:])\s", message.partition("\nChecks:")[0]):
        assert len(sentence.split()) <= WORDS_IN_A_SENTENCE, sentence
