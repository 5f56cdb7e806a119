"""Measure the utility of releases: a workload on Adult, models of income, a thousand queries on a million rows.

`python -m benchmarks.utility` prints it as the tables of docs/concepts/utility.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa

from kohort import datasets
from kohort.engines.memory import MemoryEngine, MemoryPublication
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema.workload import Workload
from kohort.utility.models.accuracy import mine
from kohort.utility.queries.answers import Questions
from kohort.utility.queries.random_workload import random_workload
from kohort.utility.structure import Structure, structure

WORKLOAD = "benchmarks/adult_workload.toml"
KS = (2, 5, 10, 25, 50, 100)


def main() -> None:
    workload()
    million()
    distributions()
    models()


def published(table: pa.Table, job: Job, threads: int = 1) -> MemoryPublication:
    engine = MemoryEngine(job, Progress(threads))
    return engine.publish(engine.partition(engine.encode(table)))


def workload() -> None:
    """Print error and loss with and without the workload, also relative to Mondrian without it."""
    sample = datasets.adult()
    print("\n| Adult A | k | loss | error of the workload | error of 100 random queries |\n|---|---|---|---|---|")
    for k in (10, 25, 50):
        base = None
        for method in ("mondrian", "auto"):
            for known in (False, True):
                publication = published(
                    sample.table, Job.build(sample.job, k=k, method=method, seed=7, workload=WORKLOAD if known else None)
                )
                schema = publication.aligned().schema
                given = Questions(Workload.load(WORKLOAD), sample.table, schema)
                others = Questions(random_workload(sample.table, schema, queries=100, seed=11), sample.table, schema)
                figures = publication.result.loss.leaf, publication.ask(given).error, publication.ask(others).error
                base = base or figures
                notes = " | ".join(f"{figure:.4f} ({figure / first:.2f})" for figure, first in zip(figures, base, strict=True))
                print(f"| `{method}`{' --workload' if known else ''} | {k} | {notes} |", flush=True)


def million(rows: int = 1_000_000, queries: int = 1_000) -> None:
    """Print the CPU seconds to answer queries on a release, and on the original table."""
    table = datasets.census(rows)
    quasi = [f"q{number}" for number in range(1, 10)]
    publication = published(table, Job.build(quasi=quasi, sensitive="s1", k=10, method="mondrian", seed=7), threads=2)
    aligned = publication.aligned()
    drawn = random_workload(table, aligned.schema, queries=queries, columns=[*quasi, "s1"], seed=3)
    started = time.process_time()
    questions = Questions(drawn, table, aligned.schema)
    truth = questions.truth
    original_done = time.process_time()
    questions.ask(aligned.release)
    done = time.process_time()
    print(
        f"\n{len(truth):,} queries, {rows:,} rows: {done - original_done:.1f} CPU s on the release, "
        f"{original_done - started:.1f} CPU s on the original table",
        flush=True,
    )


def distributions(k: int = 10) -> None:
    """Print the distances between the distributions of the release and of the source."""
    sample = datasets.adult()
    made = {
        method: structure(published(sample.table, Job.build(sample.job, k=k, method=method, seed=7)).aligned(), propensity=True)
        for method in ("mondrian", "auto")
    }
    rows: dict[str, Callable[[Structure], str]] = {
        "total variation": lambda found: f"{found.total.total_variation:.3f}",
        "earth mover": lambda found: f"{found.total.earth_mover:.3f}",
        "Kullback-Leibler, bits": lambda found: f"{found.total.kullback_leibler:.3f}",
        "entropy lost": lambda found: f"{found.total.entropy_share:.0%}",
        "pairs, total variation, mean and largest": lambda found: (
            f"{found.pairs.mean:.3f}, {found.pairs.largest:.3f}" if found.pairs else ""
        ),
        "pMSE": lambda found: f"{found.propensity.pmse:.3f}" if found.propensity else "",
    }
    print("\n| | " + " | ".join(f"`{method}`" for method in made) + " |\n|---|---|---|")
    for title, value in rows.items():
        print(f"| {title} | " + " | ".join(value(found) for found in made.values()) + " |", flush=True)


def models() -> None:
    """Print accuracy, F1 and AUC of models for income: mean and 95 % interval over five folds."""
    quasi = [name for name in datasets.ADULT_A if name != "class"]
    sample = datasets.adult(quasi)
    job = Job.build({**sample.job.to_dict()}, other=["class"])
    print("\n| trained on | k | model | accuracy | F1 | AUC |\n|---|---|---|---|---|---|")
    for method in ("mondrian", "auto"):
        for k in KS:
            publication = published(sample.table, Job.build(job, k=k, method=method, seed=7))
            found = mine(publication.aligned(), "class", models=("forest", "logistic", "neighbours") if k == 10 else ("forest",))
            for model, by_data in found.models.items():
                for data, scores in by_data.items():
                    if data == "release" or (k == 10 and method == "auto"):
                        notes = " | ".join(f"{100 * s.mean:.1f} ({100 * s.low:.1f}-{100 * s.high:.1f})" for s in scores.values())
                        what = f"`{method}`" if data == "release" else "original"
                        print(f"| {what} | {k if data == 'release' else ''} | {model} | {notes} |", flush=True)


if __name__ == "__main__":
    main()
