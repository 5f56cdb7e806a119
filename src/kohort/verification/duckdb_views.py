"""A DuckDB connection with the view `release` and, if the source is known, the view `matched`."""

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
    """Return the name of the source column that belongs to a published column."""
    return f"{alias}_original"


def columns_of(release: pa.Table | Path, file_format: FileFormat | None) -> list[str]:
    """Return the names of the columns in a release, read from the release itself."""
    if isinstance(release, pa.Table):
        return list(release.column_names)
    return tables.column_names(release, known(file_format))


def known(file_format: FileFormat | None) -> FileFormat:
    """Return the format of a file. It must be given."""
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
    """Open a release and yield a function that runs SQL on it.

    Parameters
    ----------
    release, file_format
        A table, or the path and format of a file.
    view_columns
        Columns of the release by role.
    threads
        Number of threads.
    originals
        Source columns by alias, with rows in the order of the release, or a Parquet file of them. `u1` is the person of each row.
    value_distances
        How to measure distances between values of sensitive columns, by column name.
    memory
        Memory limit in bytes.

    """
    is_open = False
    with staging.scratch_folder() as scratch:
        settings: dict[str, Any] = {"threads": threads, "temp_directory": str(scratch), "autoinstall_known_extensions": False}
        if memory is not None:
            settings["memory_limit"] = f"{memory // 2**20}MiB"
        connection = duckdb.connect(config=settings)
        try:
            connection.execute("SET enable_progress_bar = false")  # otherwise DuckDB prints its own progress bar in notebooks
            names = columns_of(release, file_format)
            safe_names = [f"c{number}" for number in range(len(names))]  # names in DuckDB are not case-sensitive
            if isinstance(release, pa.Table):
                _register_table(connection, release, safe_names)
            else:
                _register_file(connection, _plain_path(release, scratch), known(file_format), safe_names)
            column_at = dict(zip(names, safe_names, strict=True))
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
        except (duckdb.InterruptException, RuntimeError) as error:  # DuckDB raises these for Ctrl-C during a query
            if "interrupt" not in str(error).lower():
                raise
            raise KeyboardInterrupt from None
        except duckdb.OutOfMemoryException:
            raise MachineError(
                "The audit ran out of memory. Set a larger memory limit (--memory) or fewer threads (--threads)."
            ) from None
        except (duckdb.Error, pa.ArrowException, RequestError) as error:  # not passed on, because DuckDB's messages quote cells
            if isinstance(error, RequestError) and is_open:
                raise  # an error of the auditor about the request
            if originals is not None:
                raise MachineError(
                    "kohort could not read back the file it wrote, so nothing was published. Check the disk and run again."
                ) from None
            if isinstance(error, RequestError):
                raise
            if isinstance(release, Path):
                raise tables.unreadable(release, known(file_format)) from None
            raise RequestError(
                f"kohort could not read the table ({type(error).__name__}). Save it as a Parquet or CSV file and audit the file."
            ) from None
        finally:
            connection.close()


def _as_text(alias: str, column: str) -> str:
    """Return SQL for a column. Quasi-identifiers are compared as published text, whatever type the file gives them."""
    return f"CAST({column} AS VARCHAR)" if alias.startswith("q") else column


def _plain_path(path: Path, scratch: Path) -> Path:
    """Return a path without *, ? and [, which DuckDB would read as a pattern. Such a file gets a link with a plain name."""
    absolute = path.resolve()  # DuckDB would read ~ at the start as the home folder
    if not any(mark in str(absolute) for mark in "*?["):
        return absolute
    link = scratch / "release"
    link.symlink_to(absolute)
    return link


def _register_table(connection: Any, table: pa.Table, safe_names: Sequence[str]) -> None:
    connection.register("file", pa.table([tables.without_durations(column) for column in table.columns], names=safe_names))


def _register_file(connection: Any, path: Path, file_format: FileFormat, safe_names: Sequence[str]) -> None:
    rows = file_format.duckdb_rows(path, safe_names)
    if isinstance(rows, pa.Table):
        connection.register("file", rows)
        return
    if not isinstance(rows, str):
        connection.register("incoming", rows)
        rows = "incoming"
    create = "CREATE TEMP TABLE" if file_format.is_copied_for_audit else "CREATE VIEW"
    connection.execute(f"{create} file AS SELECT * FROM {rows} AS stored({', '.join(safe_names)})")


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
