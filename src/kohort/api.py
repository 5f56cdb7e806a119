"""The public functions. Each names every setting; the work is done in the packages that it calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.auditor import Evidence
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema.setting_texts import SETTINGS
from kohort.tables import frames, tables
from kohort.tables.locations import location_of

if TYPE_CHECKING:
    from kohort.comparison.comparison import Comparison
    from kohort.encoding.points import Objective
    from kohort.inspection.inspection import Inspection
    from kohort.job.job import EngineName, PresetName, RowOrder, Suppressed
    from kohort.release import Release
    from kohort.schema.columns import Ranges, Statistic
    from kohort.schema.promises import BetaKind, Distance
    from kohort.schema.type_detection import ValueType
    from kohort.schema.workload import Workload

    JobSource = Job | Mapping[str, Any] | str | os.PathLike[str]
    Names = str | Sequence[str]
    TreeSource = str | os.PathLike[str] | Sequence[Sequence[str]] | Mapping[str, Any]


def anonymize(
    source: Any,
    job: JobSource | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    spark: Any = None,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    identifier: Names | None = None,
    unit: str | None = None,
    other: Names | None = None,
    drop: Names | None = None,
    allow: Names | None = None,
    preset: PresetName | None = None,
    k: int | None = None,
    l: int | Mapping[str, int] | None = None,  # noqa: E741 - its name in every paper
    alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
    entropy_l: float | Mapping[str, float] | None = None,
    recursive_l: str | Sequence[float] | Mapping[str, Any] | None = None,
    t: float | Mapping[str, float] | None = None,
    t_distance: Distance | Mapping[str, Distance] | None = None,
    beta: float | Mapping[str, float] | None = None,
    beta_kind: BetaKind | Mapping[str, BetaKind] | None = None,
    delta: float | Mapping[str, float] | None = None,
    suppress: float | None = None,
    suppressed: Suppressed | None = None,
    method: str | None = None,
    effort: int | None = None,
    objective: Objective | None = None,
    label: str | None = None,
    weight: Mapping[str, float] | None = None,
    workload: Workload | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    option: Mapping[str, bool | int | float | str] | None = None,
    block: int | None = None,
    seed: int | None = None,
    row_order: RowOrder | None = None,
    hierarchies: str | os.PathLike[str] | None = None,
    hierarchy: Mapping[str, TreeSource] | None = None,
    type: Mapping[str, ValueType] | None = None,
    format: Mapping[str, str] | None = None,
    missing: Names | None = None,
    encoding: str | None = None,
    statistic: Mapping[str, Statistic] | None = None,
    ranges: Ranges | None = None,
    step: Mapping[str, float] | None = None,
    keep_order: bool | None = None,
    engine: EngineName | None = None,
    memory: str | int | None = None,
    master: str | None = None,
    threads: int | None = None,
) -> Release:
    """Anonymize a table so that every row is identical to at least k-1 others, and audit the result.

    A setting that is not given has the value of the job; where the job does not give it either, it has its default.

    Parameters
    ----------
    source : path or data frame
        The table: a file, a pandas, polars, pyarrow or Spark data frame, or a DuckDB relation. Spark data frames run on Spark.
    job : Job, dict or path, optional
        Settings to start from: a job, its settings as a dict, or a TOML or JSON file.
    output : path, optional
        File to write. kohort audits the written file and gives it this name only if the audit passes. Without it nothing is
        written, and the table is in `Release.table`.
    force : bool, default False
        Replace `output` if it exists.
    progress : Progress, optional
        Follows the run, and can cancel it.
    spark : SparkSession, optional
        Session in which the Spark engine runs.
    quasi : str or list of str, required here or in the job
        Columns that other people may know (quasi-identifiers): age, sex, zip code. kohort generalises them.
    sensitive : str or list of str
        Columns that nobody should learn about a person, such as a diagnosis. Published unchanged: protect them with
        --l.
    identifier : str or list of str
        Columns that identify a person: name, address, insurance number. Never published.
    unit : str
        The patient number, if people have several rows: another for each person. kohort then counts people. Never published.
    other : str or list of str
        Columns to publish unchanged that are neither known to others nor sensitive.
    drop : str or list of str
        Columns that the recipient does not need. Not published.
    allow : str or list of str
        Publish this `other` column although it looks like free text, or nearly every row has a different value.
    preset : str
        Sets k for a recipient; refuses less. internal: 3, trusted: 5, public: 11, high-risk: 20 (last two: also round
        ranges).
    k : int, default 5
        Every row has the same quasi-identifiers as at least k-1 others. So a group has k rows or more (with --unit: k
        people).
    l : int or dict of column to int
        Every group has at least this many different values in each sensitive column. A missing value counts as one.
    alpha : float, {'default': 0.5, 'HIV': 0.2} or dict of column to these
        Largest share of a group (0.5: half) that may have the same sensitive value. HIV=0.2: a limit for the value HIV only.
    entropy_l : float or dict of column to float
        Like l, but by entropy: every group is at least as mixed as this many equally frequent values.
    recursive_l : (int, float) or dict of column to (int, float)
        In every group: rows of the most frequent value < C x (rows of the L-th most frequent value and of all rarer ones).
    t : float or dict of column to float
        Largest distance (more than 0, less than 1) between the distribution of values in a group and in the whole
        release.
    t_distance : {'equal', 'ordered', 'tree'} or dict of column to str, default equal
        Distance between two values for t: all the same, by their order, or by their tree.
    beta : float or dict of column to float
        In no group may a value be more than (1 + beta) times as frequent as in the whole release.
    beta_kind : {'enhanced', 'basic'} or dict of column to str, default enhanced
        With enhanced, frequent values have a stricter limit.
    delta : float or dict of column to float
        Every value occurs in every group, between 1/2^delta and 2^delta times as often as in the release (1: half to twice).
    suppress : float, default 0
        Largest share of the rows (0.02: 2 %) that may be suppressed, to lose less detail or to keep a promise.
    suppressed : {'leave', 'star'}, default leave
        With leave, suppressed rows are removed. With star, they stay as one group of `*`, if that group keeps the promises.
    method : str, default auto
        How to form groups. `kohort methods` lists all.
    effort : int
        Rounds in which kohort improves the groups. More rounds: less detail lost, slower. Default: 1 for auto, merge
        and top-down, else 0.
    objective : {'leaf', 'height', 'square-error', 'class'}, default leaf
        Which kind of loss to keep small (see the glossary). class: keep rows with the same --label together, to train a
        model.
    label : str
        With objective class: the column whose equal values should stay together.
    weight : dict of column to float, default 1
        Importance of a column: detail lost in it counts this many times. For more columns, repeat the flag.
    workload : path, dict or Workload
        Queries (TOML) to optimise the release for; see docs/how-to/workloads.md.
    option : dict of option to value
        Option of the method. `kohort methods NAME` lists them. For several, repeat the flag.
    block : int, default 20000
        Rows in a block. Most methods divide a table of more than two blocks and form groups inside each. 0: do not divide.
    seed : int
        Start of the random choices. The same table, job and seed give the same rows. Default: random, saved with the
        job.
    row_order : {'canonical', 'given'}, default canonical
        Order in which the method reads rows: sorted (canonical) or as in the file (given).
    hierarchies : path
        Folder with tree files. The file zip.csv is the tree of the column zip.
    hierarchy : dict of column to path, rule or list of rows
        Tree of a column: a file (lines value;level1;...;*) or a rule: prefix:3,2, interval:5,10, date, order, rare,
        flat.
    type : dict of column to str, default detected
        Type: integer, decimal, boolean (yes/no), date, timestamp (date and time) or text. For more columns, repeat the flag.
    format : dict of column to str, default detected
        How dates are written: DD (day), MM (month as 03) or MON (Mar), YYYY (year). For more columns, repeat the flag.
    missing : str or list of str
        Text that means a missing value, in addition to the empty cell. For several, repeat the flag.
    encoding : str
        Encoding of a text file. Default: UTF-8; UTF-16 is detected.
    statistic : dict of column to {'range', 'mean', 'both'}, default range
        For a number: publish its range, its mean in the group (as COL.mean), or both. For several, repeat the flag.
    ranges : {'tight', 'grid'}, default tight
        Ranges begin and end at values of people in the group (tight), or at multiples of a step (grid).
    step : dict of column to float
        With ranges grid: the step of a column of numbers. For several, repeat the flag. Default: 5 for integers, 1 for decimals.
    keep_order : bool, default False
        Keep the order of the rows, which may reveal who is who. Without it kohort shuffles them.
    engine : {'auto', 'memory', 'disk', 'spark'}, default auto
        Where to process rows. With auto: in memory if the table fits, else on disk.
    memory : str or int, default 2GiB
        Memory limit, at least 512MiB. Tables that need more are processed on disk within this limit.
    master : str
        For Spark: the master to start a session on, such as local[4] or spark://host:7077. Default: as Spark is set
        up.
    threads : int, default all cores
        Threads to use.

    Returns
    -------
    Release
        The anonymized table or file, the evidence of the audit, and the detail lost. `Release.job.save` saves the settings.

    Raises
    ------
    RequestError
        The request is wrong: settings, a file or a column. The message lists every mistake.
    PromiseError
        The table cannot keep the promise. Nothing is published.
    AuditError
        The audit of the result failed. Nothing is published.
    MachineError
        Disk or memory is full, or a component is missing.
    CancelledError
        `progress` was cancelled. Nothing is published.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=500)
    >>> patients = sample.table.select(["age", "sex", "diagnosis"])
    >>> release = kh.anonymize(patients, quasi=["age", "sex"], sensitive="diagnosis", k=10)
    >>> release.evidence.passed, release.evidence.k >= 10, release.table.column_names
    (True, True, ['age', 'sex', 'diagnosis'])

    """
    settings = _given(locals())
    from kohort.engines.choose import engine_for
    from kohort.release import Release

    read_from = [source, job]
    complete = Job.build(job, **settings).with_seed()
    target = location_of(output) if output is not None else None
    progress = progress or Progress(complete.threads)
    opened = tables.open_source(source, complete.encoding, complete.columns)
    chosen = engine_for(complete, opened, progress, spark)
    if target is not None:
        chosen.require_target(target, force, [*read_from, *complete.files()])
    encoded = chosen.encode(opened)
    partitioned = chosen.partition(encoded)
    publication = chosen.publish(partitioned)
    if target is not None:
        evidence, table = publication.release_file(target, force), None
    else:
        table, evidence = publication.release_table()
    return Release(complete, evidence, target, publication, chosen.name, progress, table)


def compare(
    source: Any,
    job: JobSource | None = None,
    *,
    k: int | Sequence[int],
    methods: str | Sequence[str] = "all",
    models: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    identifier: Names | None = None,
    unit: str | None = None,
    other: Names | None = None,
    drop: Names | None = None,
    allow: Names | None = None,
    preset: PresetName | None = None,
    l: int | Mapping[str, int] | None = None,  # noqa: E741 - its name in every paper
    alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
    entropy_l: float | Mapping[str, float] | None = None,
    recursive_l: str | Sequence[float] | Mapping[str, Any] | None = None,
    t: float | Mapping[str, float] | None = None,
    t_distance: Distance | Mapping[str, Distance] | None = None,
    beta: float | Mapping[str, float] | None = None,
    beta_kind: BetaKind | Mapping[str, BetaKind] | None = None,
    delta: float | Mapping[str, float] | None = None,
    suppress: float | None = None,
    suppressed: Suppressed | None = None,
    effort: int | None = None,
    objective: Objective | None = None,
    label: str | None = None,
    weight: Mapping[str, float] | None = None,
    workload: Workload | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    option: Mapping[str, bool | int | float | str] | None = None,
    block: int | None = None,
    seed: int | None = None,
    row_order: RowOrder | None = None,
    hierarchies: str | os.PathLike[str] | None = None,
    hierarchy: Mapping[str, TreeSource] | None = None,
    type: Mapping[str, ValueType] | None = None,
    format: Mapping[str, str] | None = None,
    missing: Names | None = None,
    encoding: str | None = None,
    statistic: Mapping[str, Statistic] | None = None,
    ranges: Ranges | None = None,
    step: Mapping[str, float] | None = None,
    threads: int | None = None,
) -> Comparison:
    """Run several methods on one table and compare detail lost, time, group sizes and query errors.

    Parameters
    ----------
    source : path or data frame
        The table.
    job : Job, dict or path, optional
        Settings to start from.
    k : int or list of int
        Every k to try.
    methods : str or list of str, default 'all'
        Methods to run. A method may have its own settings: `["gccg", "gccg:parts=4", "mondrian:effort=1"]`.
    models : str, optional
        Column that models learn to predict from each release. Needs the extra `ml`.
    folder : path, optional
        Folder for a page, a CSV file and a JSON file. A comparison that was stopped continues from its folder.
    force : bool, default False
        Start again even if the folder holds another comparison.
    progress : Progress, optional
        Follows the run, and can cancel it.
    quasi, sensitive, ... : optional
        The other settings of a job. `help(kohort.anonymize)` explains each.

    Returns
    -------
    Comparison
        A figure for each method and k, and which method to take.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=300)
    >>> found = kh.compare(sample.table, sample.job, k=5, methods=["mondrian", "k-member"])
    >>> found.advice.method
    'k-member'

    """
    settings = _given(locals(), without=("k",))
    from kohort.comparison.comparison import compare_methods
    from kohort.comparison.variants import k_values, variants_named

    complete = Job.build(job, **settings)
    if complete.seed is None:
        complete = complete.model_copy(update={"seed": 0})  # a comparison that continues must use the same random numbers
    place = Path(folder) if folder is not None else None
    found = compare_methods(
        source, complete, k_values(k), variants_named(methods), target=models, folder=place, force=force,
        progress=progress or Progress(complete.threads),
    )  # fmt: skip
    if place is not None:
        found.write(place)
    return found


def inspect(
    source: Any,
    *,
    missing: Names = (),
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Examine a table: types, how many rows are unique, and a suggested role for each column, with the reason.

    Parameters
    ----------
    source : path or data frame
        The table.
    missing : str or list of str, optional
        Texts that mean a missing value, in addition to the empty cell.
    encoding : str, optional
        Encoding of a text file. Default: UTF-8; UTF-16 is detected.
    progress : Progress, optional
        Follows the run, and can cancel it.

    Returns
    -------
    Inspection
        What was found. `Inspection.write` saves it as a job to start from.

    Examples
    --------
    >>> import kohort as kh
    >>> found = kh.inspect(kh.datasets.hospital(rows=500).table)
    >>> found.risk.quasi
    ('birth_date', 'age', 'sex', 'zip', 'occupation')

    """
    from kohort.inspection.inspection import inspect_table, require_header
    from kohort.schema.columns import require_names

    progress = progress or Progress()
    with progress.step("read"):
        opened = tables.open_source(source, encoding, frames.index_names(source))
        table = opened.read()
        if opened.holds_text:
            require_names(table.column_names)
    tokens = (missing,) if isinstance(missing, str) else tuple(missing)
    where = os.fspath(source) if opened.is_named else None
    found = inspect_table(table, missing=tokens, encoding=encoding, source=where, progress=progress)
    if opened.holds_text:
        require_header(found)
    return found


def audit(
    source: Any,
    job: JobSource | None = None,
    *,
    encoding: str | None = None,
    graph: str | os.PathLike[str] | None = None,
    curves: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    identifier: Names | None = None,
    unit: str | None = None,
    other: Names | None = None,
    drop: Names | None = None,
    preset: PresetName | None = None,
    k: int | None = None,
    l: int | Mapping[str, int] | None = None,  # noqa: E741 - its name in every paper
    alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
    entropy_l: float | Mapping[str, float] | None = None,
    recursive_l: str | Sequence[float] | Mapping[str, Any] | None = None,
    t: float | Mapping[str, float] | None = None,
    t_distance: Distance | Mapping[str, Distance] | None = None,
    beta: float | Mapping[str, float] | None = None,
    beta_kind: BetaKind | Mapping[str, BetaKind] | None = None,
    delta: float | Mapping[str, float] | None = None,
    hierarchies: str | os.PathLike[str] | None = None,
    hierarchy: Mapping[str, TreeSource] | None = None,
    type: Mapping[str, ValueType] | None = None,
    format: Mapping[str, str] | None = None,
    missing: Names | None = None,
    statistic: Mapping[str, Statistic] | None = None,
    ranges: Ranges | None = None,
    step: Mapping[str, float] | None = None,
    threads: int | None = None,
) -> Evidence:
    """Check whether a table is k-anonymous and keeps its other promises, whoever made it.

    The table is read as it is and counted by SQL that shares no code with the methods.

    Parameters
    ----------
    source : path or data frame
        The table to check.
    job : Job, dict or path, optional
        Settings to start from, for example the job that made the release.
    encoding : str, optional
        Encoding of the audited file. Default: UTF-8. The encoding of the job is that of the original, so it is not used.
    graph : path, optional
        Draw which groups have which sensitive values, as .svg or .graphml.
    curves : path, optional
        Draw how many groups are expected to have one sensitive value only, as .svg.
    force : bool, default False
        Replace the files of `graph` and `curves` if they exist.
    progress : Progress, optional
        Follows the run, and can cancel it.
    quasi, sensitive, k, ... : optional
        Roles, promises, trees and types. `help(kohort.anonymize)` explains each.

    Returns
    -------
    Evidence
        Whether every check passed, each check with its figures, and what groups reveal of sensitive columns.

    Examples
    --------
    >>> import kohort as kh
    >>> table = kh.datasets.hospital(rows=500).table
    >>> found = kh.audit(table, quasi=["age", "sex"], k=5)
    >>> found.passed, found.k
    (False, 1)

    """
    settings = _given(locals(), without=("encoding",))
    from kohort.report.audit_figures import Pictures
    from kohort.verification.any_file import audit_file

    read_from = [source, job]
    complete = Job.build(job, **settings)
    pictures = Pictures(Path(graph) if graph is not None else None, Path(curves) if curves is not None else None, force)
    pictures.require([*read_from, *complete.files()], complete.names("sensitive"))
    progress = progress or Progress(complete.threads)
    with progress.step("audit"):
        return audit_file(source, complete, encoding, progress.threads, pictures.write)


def _given(arguments: Mapping[str, Any], without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the settings that a caller gave. `arguments` are the `locals()` of a public function before its first assignment."""
    return {name: arguments[name] for name in SETTINGS if name not in without and arguments.get(name) is not None}
