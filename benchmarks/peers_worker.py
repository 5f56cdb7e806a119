"""Run one peer in its environment: `python -I peers_worker.py REQUEST.json` (see `peers.py`).

This file imports the peer, pandas and the standard library, but not kohort. CPU seconds are those of the peer's own call, without
imports, reading and writing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd


def anonypy(table: pd.DataFrame, request: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """Run anonypy's Mondrian. It cuts numbers at the median and categories by their order of appearance, and has no trees."""
    quasi, sensitive = request["quasi"], request["sensitive"]
    for name in quasi:
        table[name] = pd.to_numeric(table[name]) if name in request["numeric"] else table[name].astype("category")
    if not sensitive:  # anonypy needs a sensitive column; with k only, it does not influence the cuts
        table = table.assign(sensitive="none")
    sensitive_column = sensitive[0] if sensitive else "sensitive"
    preserver = import_module("anonypy").Preserver(table, quasi, sensitive_column)
    made, seconds = timed(lambda: preserver.anonymize_k_anonymity(k=request["k"]))
    counted = pd.DataFrame(made)  # one line for each group and sensitive value, with its number of rows
    for name in quasi:
        counted[name] = counted[name].str[0]  # anonypy returns each cell as a list of one text
    return counted.loc[counted.index.repeat(counted["count"]), [*quasi, *sensitive]], seconds


def anjana(table: pd.DataFrame, request: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """Run anjana. It uses one level of the tree for each column, and suppresses groups below k up to a share of the rows."""
    trees = {
        name: dict(pd.read_csv(path, sep=";", header=None, dtype=str, keep_default_na=False))
        for name, path in request["trees"].items()
    }
    k_anonymity = import_module("anjana.anonymity").k_anonymity
    return timed(lambda: k_anonymity(table, [], request["quasi"], request["k"], request["suppress_percent"], trees))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    before = time.process_time()
    made = call()
    return made, time.process_time() - before


PEERS = {"anonypy": anonypy, "anjana": anjana}


def main(request: dict[str, Any]) -> None:
    """Write the peer's release as CSV, and its CPU seconds to another file."""
    table = pd.read_csv(request["source"], dtype=str, keep_default_na=False)[[*request["quasi"], *request["sensitive"]]]
    release, seconds = PEERS[request["peer"]](table, request)
    if release.empty:
        sys.exit("The peer published nothing.")
    release.to_csv(request["release"], index=False)
    Path(request["seconds"]).write_text(str(seconds), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
