"""Repeat the experiments of the papers on Adult with `kohort.compare`.

`python -m benchmarks.reproduction` prints the tables of docs/reproduction.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from benchmarks.methods import prepared
from kohort import compare, datasets
from kohort.comparison.comparison import Comparison
from kohort.comparison.variants import variants_named
from kohort.engines.memory import MemoryEngine, MemoryPartition
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.report.comparison_rows import Entry
from kohort.tables import tables

METHODS_OF_NI_XIE_QIAN = ("gccg", "gccg:parts=2", "gccg:parts=4", "kaca", "kaca:start=records", "incognito", "auto")
BY_MEANS = (
    "kmeans-adjusted",
    "kmeans-filled",
    "kmeans-then-adjusted",
    "oka",
)  # variants 1, 2 and 3 of the paper, and one-pass k-means
METHODS_OF_EL_RASHIDY = (*BY_MEANS, *(f"{name}:features=all" for name in BY_MEANS), "k-member", "auto")
QUASI_OF_EL_RASHIDY = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
OTHERS_OF_EL_RASHIDY = ("relationship", "capital-gain", "capital-loss", "hours-per-week", "class")
METHODS_OF_MURTHY_SRINIVAS = ("mondrian", "mondrian:relaxed=true", "mondrian-1d", "incognito", "auto")
WORKLOAD = "benchmarks/adult_workload.toml"
NI_XIE_QIAN, EL_RASHIDY, MURTHY_SRINIVAS = "Ni, Xie, Qian 2017", "El-Rashidy et al. 2011", "Murthy, Srinivas"

Measure = tuple[str, Callable[[Entry], str]]
LOSS: Measure = ("leaf loss", lambda entry: f"{entry.loss['leaf']:.4f}")
TIME: Measure = ("CPU seconds", lambda entry: f"{entry.seconds:.2f}")
SQUARE_ERROR: Measure = ("square error of quasi-identifiers", lambda entry: f"{entry.loss['square_error']:,.0f}")
TOTAL_IL: Measure = ("Total-IL", lambda entry: f"{entry.loss['total_il']:,.0f}")
DM_CLUSTERS: Measure = ("discernibility of clusters", lambda entry: f"{entry.loss['dm_clusters']:,.0f}")
DM: Measure = ("C_DM of published groups", lambda entry: f"{entry.loss['dm']:,.0f}")
CAVG: Measure = ("C_AVG of published groups", lambda entry: f"{entry.loss['cavg']:.2f}")
ERROR: Measure = ("error of queries, mean", lambda entry: f"{entry.query_error:.1%}")


def main() -> None:
    ni_xie_qian()
    el_rashidy()
    murthy_srinivas()


def ni_xie_qian() -> None:
    """Repeat figures 3 to 6 and table 10 of Ni, Xie, Qian 2017: k from 3 to 10 on the columns of the paper."""
    home = datasets.folder() / "adult"
    table = tables.read(home / "adult_gccg5_30725.csv.gz")[0]
    trees = {name: home / "hierarchies" / f"{name}.csv" for name in ("sex", "race", "education")}
    job = Job.build(quasi=["age", "sex", "race", "education"], sensitive="workclass", hierarchy=trees, seed=7)
    found = compare(table, job, k=range(3, 11), methods=METHODS_OF_NI_XIE_QIAN)
    size: Measure = ("mean size of clusters", lambda entry: f"{found.rows / entry.clusters:.2f}")
    for figure, measure in (
        (f"{NI_XIE_QIAN}, figures 3 and 6", LOSS),
        (f"{NI_XIE_QIAN}, figures 4 and 5", TIME),
        (f"{NI_XIE_QIAN}, table 10", size),
    ):
        print_table(figure, measure, found)


def el_rashidy(ks: Sequence[int] = (5, 10, 25, 50, 100)) -> None:
    """Repeat figures 5 to 8 of El-Rashidy et al. 2011: three variants of k-means, one-pass k-means and greedy k-member."""
    sample = datasets.adult(QUASI_OF_EL_RASHIDY, OTHERS_OF_EL_RASHIDY)
    job = Job.build({**sample.job.to_dict(), "columns": _without_trees(sample.job, OTHERS_OF_EL_RASHIDY)}, seed=7)
    found = compare(sample.table, job, k=ks, methods=METHODS_OF_EL_RASHIDY)
    for figure, measure in (
        (f"{EL_RASHIDY}, figures 5 and 6", SQUARE_ERROR),
        (f"{EL_RASHIDY}, figure 7", TOTAL_IL),
        (f"{EL_RASHIDY}, figure 8", DM_CLUSTERS),
    ):
        print_table(figure, measure, found)
    print_table(f"{EL_RASHIDY}, figure 8 for published groups", DM, found)
    print(f"\n**{EL_RASHIDY}, figures 5 and 6: square error of all columns**\n")
    print("| method | " + " | ".join(f"k={k}" for k in (10, 50)) + " |\n|---|---|---|")
    for variant in variants_named(METHODS_OF_EL_RASHIDY):
        errors = [square_error_of_all(sample.table, variant.job(job, k)) for k in (10, 50)]
        print(f"| `{variant.name}` | " + " | ".join(f"{error:,.0f}" for error in errors) + " |", flush=True)


def square_error_of_all(table: pa.Table, job: Job) -> float:
    """Return the square error of a method's clusters, as if every column were a quasi-identifier."""
    labels = prepared(table, job).made.labels()
    everything = Job.build(
        {**job.to_dict(), "columns": {name: _as_quasi(column) for name, column in job.to_dict()["columns"].items()}}
    )
    engine = MemoryEngine(everything, Progress(1))
    clusters = MemoryPartition(engine.encode(table), Partition(labels))  # use these clusters instead of a method
    return engine.publish(clusters).result.loss.square_error


def _as_quasi(column: dict[str, Any]) -> dict[str, Any]:
    return {**column, "role": "quasi"} if column["role"] == "sensitive" else column


def _without_trees(job: Job, names: Sequence[str]) -> dict[str, Any]:
    columns = job.to_dict()["columns"]
    return {name: {"role": column["role"]} if name in names else column for name, column in columns.items()}


def murthy_srinivas(ks: Sequence[int] = (5, 10, 25, 50)) -> None:
    """Repeat the comparison of Murthy, Srinivas: C_DM, C_AVG and a workload.

    The methods are multidimensional, relaxed, single-dimensional and full-domain recoding.
    """
    sample = datasets.adult()
    found = compare(sample.table, sample.job, k=ks, methods=METHODS_OF_MURTHY_SRINIVAS, seed=7)
    for measure in (DM, CAVG, ERROR):
        print_table(MURTHY_SRINIVAS, measure, found)
    known = compare(sample.table, sample.job, k=ks, methods=METHODS_OF_MURTHY_SRINIVAS, seed=7, workload=WORKLOAD)
    print_table(f"{MURTHY_SRINIVAS}, `mondrian` and `auto` optimised for the fifty queries", ERROR, known)


def print_table(figure: str, measure: Measure, found: Comparison) -> None:
    """Print a measure for each k, with one row per method."""
    title, value = measure
    ks = sorted({entry.k for entry in found.entries})
    print(f"\n**{figure}: {title}**\n\n| method | " + " | ".join(f"k={k}" for k in ks) + " |\n|" + "---|" * (len(ks) + 1))
    for method in dict.fromkeys(entry.method for entry in found.entries):
        here = {entry.k: entry for entry in found.entries if entry.method == method}
        print(f"| `{method}` | " + " | ".join("refused" if here[k].refused else value(here[k]) for k in ks) + " |", flush=True)


if __name__ == "__main__":
    main()
