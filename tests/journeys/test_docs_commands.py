"""Every command in README, docs and help runs, in the order of its page, in the folder that `kohort demo` leaves."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kohort.cli.commands import group
from tests.command_line import Kohort, Ran
from tests.spark_cluster import require_spark

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(sh|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def commands(block: str) -> list[str]:
    """Return the commands of a block, each on one line."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smaller copy of the folder that `kohort demo` leaves."""
    from kohort.cli import demo_story
    from kohort.progress import Progress

    folder = tmp_path_factory.mktemp("demo") / "kohort-demo"
    demo_story.show(folder, 1000, 5, Progress())
    return folder


@pytest.fixture
def in_demo_folder(demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shutil.copytree(demo_folder, tmp_path / "kohort-demo"))
    return tmp_path / "kohort-demo"


def on_spark(words: list[str]) -> Ran:
    """Run a command that starts Spark in a separate process, because a process can have only one session."""
    require_spark()
    ran = subprocess.run([sys.executable, "-m", "kohort", *words], capture_output=True, text=True, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def check(command: str, kohort: Kohort) -> None:
    """Run a command of ours; check that what another names exists. `kohort ... || ...` must fail, all others must not."""
    words = shlex.split(command, comments=True)
    if words[0] == "kohort":
        fails = "||" in words
        end = next((at for at, word in enumerate(words) if word in ("||", ">")), len(words))
        ran = on_spark(words[1:end]) if "--master" in words else kohort(shlex.join(words[1:end]))
        assert (ran.code != 0) == fails, (command, ran.err)
        if ">" in words:
            Path(words[words.index(">") + 1]).write_text(ran.out, encoding="utf-8")
    elif words[0] == "make":
        assert words[1] in TARGETS, command
    elif words[:2] == ["pip", "install"] or words[1:4] == ["-m", "pip", "install"]:
        assert all(extra in EXTRAS for named in re.findall(r"\[([\w,]+)\]", command) for extra in named.split(",")), command
    elif words[1:2] == ["-m"]:
        assert (ROOT / Path(*words[2].split("."))).with_suffix(".py").exists(), command
    elif words[0] in ("printf", "export"):
        subprocess.run(["sh", "-ec", command], check=True)  # noqa: S607
    else:
        assert words[0] in ("cd", "source", "git", "bash"), f"{command}: not a command that this test can check"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_runs(page, kohort, in_demo_folder):
    """TOML blocks that begin with a comment `# name.toml` become that file."""
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        file = re.match(r"# ([\w.-]+\.toml)\n", block)
        if language == "toml" and file:
            (in_demo_folder / file[1]).write_text(block, encoding="utf-8")
        for command in commands(block) if language == "sh" else ():
            check(command, kohort)


@pytest.mark.slow
@pytest.mark.parametrize("name", group.commands)
def test_every_example_of_the_help_runs(name, kohort, in_demo_folder):
    assert in_demo_folder.is_dir()
    epilog = (group.commands[name].epilog or "").replace("\\\n", " ")
    examples = re.findall(r"kohort .*", epilog.partition("Example")[2].partition(":")[2])
    assert examples
    for example in examples:
        check(example, kohort)
