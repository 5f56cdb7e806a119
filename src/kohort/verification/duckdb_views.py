"""The release as SQL sees it: a DuckDB connection with the views `release` and, where the source is known, `matched`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from kohort.auditor import Run, ViewColumns
from kohort.auditor.promise_checks import ValueDistance, tree_rows
from kohort.errors import MachineError, RequestError
from kohort.schema.trees import Tree
from kohort.tables import staging, tables
from kohort.tables.files.file_format import sql_text
from kohort.tables.tables import FileFormat


def original_name(alias: str) -> str:
    """What the cell of the source is called beside what was published of it."""
    return f"{alias}_original"


def columns_of(release: pa.Table | Path, file_format: FileFormat | None) -> list[str]:
    """The columns that a release really has, read from it."""
    if isinstance(release, pa.Table):
        return list(release.column_names)
    return tables.column_names(release, known(file_format))


def known(file_format: FileFormat | None) -> FileFormat:
    """The format of a release in a file, which must be given."""
    if file_format is None:
        raise TypeError("A release in a file needs the format of the file.")
    return file_format


@contextmanager
def release_view(
    release: pa.Table | Path,
    file_format: FileFormat | None,
    view_columns: ViewColumns,
    threads: int,
    originals: Mapping[str, pa.ChunkedArray] | Path | None = None,
    value_distances: Mapping[str, ValueDistance] | None = None,
    memory: int | None = None,
) -> Iterator[Run]:
    """A function that runs SQL on the release. `originals` are source columns, row by row as the release has them, by alias,
    or a Parquet file of them.

    Among them may be `u1`, whose each row is. `value_distances` say how far values of sensitive columns are apart, by column.
    `memory` is how many bytes this may take.
    """
    is_open = False
    with staging.scratch_folder() as scratch:
        settings: dict[str, Any] = {"threads": threads, "temp_directory": str(scratch), "autoinstall_known_extensions": False}
        if memory is not None:
            settings["memory_limit"] = f"{memory // 2**20}MiB"
        connection = duckdb.connect(config=settings)
        try:
            connection.execute("SET enable_progress_bar = false")  # in notebooks it would draw one of its own
            names = columns_of(release, file_format)
            places = [f"c{number}" for number in range(len(names))]  # DuckDB's names do not tell Age from age
            if isinstance(release, pa.Table):
                _register_table(connection, release, places)
            else:
                _register_file(connection, _plain_path(release, scratch), known(file_format), places)
            column_at = dict(zip(names, places, strict=True))
            shown = ", ".join(
                f"{_as_text(alias, column_at[name])} AS {alias}" for alias, name in view_columns.aliases.items() if name in names
            )
            connection.execute(f"CREATE VIEW release AS SELECT {shown} FROM file")
            if originals is not None:
                _register_originals(connection, originals)
            for alias, name in view_columns.aliases.items():
                value_distance = (value_distances or {}).get(name)
                if value_distance is not None and value_distance.tree is not None:
                    _register_tree(connection, alias, value_distance.tree)
            is_open = True
            yield lambda sql: connection.execute(sql).fetchall()
        except (duckdb.InterruptException, RuntimeError) as error:  # how DuckDB tells of a Ctrl-C during a query
            if "interrupt" not in str(error).lower():
                raise
            raise KeyboardInterrupt from None
        except duckdb.OutOfMemoryException:
            raise MachineError("The audit ran out of memory. Allow more (--memory), or take fewer threads (--threads).") from None
        except (duckdb.Error, pa.ArrowException, RequestError) as error:  # DuckDB's messages quote cells
            if isinstance(error, RequestError) and is_open:
                raise  # what the auditor was asked cannot be asked
            if originals is not None:
                raise MachineError("The staged release could not be read back, so nothing was published.") from None
            if isinstance(error, RequestError):
                raise
            if isinstance(release, Path):
                raise tables.unreadable(release, known(file_format)) from None
            raise RequestError(f"The table could not be audited: {type(error).__name__} while reading it.") from None
        finally:
            connection.close()


def _as_text(alias: str, column: str) -> str:
    """Quasi-identifiers are compared as the text they were published as, whatever type a file gives them."""
    return f"CAST({column} AS VARCHAR)" if alias.startswith("q") else column


def _plain_path(path: Path, scratch: Path) -> Path:
    """DuckDB reads *, ? and [ in a path as a pattern; such a file gets a plain name for the time of the audit."""
    absolute = path.resolve()  # DuckDB would read a leading ~ as a home folder
    if not any(mark in str(absolute) for mark in "*?["):
        return absolute
    link = scratch / "release"
    link.symlink_to(absolute)
    return link


def _register_table(connection: Any, table: pa.Table, places: Sequence[str]) -> None:
    connection.register("file", pa.table([tables.without_durations(column) for column in table.columns], names=places))


def _register_file(connection: Any, path: Path, file_format: FileFormat, places: Sequence[str]) -> None:
    rows = file_format.duckdb_rows(path, places)
    if isinstance(rows, pa.Table):
        connection.register("file", rows)
        return
    if not isinstance(rows, str):
        connection.register("incoming", rows)
        rows = "incoming"
    create = "CREATE TEMP TABLE" if file_format.is_copied_for_audit else "CREATE VIEW"
    connection.execute(f"{create} file AS SELECT * FROM {rows} AS stored({', '.join(places)})")


def _register_originals(connection: Any, originals: Mapping[str, pa.ChunkedArray] | Path) -> None:
    if isinstance(originals, Path):
        connection.execute(
            f"CREATE VIEW source AS SELECT * FROM read_parquet({sql_text(str(originals))}, hive_partitioning=false)"
        )
    else:
        connection.register("source", pa.table({original_name(alias): column for alias, column in originals.items()}))
    connection.execute("CREATE VIEW matched AS SELECT release.*, source.* FROM release POSITIONAL JOIN source")


def _register_tree(connection: Any, alias: str, tree: Tree) -> None:
    value, node, weight = zip(*tree_rows(tree), strict=True)
    connection.register(f"{alias}_tree", pa.table({"value": value, "node": node, "weight": weight}))
