"""The promises of a job as a dict of settings."""

from __future__ import annotations

from kohort.schema import promises as privacy


def settings_of(job):
    """Return the promises of each sensitive column as a dict of settings."""
    return {
        name: promise.model_dump(include={*privacy.SETTINGS}, exclude_none=True)
        for name, promise in job.sensitive_promises().items()
    }
