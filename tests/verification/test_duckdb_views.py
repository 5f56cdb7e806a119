"""DuckDB views of a release print no progress bar."""

from __future__ import annotations

import subprocess
import sys

NOT_A_SCRIPT = """
import pyarrow as pa
from kohort.auditor import ViewColumns
from kohort.verification.duckdb_views import release_view
with release_view(pa.table({"q": ["a"]}), None, ViewColumns(["q"], [], []), 1) as run:
    print(run("SELECT current_setting('enable_progress_bar')")[0][0])
"""


def test_duckdb_prints_no_progress_bar():
    """Outside of a script, DuckDB would draw a progress bar on stdout if a query takes seconds."""
    ran = subprocess.run([sys.executable, "-c", NOT_A_SCRIPT], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
