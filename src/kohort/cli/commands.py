"""The command line. Each command has its own file and imports heavy modules only when it runs, so that help is quick."""

from __future__ import annotations

import click

from kohort import __version__
from kohort.cli.anonymize import anonymize
from kohort.cli.audit import audit
from kohort.cli.compare import compare
from kohort.cli.demo import demo
from kohort.cli.inspect import inspect
from kohort.cli.methods import methods
from kohort.cli.process import run

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


EXIT_CODES = """\b
Exit codes:
  0    done; for anonymize and audit: no check failed (an audit may not have run all: it says so first)
  1    the promise cannot be kept, or the audit failed; no release is written
  2    the request is wrong: a setting, a file or a column
  3    the machine failed: disk or memory full, or a component is missing
  130  interrupted

\b
Start with `kohort demo`, then `kohort inspect YOUR.csv`.
"""


@click.group(context_settings=CONTEXT, epilog=EXIT_CODES, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", message="kohort %(version)s")
def group() -> None:
    """Anonymize tables about people, and prove it (k-anonymity).

    kohort writes a temporary file and checks it. You get the file only if the check passes.
    """


for _command in (anonymize, audit, compare, demo, inspect, methods):
    group.add_command(_command)


def main() -> None:
    """Run the command that the arguments name."""
    run(group)
