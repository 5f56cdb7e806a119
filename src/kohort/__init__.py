"""kohort: the k-anonymity tool that proves its output.

>>> import kohort as kh
>>> sample = kh.datasets.hospital(rows=500)
>>> release = kh.anonymize(sample.table, sample.job, k=5)
>>> release.evidence.passed, release.evidence.k >= 5
(True, True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.api import anonymize, audit, compare, inspect
    from kohort.auditor import Check, Evidence
    from kohort.comparison.comparison import Comparison
    from kohort.errors import AuditError, CancelledError, KohortError, MachineError, PromiseError, RequestError
    from kohort.inspection.inspection import Inspection
    from kohort.job.job import Job
    from kohort.progress import Progress
    from kohort.release import Release
    from kohort.schema.workload import Workload

__version__ = "0.1.0"

# Heavy parts load on first use: `kohort --help` must not wait for numba, pyarrow or duckdb.
_HOME = {
    "anonymize": "kohort.api",
    "audit": "kohort.api",
    "compare": "kohort.api",
    "inspect": "kohort.api",
    "Release": "kohort.release",
    "Comparison": "kohort.comparison.comparison",
    "Workload": "kohort.schema.workload",
    "Inspection": "kohort.inspection.inspection",
    "Job": "kohort.job.job",
    "Evidence": "kohort.auditor",
    "Check": "kohort.auditor",
    "Progress": "kohort.progress",
    "KohortError": "kohort.errors",
    "RequestError": "kohort.errors",
    "PromiseError": "kohort.errors",
    "AuditError": "kohort.errors",
    "MachineError": "kohort.errors",
    "CancelledError": "kohort.errors",
    "datasets": "kohort.datasets",
    "testing": "kohort.testing",
}

__all__ = [
    "AuditError",
    "CancelledError",
    "Check",
    "Comparison",
    "Evidence",
    "Inspection",
    "Job",
    "KohortError",
    "MachineError",
    "Progress",
    "PromiseError",
    "Release",
    "RequestError",
    "Workload",
    "anonymize",
    "audit",
    "compare",
    "datasets",
    "inspect",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module 'kohort' has no attribute {name!r}"
        raise AttributeError(message)
    try:
        module = import_module(_HOME[name])
    except ModuleNotFoundError as error:
        if name != "testing" or error.name != "hypothesis":
            raise
        message = "kohort.testing needs hypothesis: pip install 'kohort[testing]'."
        raise AttributeError(message) from None  # so that help(kohort) shows the rest
    return module if _HOME[name] == f"kohort.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
