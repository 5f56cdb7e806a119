"""The public functions name every setting, for people, editors and type checkers."""

import inspect
import re
import subprocess
import sys
import textwrap

import pytest

import kohort
from kohort.job.job import Job
from kohort.job.settings import PER_COLUMN
from kohort.schema.columns import ROLES, Column
from kohort.schema.promises import SETTINGS as SENSITIVE_SETTINGS
from kohort.schema.promises import Promise
from kohort.schema.setting_texts import SECTIONS, SETTINGS

jedi = pytest.importorskip("jedi")

OWN = {"source", "job", "output", "force", "progress", "spark", "methods", "models", "folder", "graph", "curves"}


def parameters(function):
    return inspect.signature(function).parameters


def test_every_setting_of_a_job_has_a_text():
    of_job = {name for name in Job.model_fields if name not in ("version", "promise", "columns")}
    assert set(SETTINGS) == {*ROLES, *PER_COLUMN, *SENSITIVE_SETTINGS, "k", *of_job}
    assert {setting.section for setting in SETTINGS.values()} == set(SECTIONS)


@pytest.mark.parametrize("name", SETTINGS)
def test_texts_are_short_sentences_and_name_the_true_default(name):
    setting = SETTINGS[name]
    assert re.fullmatch(r"[A-Z].*[.]", setting.text)
    assert len(setting.text) < 140
    for model in (Job, Promise, Column):
        field = model.model_fields.get(name)
        if field is not None and field.default not in (None, False, 0) and isinstance(field.default, (int, float, str)):
            assert setting.default == f"{field.default:g}" if isinstance(field.default, float) else str(field.default)


def test_anonymize_names_every_setting():
    names = set(parameters(kohort.anonymize))
    assert names - OWN == set(SETTINGS)
    assert all(given.kind is not given.VAR_KEYWORD for given in parameters(kohort.anonymize).values())


@pytest.mark.parametrize("function", [kohort.audit, kohort.compare])
def test_the_others_name_the_settings_that_they_use(function):
    given, full = parameters(function), parameters(kohort.anonymize)
    assert set(given) - OWN <= set(SETTINGS)
    assert all(value.kind is not value.VAR_KEYWORD for value in given.values())
    for name in set(given) & set(SETTINGS) - {"k"}:
        assert given[name].annotation == full[name].annotation


def test_help_explains_every_setting():
    shown = " ".join((inspect.getdoc(kohort.anonymize) or "").split())
    for setting in SETTINGS.values():
        assert re.search(rf" {setting.name} : .{{3,120}}?{re.escape(setting.text)}", shown), setting.name


def test_dir_shows_only_what_is_public():
    assert set(dir(kohort)) == {*kohort.__all__, "__version__"}


@pytest.mark.parametrize("name", [name for name in kohort.__all__ if name not in ("datasets", "testing")])
def test_public_names_have_an_example(name):
    assert ">>> " in (getattr(kohort, name).__doc__ or "")


def test_an_editor_offers_the_settings():
    code = 'import kohort\nkohort.anonymize("patients.csv", '
    offered = {found.name for found in jedi.Script(code).complete(2, len(code.splitlines()[1]))}
    assert {"quasi=", "sensitive=", "k=", "method="} <= offered


SCRIPT = """
import kohort as kh

sample = kh.datasets.hospital(rows=500)
release = kh.anonymize(
    sample.table, quasi=["age", "sex"], {setting}, drop=["name", "birth_date", "zip", "occupation", "cost"],
    k=5, weight={{"age": 2}}, hierarchy={{"sex": "flat"}}, method="mondrian",
)
loss: float = release.loss.leaf
passed: bool = kh.audit(release.table, quasi=["age", "sex"], k=5).passed
print(loss, passed)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ('sensitive="diagnosis"', None),
        ('sensitiv="diagnosis"', 'Unexpected keyword argument "sensitiv"'),
        ("sensitive=3", 'Argument "sensitive" to "anonymize" has incompatible type'),
    ],
)
def test_a_type_checker_finds_a_misspelt_setting(tmp_path, setting, complaint):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(setting=setting)), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == (0 if complaint is None else 1), ended.stdout
    assert (complaint or "Success") in ended.stdout
