"""Column roles, bound to a table: every column has one role, every name exists, every tree is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kohort import hierarchies
from kohort.errors import RequestError, listed, nearest
from kohort.hierarchies import Tree
from kohort.job import ColumnJob, Job

NEAR_UNIQUE = 0.9  # share of the rows that hold a value of their own, from which a column is as good as a key
FREE_TEXT_WORDS = 5  # mean number of words from which text is prose, which can name anyone
SMALL_TABLE = 20  # below this many rows most columns are near-unique by chance


@dataclass(frozen=True)
class Schema:
    """The roles of a table's columns, in the table's order; quasi-identifiers in the job's order."""

    job: Job
    table_columns: tuple[str, ...]
    trees: dict[str, Tree]

    @property
    def quasi(self) -> list[str]:
        return self.job.names("quasi")

    def named(self, *roles: str) -> list[str]:
        """Columns of these roles in the order of the table."""
        return [name for name in self.table_columns if self.job.columns[name].role in roles]

    @property
    def carried(self) -> list[str]:
        """Columns that are published untouched."""
        return self.named("sensitive", "other")

    def column(self, name: str) -> ColumnJob:
        return self.job.columns[name]

    def published(self) -> list[tuple[str, str]]:
        """(column, statistic) for each column of the release in order; statistic is 'value' for untouched ones."""
        columns = []
        for name in self.named("quasi", "sensitive", "other"):
            if self.column(name).role != "quasi":
                columns.append((name, "value"))
                continue
            statistic = self.column(name).statistic
            columns += [(name, "range")] if statistic in ("range", "both") else []
            columns += [(name, "mean")] if statistic in ("mean", "both") else []
        return columns


def published_name(column: str, statistic: str) -> str:
    """A mean is a column of its own, beside or instead of the range."""
    return f"{column}.mean" if statistic == "mean" else column


def resolve(job: Job, table: pa.Table) -> Schema:
    """Bind a job to a table; every mistake at once."""
    names = table.column_names
    problems = [f"There is no column {name!r} in the table.{nearest(name, names)}" for name in job.columns if name not in names]
    undeclared = [name for name in names if name not in job.columns]
    if undeclared:
        problems.append(
            f"{len(undeclared)} column(s) have no role: {listed(undeclared)}. Each must be quasi, sensitive, identifier, "
            "other (published as it is) or drop."
        )
    trees, tree_problems = _trees(job)
    problems += tree_problems
    schema = Schema(job, tuple(names), trees)
    if not problems:
        if not table.num_rows:
            problems.append("The table has no rows.")
        problems += _doubled(schema) + _unsafe(schema, table)
    if problems:
        raise RequestError(problems)
    return schema


def _trees(job: Job) -> tuple[dict[str, Tree], list[str]]:
    trees: dict[str, Tree] = {}
    problems: list[str] = []
    folder = Path(job.hierarchies) if job.hierarchies else None
    if folder and not folder.is_dir():
        problems.append(f"There is no folder of trees {folder}.")
    for name in job.names("quasi"):
        source = job.columns[name].hierarchy
        if source is None and folder and job.columns[name].type is None and (folder / f"{name}.csv").is_file():
            source = str(folder / f"{name}.csv")
        if source is None:
            continue
        if job.columns[name].type not in (None, "text"):
            problems.append(f"Column {name!r} has a tree and is declared {job.columns[name].type}. Keep one of the two.")
            continue
        try:
            is_path = isinstance(source, str)
            trees[name] = hierarchies.load(source) if is_path else hierarchies.build(source, f"The tree of {name!r}")
        except RequestError as error:
            problems += error.problems
    return trees, problems


def _doubled(schema: Schema) -> Sequence[str]:
    names = [published_name(*column) for column in schema.published()]
    doubled = sorted({name for name in names if names.count(name) > 1})
    return [f"The release would have two columns named {listed(doubled)}. Rename the one in the table."] if doubled else []


def _unsafe(schema: Schema, table: pa.Table) -> list[str]:
    """Columns with the role other that could name a person by themselves, unless explicitly allowed."""
    problems = []
    for name in schema.named("other"):
        if schema.column(name).allow or table.num_rows < SMALL_TABLE:
            continue
        reason = _looks_personal(table.column(name))
        if reason:
            problems.append(
                f"Column {name!r} {reason}, so it may point to persons by itself. Make it identifier or drop; "
                f"if it must be published as it is, allow it: --allow {name}."
            )
    return problems


def _looks_personal(column: pa.ChunkedArray) -> str | None:
    present = column.drop_null()
    if not len(present):
        return None
    counts = pc.value_counts(present)
    unique = pc.sum(pc.equal(counts.field("counts"), 1)).as_py() or 0
    if unique >= NEAR_UNIQUE * len(column):
        return f"holds a value of its own in {unique} of {len(column)} rows"
    kind = present.type.value_type if pa.types.is_dictionary(present.type) else present.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = counts.field("values")
        words = pc.mean(pc.add(pc.count_substring_regex(texts.cast(pa.string()), r"\s+"), 1)).as_py()
        if words >= FREE_TEXT_WORDS:
            return f"holds free text ({words:.0f} words a cell)"
    return None
