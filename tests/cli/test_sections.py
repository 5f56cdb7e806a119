"""Help in sections: a first screen for most people, everything by --help-all."""

import re

import click
import pytest
from click.testing import CliRunner

from kohort.cli import commands as cli
from kohort.cli.sections import Flag, SectionedCommand
from kohort.schema.setting_texts import SECTIONS, SETTINGS

SECTIONED = [name for name, command in cli.group.commands.items() if isinstance(command, SectionedCommand)]


def shown(name, flag):
    ran = CliRunner().invoke(cli.group, [name, flag], terminal_width=110)
    assert ran.exit_code == 0
    return ran.output


def listed(text):
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)


@pytest.mark.parametrize("name", SECTIONED)
def test_the_first_screen_is_short(name):
    text = shown(name, "--help")
    assert len(listed(text)) <= 16
    assert len(text.splitlines()) <= 50
    assert f"kohort {name} --help-all" in text


@pytest.mark.parametrize("name", SECTIONED)
def test_help_all_lists_every_flag_once(name):
    text = shown(name, "--help-all")
    flags = [flag for flag in cli.group.commands[name].params if isinstance(flag, Flag)]
    assert sorted(listed(text)) == sorted(flag.opts[-1] if flag.opts[-1].startswith("--") else flag.opts[0] for flag in flags)
    command = cli.group.commands[name]
    assert isinstance(command, SectionedCommand)
    titles = [command.titles.get(section, section) for section in SECTIONS if any(flag.section == section for flag in flags)]
    assert re.findall(r"^([A-Z][a-z ]+):$", text, re.MULTILINE)[: len(titles)] == titles


def test_flags_of_settings_take_their_words_from_the_table():
    for flag in cli.group.commands["anonymize"].params:
        if isinstance(flag, click.Option) and flag.name in SETTINGS:
            assert flag.help == SETTINGS[flag.name].line
