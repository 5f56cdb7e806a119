"""The command line: one file a command; heavy parts load inside the commands, so that help is quick."""

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
  0   done and proven
  1   the promise cannot be kept, or the audit failed; nothing is written
  2   the request is wrong
  3   the machine failed: disk, memory
  130 interrupted
\b
Start with: kohort demo, then kohort inspect YOUR.csv
"""


@click.group(context_settings=CONTEXT, epilog=EXIT_CODES, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", message="kohort %(version)s")
def group() -> None:
    """Publish tables about people so that everyone hides in a cohort of at least k, and prove it.

    The written file itself is re-checked before anyone may have it; if the check fails, nothing is written.
    """


for _command in (anonymize, audit, compare, demo, inspect, methods):
    group.add_command(_command)


def main() -> None:
    """Run the command that the arguments name."""
    run(group)
