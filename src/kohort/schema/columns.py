"""Column roles: what is asked of each column, and the same bound to a table, where every name exists and every tree is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_serializer, field_validator, model_validator

from kohort.errors import RequestError, did_you_mean, gathered, listed
from kohort.schema import date_formats as calendars
from kohort.schema import tree_rules as tree_builders
from kohort.schema import trees as hierarchies
from kohort.schema.promises import SensitivePromise
from kohort.schema.tree_rules import Rule
from kohort.schema.trees import Tree
from kohort.schema.type_detection import ValueType

Role = Literal["quasi", "sensitive", "identifier", "unit", "other", "drop"]
ROLES: tuple[str, ...] = get_args(Role)
Ranges = Literal["tight", "grid"]
Statistic = Literal["range", "mean", "both"]
WHOLE_STEP, DECIMAL_STEP = 5.0, 1.0  # of ranges on a grid, where none is declared: never taken from the data

_CELL = re.compile(r"[+-]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\S+@\S+")  # numbers, dates, addresses
_UNREADABLE = (
    pa.types.is_decimal256, pa.types.is_union, pa.types.is_interval, pa.types.is_run_end_encoded,
    pa.types.is_binary_view, pa.types.is_list_view, pa.types.is_large_list_view,
)  # fmt: skip

NEAR_UNIQUE = 0.9  # share of the rows that hold a value of their own, from which a column is as good as a key
FREE_TEXT_WORDS = 5  # mean number of words from which text is prose, which can name anyone
ROW_LIKE = 0.25  # share of the names that look like cells from which a header is taken for a row
SMALL_TABLE = 20  # below this many rows most columns are near-unique by chance


class Column(SensitivePromise):
    """What is asked of one column; what is promised about it, if it is sensitive."""

    role: Role
    type: ValueType | None = None
    format: str | None = None
    hierarchy: Rule | str | tuple[tuple[str, ...], ...] | None = None
    weight: float = Field(default=1.0, ge=0, le=1000, allow_inf_nan=False)
    statistic: Statistic = "range"
    step: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    allow: bool = False

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _rule_or_file(cls, given: Any) -> Any:
        if isinstance(given, Mapping) or (isinstance(given, str) and tree_builders.is_short(given)):
            return tree_builders.rule(given)
        if isinstance(given, str) and (not given or tree_builders.is_misspelt(given)):
            raise ValueError(tree_builders.no_such_rule(given))
        if not isinstance(given, (str, Rule, list, tuple, type(None))):
            raise ValueError(tree_builders.no_such_rule(""))  # noqa: TRY004 - pydantic tells of no other
        return given

    @field_serializer("hierarchy")
    def _written(self, tree: Any) -> Any:
        return tree.written() if isinstance(tree, Rule) else tree

    @model_validator(mode="after")
    def _dates_have_formats(self) -> Self:
        wrong = calendars.mistake(self.format) if self.format is not None else None
        if wrong:
            raise ValueError(f"format {wrong}")
        if self.format is not None and self.type not in (None, "date", "timestamp"):
            raise ValueError(f"format is for dates; the column is declared {self.type}")
        return self

    @property
    def value_type(self) -> ValueType | None:
        """The declared type; what has a format is a date."""
        return self.type or ("date" if self.format else None)

    def published(self, name: str) -> list[tuple[str, str]]:
        """(name, statistic) of what is published of this column; a mean is a column beside, or instead of, the range."""
        if self.role != "quasi":
            return [(name, "value")] if self.role in ("sensitive", "other") else []
        requested = ("range", "mean") if self.statistic == "both" else (self.statistic,)
        return [(f"{name}.mean" if statistic == "mean" else name, statistic) for statistic in requested]


@dataclass(frozen=True)
class Schema:
    """The roles of a table's columns, in the table's order; quasi-identifiers in the order they were asked in."""

    columns: Mapping[str, Column]
    table_columns: tuple[str, ...]
    trees: Mapping[str, Tree]
    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside the empty one."""
    ranges: Ranges = "tight"

    def step(self, name: str, *, whole: bool) -> Decimal | None:
        """The step on whose multiples a column of numbers ends its ranges, exactly as it is written; None if they are tight."""
        if self.ranges == "tight":
            return None
        requested = self.columns[name].step or (WHOLE_STEP if whole else DECIMAL_STEP)
        return Decimal(int(requested)) if requested.is_integer() and requested < 2**63 else Decimal(str(requested))

    @property
    def quasi(self) -> list[str]:
        return [name for name, column in self.columns.items() if column.role == "quasi"]

    def named(self, *roles: str) -> list[str]:
        """Columns of these roles in the order of the table."""
        return [name for name in self.table_columns if self.columns[name].role in roles]

    @property
    def carried(self) -> list[str]:
        """Columns that are published untouched."""
        return self.named("sensitive", "other")

    def published(self) -> list[tuple[str, str, str]]:
        """(name in the release, column it comes from, statistic) in order; the statistic of untouched columns is 'value'."""
        return [
            (published, name, statistic)
            for name in self.named("quasi", "sensitive", "other")
            for published, statistic in self.columns[name].published(name)
        ]


def resolve(columns: Mapping[str, Column], table: pa.Table, **requested: Any) -> Schema:
    """Bind what is asked of columns to a table; every mistake at once. The settings are those of `bind`."""
    schema = _named(columns, table.column_names, **requested)
    problems = _header_problems(schema, table.schema)
    with gathered(problems):
        require_rows(schema, table.num_rows, lambda name: _looks_personal(table.column(name)))
    if problems:
        raise RequestError(problems)
    return schema


def bind(columns: Mapping[str, Column], header: pa.Schema, **requested: Any) -> Schema:
    """The same for a table whose rows are not at hand: only its columns and their types. `folder` may hold trees named after
    columns; `measured` are sensitive columns whose values need a tree or an order.
    """
    schema = _named(columns, header.names, **requested)
    problems = _header_problems(schema, header)
    if problems:
        raise RequestError(problems)
    return schema


def _named(
    columns: Mapping[str, Column],
    names: list[str],
    *,
    folder: str | None = None,
    missing: tuple[str, ...] = (),
    ranges: Ranges = "tight",
    measured: Collection[str] = (),
) -> Schema:
    problems = unknown_columns(columns, names)
    undeclared = [name for name in names if name not in columns]
    if undeclared and any(name in names for name in columns):  # else the header may be somebody's record
        which = "" if row_like(names) else f": {listed(undeclared)}"
        problems.append(
            f"{len(undeclared)} column(s) have no role{which}. Each must be quasi, sensitive, identifier, "
            "unit (one person's rows share it), other (published as it is) or drop."
        )
    trees, tree_problems = load_trees(columns, folder, measured)
    if problems + tree_problems:
        raise RequestError(problems + tree_problems)
    return Schema(columns, tuple(names), trees, missing, ranges)


def _header_problems(schema: Schema, header: pa.Schema) -> list[str]:
    return _doubled(schema) + _not_carried(schema, header)


def require_rows(schema: Schema, rows: int, looks_personal: Callable[[str], str | None]) -> None:
    """Refuse an empty table, and columns with the role other that could name a person by themselves, unless allowed."""
    problems = [] if rows else ["The table has no rows."]
    for name in unproven(schema) if rows >= SMALL_TABLE else ():
        reason = looks_personal(name)
        if reason:
            problems.append(
                f"Column {name!r} {reason}, so it may point to persons by itself. Make it identifier or drop; "
                f"if it must be published as it is, allow it: --allow {name}."
            )
    if problems:
        raise RequestError(problems)


def unproven(schema: Schema) -> list[str]:
    """Columns with the role other that nobody has allowed: each must be shown not to point to persons."""
    return [name for name in schema.named("other") if not schema.columns[name].allow]


def personal(rows: int, unique: int, words: float) -> str | None:
    """Why a column may point to persons: how many rows hold a value of their own, or the mean words of its different texts."""
    if unique >= NEAR_UNIQUE * rows:
        return f"holds a value of its own in {unique} of {rows} rows"
    return f"holds free text ({words:.0f} words a cell)" if words >= FREE_TEXT_WORDS else None


def load_trees(
    columns: Mapping[str, Column], folder: str | None, measured: Collection[str] = ()
) -> tuple[dict[str, Tree], list[str]]:
    """The trees of the quasi-identifiers and of the measured columns, and what is wrong with them."""
    trees: dict[str, Tree] = {}
    problems: list[str] = []
    try:
        files = list(Path(folder).iterdir()) if folder else []
    except (OSError, ValueError) as error:
        problems.append(
            f"The folder of trees {folder} cannot be read: {getattr(error, 'strerror', 'no folder has such a name')}."
        )
        files = []
    for name, column in columns.items():
        source = column.hierarchy
        if source is None and folder and column.type in (None, "text"):
            source = next((str(file) for file in files if file.name == f"{name}.csv"), None)
        if source is None or not (column.role == "quasi" or name in measured):
            continue
        if isinstance(source, Rule):
            if column.type is not None and column.type not in source.types:
                problems.append(f"Column {name!r} is declared {column.type} and has a tree by {source.by}. Keep one of the two.")
            continue
        if column.type not in (None, "text"):
            problems.append(f"Column {name!r} has a tree and is declared {column.type}. Keep one of the two.")
            continue
        try:
            trees[name] = (
                hierarchies.load(source) if isinstance(source, str) else hierarchies.build(source, f"The tree of {name!r}")
            )
        except RequestError as error:
            problems += error.problems
    return trees, problems


def row_like(names: Sequence[str]) -> list[int]:
    """The places of a header that look like cells, if there are so many that it may be a row. Years and counts may be names."""
    known = {str(number) for number in (*range(len(names) + 1), *range(1900, 2101))}
    cells = [at for at, name in enumerate(names, start=1) if _CELL.fullmatch(name) and name not in known]
    return cells if len(cells) >= ROW_LIKE * len(names) else []


def require_names(names: Sequence[str]) -> None:
    """Refuse a header that looks like somebody's record, before any of it is shown."""
    cells = row_like(names)
    if cells:
        numbers = ", ".join(map(str, cells[:8]))
        raise RequestError(
            f"The first line looks like a row, not like the names of columns: numbers, dates or addresses stand in {len(cells)} "
            f"of its {len(names)} places ({numbers}). Put the columns' names above it; if they are names, give each a letter."
        )


def unknown_columns(requested: Iterable[str], names: list[str]) -> list[str]:
    """What to say of columns that are not in the table. A header that may be somebody's record is not shown."""
    columns = list(requested)
    unknown = [name for name in columns if name not in names]
    if not unknown:
        return []
    hints = [_hint(name, names) for name in unknown]
    if row_like(names) or (len(unknown) == len(columns) and (any(map(_CELL.fullmatch, names)) or not any(hints))):
        return [
            f"There is no column {listed(unknown)} in the table. If its first line is a row, put the columns' names above it."
        ]
    return [f"There is no column {name!r} in the table.{hint}" for name, hint in zip(unknown, hints, strict=True)]


def _hint(name: str, names: list[str]) -> str:
    if "," in name and all(part.strip() in names for part in name.split(",")):
        return " A repeated flag takes each name as it stands: repeat it for every column."
    return did_you_mean(name, names)


def _not_carried(schema: Schema, header: pa.Schema) -> list[str]:
    """Columns of a type that the audit cannot read back, so that they cannot be proven to be as they were."""
    arrow_types = {name: header.field(name).type for name in schema.carried}
    return [
        f"Column {name!r} of type {arrow_type} cannot be published as it is. Cast it to a plainer type, or drop it."
        for name, arrow_type in arrow_types.items()
        if not _can_be_proven(arrow_type)
    ]


def _can_be_proven(arrow_type: pa.DataType, *, inside: bool = False) -> bool:
    """Whether files and SQL give back every value of a type; durations only outside of lists and structs."""
    if any(test(arrow_type) for test in _UNREADABLE) or isinstance(arrow_type, pa.BaseExtensionType):
        return False
    if not pa.types.is_nested(arrow_type):
        return not (inside and pa.types.is_duration(arrow_type))
    return arrow_type.num_fields > 0 and all(
        _can_be_proven(arrow_type.field(at).type, inside=True) for at in range(arrow_type.num_fields)
    )


def _doubled(schema: Schema) -> list[str]:
    names = [name for name, _source, _statistic in schema.published()]
    doubled = sorted({name for name in names if names.count(name) > 1})
    return [f"The release would have two columns named {listed(doubled)}. Rename the one in the table."] if doubled else []


def _looks_personal(column: pa.ChunkedArray) -> str | None:
    if pa.types.is_nested(column.type):  # Arrow counts no lists
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in column.to_pylist()], pa.string())])
    present = column.drop_null()
    if not len(present):
        return None
    counts = pc.value_counts(present)
    unique = pc.sum(pc.equal(counts.field("counts"), 1)).as_py() or 0
    words = words_of(counts.field("values"))
    return personal(len(column), unique, 0.0 if words is None else pc.mean(words).as_py())


def words_of(values: pa.Array) -> pa.Array | None:
    """How many words each text has; nothing if these are no texts."""
    arrow_type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)):
        return None
    return pc.add(pc.count_substring_regex(values.cast(pa.string()), r"\s+"), 1)
