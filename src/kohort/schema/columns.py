"""Roles and settings of columns (`Column`), and the same checked against a table (`Schema`).

In a `Schema` every column exists in the table and every tree file is loaded.
"""

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
from kohort.wording import counted, quoted

Role = Literal["quasi", "sensitive", "identifier", "unit", "other", "drop"]
ROLES: tuple[str, ...] = get_args(Role)
Ranges = Literal["tight", "grid"]
Statistic = Literal["range", "mean", "both"]
# Default steps of ranges on a grid. They never depend on the data, so that they reveal nothing about it.
WHOLE_STEP, DECIMAL_STEP = 5.0, 1.0

_CELL = re.compile(r"[+-]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\S+@\S+")  # numbers, dates, e-mail addresses
_UNREADABLE = (
    pa.types.is_decimal256, pa.types.is_union, pa.types.is_interval, pa.types.is_run_end_encoded,
    pa.types.is_binary_view, pa.types.is_list_view, pa.types.is_large_list_view,
)  # fmt: skip

NO_ROWS = "The table has no rows. Check that the export contains data."
CHECK_FOLDER = "Check the name after --hierarchies, or hierarchies in the job file."
MOST_LISTED = 12  # a message lists the columns of a table with at most this many
NEAR_UNIQUE = 0.9  # if at least this share of rows has a unique value, the column identifies rows like a key
FREE_TEXT_WORDS = 5  # text with at least this mean number of words is free text, which can name people
ROW_LIKE = 0.25  # if at least this share of the column names looks like cells, the header is probably a row
SMALL_TABLE = 20  # in tables with fewer rows, most columns are nearly unique by chance


class Column(SensitivePromise):
    """The role and settings of one column; if it is sensitive, also the promises about it."""

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
            raise ValueError(tree_builders.no_such_rule(""))  # noqa: TRY004 - pydantic reports only ValueError
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
            raise ValueError(f"format is only for dates, but the type of this column is {self.type}. Remove format or type")
        return self

    @property
    def value_type(self) -> ValueType | None:
        """The declared type; a column with a format and no type is a date."""
        return self.type or ("date" if self.format else None)

    def published(self, name: str) -> list[tuple[str, str]]:
        """Return (published name, statistic) for each published column. A mean is a separate column, named `<name>.mean`."""
        if self.role != "quasi":
            return [(name, "value")] if self.role in ("sensitive", "other") else []
        requested = ("range", "mean") if self.statistic == "both" else (self.statistic,)
        return [(f"{name}.mean" if statistic == "mean" else name, statistic) for statistic in requested]


@dataclass(frozen=True)
class Schema:
    """The roles of all columns of a table. `columns` has the order of the job, `table_columns` the order of the table."""

    columns: Mapping[str, Column]
    table_columns: tuple[str, ...]
    trees: Mapping[str, Tree]
    missing: tuple[str, ...] = ()
    """Texts that mean a missing value, in addition to the empty text."""
    ranges: Ranges = "tight"

    def step(self, name: str, *, whole: bool) -> Decimal | None:
        """Return the step of a column of numbers: its ranges end at multiples of this number. None if ranges are tight.

        The step is an exact decimal number, as written in the job.
        """
        if self.ranges == "tight":
            return None
        requested = self.columns[name].step or (WHOLE_STEP if whole else DECIMAL_STEP)
        return Decimal(int(requested)) if requested.is_integer() and requested < 2**63 else Decimal(str(requested))

    @property
    def quasi(self) -> list[str]:
        """Quasi-identifiers in the order of the job."""
        return [name for name, column in self.columns.items() if column.role == "quasi"]

    def named(self, *roles: str) -> list[str]:
        """Return the columns with one of these roles, in the order of the table."""
        return [name for name in self.table_columns if self.columns[name].role in roles]

    @property
    def carried(self) -> list[str]:
        """Columns that are published unchanged."""
        return self.named("sensitive", "other")

    def published(self) -> list[tuple[str, str, str]]:
        """Return (name in the release, source column, statistic) in table order; unchanged columns have the statistic 'value'."""
        return [
            (published, name, statistic)
            for name in self.named("quasi", "sensitive", "other")
            for published, statistic in self.columns[name].published(name)
        ]


def resolve(columns: Mapping[str, Column], table: pa.Table, **requested: Any) -> Schema:
    """Check the roles and settings of columns against a table and its rows. Report all mistakes at once.

    `requested` takes the keyword arguments of `bind`.
    """
    schema = _named(columns, table.column_names, **requested)
    problems = _header_problems(schema, table.schema)
    with gathered(problems):
        require_rows(schema, table.num_rows, lambda name: _looks_personal(table.column(name)))
    if problems:
        raise RequestError(problems)
    return schema


def bind(columns: Mapping[str, Column], header: pa.Schema, **requested: Any) -> Schema:
    """Check the roles and settings of columns against the header of a table, without its rows.

    `folder` may contain tree files with the names of columns. `measured` are sensitive columns whose values need a tree or an
    order (for t-closeness).
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
    # If no requested column exists, the header may be a row of data, so its names are not shown.
    if undeclared and any(name in names for name in columns):
        which = "" if row_like(names) else f": {listed(undeclared)}"
        problems.append(
            f"{counted(len(undeclared), 'column')} {'has' if len(undeclared) == 1 else 'have'} no role{which}. "
            "Give each a role: quasi (other people may know it), sensitive (such as a diagnosis), identifier (a name), "
            "unit (the patient number, if people have several rows), other (published unchanged) or drop (left out)."
        )
    trees, tree_problems = load_trees(columns, folder, measured)
    if problems + tree_problems:
        raise RequestError(problems + tree_problems)
    return Schema(columns, tuple(names), trees, missing, ranges)


def _header_problems(schema: Schema, header: pa.Schema) -> list[str]:
    return _duplicate_names(schema) + _not_carried(schema, header)


def require_rows(schema: Schema, rows: int, looks_personal: Callable[[str], str | None]) -> None:
    """Raise an error if the table is empty, or if a column with the role other may identify people and is not allowed.

    `looks_personal` returns why a column may identify people, or None.
    """
    problems = [] if rows else [NO_ROWS]
    for name in unproven(schema) if rows >= SMALL_TABLE else ():
        reason = looks_personal(name)
        if reason:
            problems.append(
                f"Column {name!r} {reason}. It may identify people, so it cannot have the role other. Make it identifier or "
                f"drop. If it must be published unchanged, set allow (--allow {name}). "
                f"Use --allow {name} only if nobody can recognise a person by its values."
            )
    if problems:
        raise RequestError(problems)


def unproven(schema: Schema) -> list[str]:
    """Return the columns with the role other that are not allowed explicitly. kohort must check that they identify nobody."""
    return [name for name in schema.named("other") if not schema.columns[name].allow]


def personal(rows: int, unique: int, words: float) -> str | None:
    """Return why a column may identify people, as the end of a sentence that starts with the column; None if it does not.

    `unique` is the number of values that occur only once, `words` the mean number of words of the distinct texts.
    """
    if words >= FREE_TEXT_WORDS:
        return f"contains free text ({words:.0f} words per distinct value on average)"
    return f"has {unique:,} values that occur only once, in a table of {rows:,} rows" if unique >= NEAR_UNIQUE * rows else None


def load_trees(
    columns: Mapping[str, Column], folder: str | None, measured: Collection[str] = ()
) -> tuple[dict[str, Tree], list[str]]:
    """Load the trees of the quasi-identifiers and of the `measured` columns. Return the trees and the mistakes in them."""
    trees: dict[str, Tree] = {}
    problems: list[str] = []
    try:
        files = list(Path(folder).iterdir()) if folder else []
    except FileNotFoundError:
        problems.append(f"There is no folder of trees {quoted(folder)}. {CHECK_FOLDER}")
        files = []
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "this is not a valid folder name")
        problems.append(f"The folder of trees {quoted(folder)} cannot be read: {reason}. {CHECK_FOLDER}")
        files = []
    for name, column in columns.items():
        source = column.hierarchy
        if source is None and folder and column.type in (None, "text"):
            source = next((str(file) for file in files if file.name == f"{name}.csv"), None)
        if source is None or not (column.role == "quasi" or name in measured):
            continue
        if isinstance(source, Rule):
            if column.type is not None and column.type not in source.types:
                problems.append(
                    f"The type of column {name!r} is {column.type}, but its tree rule {source.by} is for "
                    f"{' and '.join(source.types)} columns. Remove the type or the tree rule."
                )
            continue
        if column.type not in (None, "text"):
            problems.append(
                f"The type of column {name!r} is {column.type}, but it has a tree, and trees are for text. "
                "Remove the type or the tree."
            )
            continue
        try:
            trees[name] = (
                hierarchies.load(source) if isinstance(source, str) else hierarchies.build(source, f"The tree of {name!r}")
            )
        except RequestError as error:
            problems += error.problems
    return trees, problems


def row_like(names: Sequence[str]) -> list[int]:
    """Return the positions (from 1) of column names that look like cells, if so many do that the header may be a row.

    Years and the numbers up to the number of columns are accepted as names.
    """
    known = {str(number) for number in (*range(len(names) + 1), *range(1900, 2101))}
    cells = [at for at, name in enumerate(names, start=1) if _CELL.fullmatch(name) and name not in known]
    return cells if len(cells) >= ROW_LIKE * len(names) else []


def require_names(names: Sequence[str]) -> None:
    """Raise an error if the header looks like a row of data. This comes before any message that shows column names."""
    cells = row_like(names)
    if cells:
        numbers = ", ".join(map(str, cells[:8]))
        raise RequestError(
            f"The first line looks like a row of data, not like column names: {len(cells)} of its {len(names)} cells "
            f"(columns {numbers}) are numbers, dates or e-mail addresses. Add a line with the column names above it. "
            "If these are the column names, add a letter to each."
        )


def unknown_columns(requested: Iterable[str], names: list[str]) -> list[str]:
    """Return a message for each requested column that is not in the table. A header that may be a row of data is not shown."""
    columns = list(requested)
    unknown = [name for name in columns if name not in names]
    if not unknown:
        return []
    none_close = not any(_near(name, names) for name in unknown)
    if row_like(names) or (len(unknown) == len(columns) and (any(map(_CELL.fullmatch, names)) or none_close)):
        advice = "Check the names. If the first line of the file is a row of data, add a line with the column names above it."
        return [f"There is no column {listed(unknown)} in the table. {advice}"]
    shown = len(names) <= MOST_LISTED and len(unknown) < len(columns)
    known = f" The columns are: {listed(names, MOST_LISTED)}." if shown else ""
    return [f"There is no column {name!r} in the table.{_near(name, names) or known}" for name in unknown]


def _near(name: str, names: list[str]) -> str:
    """Return a sentence that says which column or columns were meant, or an empty text."""
    if "," in name and all(part.strip() in names for part in name.split(",")):
        return " If you repeat a flag, give one column name each time."
    return did_you_mean(name, names)


def _not_carried(schema: Schema, header: pa.Schema) -> list[str]:
    """Return a message for each unchanged column whose type the audit cannot read back and so cannot compare."""
    arrow_types = {name: header.field(name).type for name in schema.carried}
    return [
        f"Column {name!r} of type {arrow_type} cannot be published unchanged: the audit cannot check this type. "
        "Convert it to a simpler type, or drop it."
        for name, arrow_type in arrow_types.items()
        if not _can_be_proven(arrow_type)
    ]


def _can_be_proven(arrow_type: pa.DataType, *, inside: bool = False) -> bool:
    """Whether every value of a type survives writing to a file and reading by SQL; durations only outside lists and structs."""
    if any(test(arrow_type) for test in _UNREADABLE) or isinstance(arrow_type, pa.BaseExtensionType):
        return False
    if not pa.types.is_nested(arrow_type):
        return not (inside and pa.types.is_duration(arrow_type))
    return arrow_type.num_fields > 0 and all(
        _can_be_proven(arrow_type.field(at).type, inside=True) for at in range(arrow_type.num_fields)
    )


def _duplicate_names(schema: Schema) -> list[str]:
    names = [name for name, _source, _statistic in schema.published()]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if not duplicates:
        return []
    return [f"The release would have two columns named {listed(duplicates)}. Rename the column of that name in the table."]


def _looks_personal(column: pa.ChunkedArray) -> str | None:
    """Return why a column may identify people (see `personal`); None if it does not."""
    if pa.types.is_nested(column.type):  # Arrow cannot count distinct lists and structs, so they are counted as text
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in column.to_pylist()], pa.string())])
    present = column.drop_null()
    if not len(present):
        return None
    counts = pc.value_counts(present)
    unique = pc.sum(pc.equal(counts.field("counts"), 1)).as_py() or 0
    words = words_of(counts.field("values"))
    return personal(len(column), unique, 0.0 if words is None else pc.mean(words).as_py())


def words_of(values: pa.Array) -> pa.Array | None:
    """Return the number of words of each text; None if the values are not text."""
    arrow_type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)):
        return None
    return pc.add(pc.count_substring_regex(values.cast(pa.string()), r"\s+"), 1)
