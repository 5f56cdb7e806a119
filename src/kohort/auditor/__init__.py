"""Independent check of a release: counts in SQL what the published file contains.

The auditor shares no code with the parts that make a release. The caller gives it a function that runs SQL on a view of the
release. It reads published text through `kohort.schema.published_text`.
"""

from __future__ import annotations

from kohort.auditor.evidence import Check, Evidence
from kohort.auditor.release_checks import Original, Run, ViewColumns, audit

__all__ = ["Check", "Evidence", "Original", "Run", "ViewColumns", "audit"]
