"""The promises of a job as plain settings."""

from __future__ import annotations

from kohort.schema import promises as privacy


def settings_of(job):
    """What is asked of each sensitive column, as plain settings."""
    return {
        name: asked.model_dump(include={*privacy.SETTINGS}, exclude_none=True) for name, asked in job.sensitive_promises().items()
    }
