"""Audits a release in SQL on Spark: the release as it is delivered, compared with the original cells of each row."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from kohort.auditor import Check, Evidence, Run
from kohort.auditor.promise_checks import tree_rows
from kohort.verification.verify import Proof

VIEWS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\b(?:FROM|JOIN) (?:release|matched|\w+_tree)\b")
"""Matches a text literal, or the name of a view after FROM or JOIN."""


def audited(proof: Proof, names: Sequence[str], release: Any, rows: Any, proven: Any) -> Evidence:
    """Return the findings of the auditor in `release`, whose columns are `names`.

    `rows` are the same rows in any order, with their original cells. `proven` are the rows that the release must contain, exactly
    as they are delivered.
    """
    numbered = release.toDF(*(f"r{number}" for number in range(len(release.columns))))
    by_name = {name: f"r{number}" for number, name in enumerate(names)}
    aliases = proof.claims.view_columns.aliases
    shown = [_shown(alias, by_name[name]) for alias, name in aliases.items()]
    originals = [name for name in rows.columns if name.endswith("_original")]
    trees = {
        alias: value_distance.tree
        for alias, name in aliases.items()
        if (value_distance := proof.value_distances.get(name)) and value_distance.tree
    }
    spark = release.sparkSession
    views = {"release": numbered.selectExpr(*shown), "matched": rows.selectExpr(*shown, *originals)}
    for alias, tree in trees.items():
        views[f"{alias}_tree"] = spark.createDataFrame(list(tree_rows(tree)), "value string, node bigint, weight double")
    with _viewed(spark, views) as run:
        evidence = proof.ask(run, list(release.columns), None)
    return replace(evidence, checks=(*evidence.checks, _written(numbered, proven)))


def _shown(alias: str, column: str) -> str:
    """Return the SQL for a column of a view. Quasi-identifiers are compared as their published text."""
    return f"CAST({column} AS STRING) AS {alias}" if alias.startswith("q") else f"{column} AS {alias}"


@contextmanager
def _viewed(spark: Any, views: Mapping[str, Any]) -> Iterator[Run]:
    """Yield a function that runs SQL on these views.

    The views get a random suffix, because the session may have views of the same names, or run another audit at the same time.
    """
    suffix = f"_kohort_{secrets.token_hex(8)}"

    def run(sql: str) -> list[tuple[Any, ...]]:
        named = VIEWS.sub(lambda found: found[0] if found[0].startswith("'") else found[0] + suffix, sql)
        return [tuple(row) for row in spark.sql(named).collect()]

    with ExitStack() as held:
        for name, frame in views.items():
            frame.createOrReplaceTempView(name + suffix)
            held.callback(spark.catalog.dropTempView, name + suffix)
        yield run


def _written(release: Any, proven: Any) -> Check:
    """Check that the delivered rows are exactly the proven rows, in any order."""
    from pyspark.sql import functions as f

    names = proven.columns
    both = release.select(*names).withColumn("d", f.lit(1)).unionByName(proven.withColumn("d", f.lit(-1)))
    wrong = both.groupBy(*names).agg(f.sum("d").alias("d")).where("d <> 0").agg(f.sum(f.abs("d"))).collect()[0][0] or 0
    meaning = "rows that are in the written release but were not proven, or were proven but are not in it"
    return Check("written", 0, int(wrong), "pass" if wrong == 0 else "fail", meaning)
