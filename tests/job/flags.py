"""The job that a command line describes."""

from __future__ import annotations

import sys

import pytest

from kohort.cli import commands as cli
from kohort.errors import RequestError
from kohort.job.job import Job


def job_of_flags(monkeypatch, *flags: str) -> Job:
    """The job that the command line builds."""
    built: list[Job] = []

    def stop(_source, job, **_rest):
        built.append(job)
        message = "enough"
        raise RequestError(message)

    monkeypatch.setattr("kohort.api.anonymize", stop)
    monkeypatch.setattr(sys, "argv", ["kohort", "anonymize", "in.csv", "-o", "out.csv", *flags])
    with pytest.raises(SystemExit):
        cli.main()
    return built[0]
