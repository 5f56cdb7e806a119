"""What the published file itself shows. The oracle: it shares no code with what made the release.

It is handed a function that runs SQL against a view of the release, and reads published text through
`kohort.schema.published_text`.
"""

from __future__ import annotations

from kohort.auditor.evidence import Check, Evidence
from kohort.auditor.release_checks import Original, Run, ViewColumns, audit

__all__ = ["Check", "Evidence", "Original", "Run", "ViewColumns", "audit"]
