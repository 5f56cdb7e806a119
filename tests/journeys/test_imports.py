"""Test which modules are imported, and the help of the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from kohort.cli import commands as cli
from kohort.job.job import Job
from kohort.schema.columns import ROLES, Column
from kohort.schema.promises import Promise

HEAVY = ["numba", "llvmlite", "pyarrow", "duckdb", "pydantic", "matplotlib", "pandas", "numpy", "rich", "tomli_w"]
LOADED = f"import json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
HELP = """
import sys
sys.argv = ['kohort', {arguments}]
try:
    import kohort.cli.commands as c; c.main()
except SystemExit:
    pass
"""
RUN_ONLY = {"source", "output", "job_file", "as_json", "save_job", "explain", "force"}  # settings of one run, not of the job


def loaded_by(code: str) -> list[str]:
    """Return the heavy modules that are loaded after this code ran in a new Python."""
    ran = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return list(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_kohort_loads_nothing_heavy():
    assert loaded_by("import kohort; dir(kohort); kohort.__version__") == []


@pytest.mark.parametrize(
    "arguments", ["'--help'", "'--version'", "'anonymize', '--help'", "'audit', '--help'", "'demo', '--help'", "'unknown'"]
)
def test_help_loads_nothing_heavy(arguments):
    assert loaded_by(HELP.format(arguments=arguments)) == []


def test_importing_error_classes_loads_nothing_heavy():
    assert loaded_by("from kohort import KohortError, RequestError") == []


def test_building_a_job_does_not_load_numba():
    assert not {"numba", "duckdb", "matplotlib", "pandas"} & set(loaded_by("from kohort import Job; Job.build(quasi='a')"))


def test_every_public_name_exists():
    missing = "import kohort; print([name for name in kohort.__all__ if not hasattr(kohort, name) or name not in dir(kohort)])"
    ran = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_unknown_name_raises_attribute_error():
    import kohort

    with pytest.raises(AttributeError, match="anonymise"):
        kohort.anonymise  # noqa: B018


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the resource usage of a child process")
def test_help_takes_little_time():
    """Measure the CPU seconds of a child process. Use the smallest of three, because the machine may be busy."""

    def seconds() -> float:
        child = subprocess.Popen([sys.executable, "-m", "kohort", "--help"], stdout=subprocess.DEVNULL)
        _pid, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        return used.ru_utime + used.ru_stime

    assert min(seconds() for _ in range(3)) < 0.3


# --- help


@pytest.mark.parametrize("name", cli.group.commands)
def test_help_has_an_example_and_explains_every_flag(name):
    ran = CliRunner().invoke(cli.group, [name, "--help"])
    assert ran.exit_code == 0
    assert f"kohort {name}" in ran.output.split("Example")[1]
    for flag in cli.group.commands[name].params:
        assert isinstance(flag, click.Argument) or len(getattr(flag, "help", None) or "") > 10, flag.name


def test_help_explains_the_exit_codes():
    ran = CliRunner().invoke(cli.group, ["--help"])
    assert "\\b" not in ran.output
    assert "\b" not in ran.output
    text = " ".join(ran.output.split())
    for code, meaning in {0: "done", 1: "promise", 2: "request", 3: "machine", 130: "interrupted"}.items():
        assert re.search(rf"{code} +[^;]*{meaning}", text)
    assert CliRunner().invoke(cli.group, []).exit_code == 2


def test_every_flag_is_a_setting_and_its_help_has_the_default():
    fields = {**Job.model_fields, **Column.model_fields, **Promise.model_fields}
    flags = [flag for flag in cli.group.commands["anonymize"].params if flag.name != "help_all"]
    for flag in flags:
        assert flag.name in {*RUN_ONLY, *ROLES, *fields}, flag.name
        stated = re.search(r"\[default: (.*)\]", getattr(flag, "help", None) or "")
        if stated and flag.name in fields:
            default = fields[str(flag.name)].default
            assert stated[1] in {str(default), f"{default:g}" if isinstance(default, float) else ""} or default is None, flag.name
    assert {*fields, *ROLES} - {flag.name for flag in flags} == {
        "version",
        "promise",
        "columns",
        "role",
    }
    assert next(flag for flag in cli.group.commands["demo"].params if flag.name == "k").default == Promise().k
