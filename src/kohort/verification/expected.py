"""What a release must contain, for the auditor: its columns, and the source value of each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kohort.auditor import Original, ViewColumns
from kohort.auditor.promise_checks import ValueDistance
from kohort.encoding.axes import Axis
from kohort.encoding.date_axis import DateAxis
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.sensitive import SensitiveColumn
from kohort.encoding.tree_axis import TreeAxis
from kohort.schema.columns import Schema
from kohort.tables import tables
from kohort.tables.tables import FileFormat


@dataclass(frozen=True)
class Claims:
    """The columns of the audit's views, and for each the source column and the published statistic."""

    view_columns: ViewColumns
    sources: Mapping[str, str]
    """Source column by alias."""
    statistics: Mapping[str, str]
    """Published statistic by alias: range, mean or value."""

    @classmethod
    def of(cls, schema: Schema) -> Claims:
        """Return the columns that a release of this schema must have."""
        published = {name: (source, statistic) for name, source, statistic in schema.published()}
        quasi = [name for name, (_source, statistic) in published.items() if statistic != "value"]
        view_columns = ViewColumns(quasi, schema.named("sensitive"), schema.named("other"))
        sources = {alias: published[name][0] for alias, name in view_columns.aliases.items()}
        statistics = {alias: published[name][1] for alias, name in view_columns.aliases.items()}
        return cls(view_columns, sources, statistics)

    def original(self, schema: Schema, axes: Sequence[Axis], arrow_schema: pa.Schema, rows: int) -> Original:
        """Return the facts about the source that the auditor needs. `arrow_schema` has the types of the source columns."""
        dates = {axis.name: axis.format for axis in axes if isinstance(axis, DateAxis)}
        numeric = {
            axis.name: "DOUBLE" if axis.first.dtype.kind == "f" else "BIGINT"
            for axis in axes
            if isinstance(axis, NumericAxis) and axis.name not in dates
        }
        # Text without a tree is published unchanged or as `*`. Checking that needs no tree.
        trees = {
            axis.name: axis.tree if axis.rule or axis.name in schema.trees else None
            for axis in axes
            if isinstance(axis, TreeAxis)
        }
        spreads = {axis.name: axis.range for axis in axes if isinstance(axis, NumericAxis)}
        commas = [axis.name for axis in axes if isinstance(axis, NumericAxis) and axis.comma]
        # Taken from the schema, not from the axes, so that the audit notices an axis without its grid.
        steps = {
            name: schema.step(name, whole=kind == "BIGINT" or schema.columns[name].type == "integer")
            for name, kind in numeric.items()
        }
        ranges = {alias: source for alias, source in self.sources.items() if self.statistics[alias] == "range"}
        exact = [alias for alias, source in self.sources.items() if _is_exact_number(arrow_schema.field(source).type)]
        return Original(
            rows=rows,
            columns=[name for name, _source, _statistic in schema.published()],
            numbers={alias: numeric[source] for alias, source in ranges.items() if source in numeric},
            commas=[alias for alias, source in self.sources.items() if source in commas],
            dates={alias: dates[source] for alias, source in ranges.items() if source in dates},
            means={alias: spreads[self.sources[alias]] for alias, statistic in self.statistics.items() if statistic == "mean"},
            labels={alias: trees[source] for alias, source in ranges.items() if source in trees},
            missing=schema.missing,
            typed=() if schema.missing else exact,
            steps={alias: step for alias, source in ranges.items() if (step := steps.get(source)) is not None},
        )

    def missing(self, schema: Schema, arrow_schema: pa.Schema, file_format: FileFormat | None) -> tuple[str, ...]:
        """Return the texts that mean a missing value in sensitive columns. NaN is missing too; a CSV file has it as text."""
        floating = any(pa.types.is_floating(arrow_schema.field(name).type) for name in schema.named("sensitive"))
        is_text = file_format is not None and file_format.holds_text
        return (*schema.missing, "nan") if floating and is_text else schema.missing

    def cell(self, alias: str, column: pa.ChunkedArray, original: Original, file_format: FileFormat | None) -> pa.ChunkedArray:
        """Return a source column in the form in which the auditor compares it with the file."""
        if self.statistics[alias] == "value":
            return file_format.as_stored(column) if file_format is not None else tables.without_durations(column)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return column if alias in original.typed and alias not in original.labels else tables.as_text(column)


def value_distances_of(sensitive: Iterable[SensitiveColumn]) -> dict[str, ValueDistance]:
    """Return how the auditor measures distances between sensitive values."""
    return {
        sensitive_column.name: ValueDistance(
            sensitive_column.scale.tree, sensitive_column.scale.dates, sensitive_column.scale.comma
        )
        for sensitive_column in sensitive
    }


def _is_exact_number(arrow_type: pa.DataType) -> bool:
    """Return whether SQL and the encoder read the same number from this type, without a conversion to text."""
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_float64(arrow_type))
