"""Models that are trained on a release and tested on untouched rows of its source: what a reader can still learn.

Rows are dealt into folds. Models learn from the released rows of all folds but one and are asked about the original rows of that
one, so nobody is asked about who was learned from. Beside them stand the same models trained on the original rows, and no model
at all: the majority, or the mean. Suppressed rows are in neither part. Folds share most of what is learned from, so that the
intervals are what is customary, not a proof.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.errors import MachineError, RequestError, listed, nearest
from kohort.schema.columns import Schema
from kohort.utility.aligned import AlignedTables
from kohort.utility.models.estimators import measured, predict, usual
from kohort.utility.models.model_features import Rows, Target, matrices, predictors, target_of

MODELS = ("forest", "logistic", "neighbours")
MOST_ROWS = 50_000
MOST_COMPARED = 20_000  # rows among which neighbours are looked for: each that is tested is compared with all of them
MOST_CLASSES = 50
FOLDS, CLUSTERS = 5, 10

TITLES = {
    "forest": "A forest",
    "logistic": "Logistic regression",
    "ridge": "Ridge regression",
    "neighbours": "The vote of nearest neighbours",
}


@dataclass(frozen=True)
class Score:
    """The mean over the folds and its 95 % interval (Student's t)."""

    mean: float
    low: float
    high: float


Scores = Mapping[str, Score]
"""By measure: accuracy, f1 and auc of classes, r2 and mae of numbers."""


@dataclass(frozen=True)
class Mined:
    """How well models predict a column of original rows."""

    target: str
    task: str
    """classification or regression"""
    predictors: tuple[str, ...]
    rows: int
    """Each was tested once."""
    rows_told: int
    """Of these, the release tells the target of so many: they could be trained on."""
    folds: int
    models: Mapping[str, Mapping[str, Scores]]
    """By model and by what it was trained on: release, original."""
    majority: Scores
    """Without a model: always the most frequent class, or the mean."""

    def to_dict(self) -> dict[str, Any]:
        """Plain, for JSON."""
        return {**asdict(self), "predictors": list(self.predictors)}

    def in_words(self) -> str:
        """One sentence, about the first model."""
        name, measure, facts, form = next(iter(self.models)), "accuracy", "an accuracy", ".1%"
        if self.task == "regression":
            measure, facts, form = "r2", "an R2", ".2f"
        released, original = (self.models[name][data][measure] for data in ("release", "original"))
        interval = f"{released.low:{form}} to {released.high:{form}}"
        return (
            f"{TITLES[name]} trained on the release predicts {self.target!r} of original rows with {facts} of "
            f"{released.mean:{form}} ({interval}); trained on the original {original.mean:{form}}, "
            f"without a model {self.majority[measure].mean:{form}}."
        )


def mine(
    aligned: AlignedTables,
    target: str,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    models: Sequence[str] = MODELS,
    most_rows: int = MOST_ROWS,
) -> Mined:
    """Train and test models of one column; of too many rows, some are drawn.

    They learn from the quasi-identifiers and the columns with the role other. If the target is a quasi-identifier, they learn
    only from rows that publish a single value of it.
    """
    names = _required(aligned, target)
    _require_settings(folds, models)
    require_models()
    requested = target_of(aligned, target)
    rows = _drawn(np.flatnonzero(requested.original >= 0), most_rows, seed)
    requested = requested.take(rows)
    _require_target(requested, folds)
    before, after = matrices(aligned, names, rows)
    called = {name: "ridge" if name == "logistic" and requested.numbers is not None else name for name in models}
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    with _one_thread():
        for trained, tested in _folds(requested.original, folds):
            said = usual(requested, requested.original[trained], len(tested))
            found.setdefault(("majority", ""), []).append(measured(requested, tested, said))
            for name, title in called.items():
                for data, matrix, known in (("release", after, requested.released), ("original", before, requested.original)):
                    learned = trained[known[trained] >= 0][: MOST_COMPARED if name == "neighbours" else None]
                    predicted = predict(name, seed, requested, matrix[learned], known[learned], before[tested])
                    found.setdefault((title, data), []).append(measured(requested, tested, predicted))
    scores = {key: _over_folds(parts) for key, parts in found.items()}
    return Mined(
        target=target,
        task="classification" if requested.numbers is None else "regression",
        predictors=tuple(names),
        rows=len(rows),
        rows_told=int(np.count_nonzero(requested.released >= 0)),
        folds=folds,
        models={title: {data: scores[title, data] for data in ("release", "original")} for title in called.values()},
        majority=scores["majority", ""],
    )


def clusterings_agree(aligned: AlignedTables, *, clusters: int = CLUSTERS, seed: int = 0) -> float:
    """Whether k-means finds the same clusters in a release as in its source, by the features that models learn from.

    The adjusted Rand index: 1 for the same, 0 for chance. k-means is not of one mind about most tables: two seeds agree on the
    original of Adult to 0.6 or 0.8 only. A release can hardly do better.
    """
    names, many = _required(aligned), aligned.source.num_rows
    if not 2 <= clusters <= many:
        raise RequestError(f"{many} rows cannot make {clusters} clusters. Ask for at least 2, at most one per row.")
    require_models()
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    both = matrices(aligned, names, _drawn(np.arange(many), MOST_ROWS, seed))
    with _one_thread():
        before, after = (KMeans(clusters, n_init=10, random_state=seed).fit_predict(matrix) for matrix in both)
    return float(adjusted_rand_score(before, after))


# --- what can be asked


def _required(aligned: AlignedTables, target: str | None = None) -> list[str]:
    """The columns to learn from, if all is there."""
    source, release, schema = aligned.source, aligned.release, aligned.schema
    known, problems = schema.named("quasi", "sensitive", "other"), list[str]()
    if target is not None and target not in known:
        problems.append(f"There is no published column {target!r}.{nearest(target, known)}")
    if source.num_rows != release.num_rows:
        facts = f"The source has {source.num_rows} rows, the release {release.num_rows}."
        problems.append(f"{facts} Models need the same rows of both, in one order.")
    absent = [name for name, _source, _statistic in schema.published() if name not in release.column_names]
    if absent:
        problems.append(f"The release has no column {listed(absent)}, which the job publishes. Give the release of this job.")
    if problems:
        raise RequestError(problems)
    return _learned_from(aligned, target)


def _learned_from(aligned: AlignedTables, target: str | None) -> list[str]:
    names = predictors(aligned, target)
    if not names:
        raise RequestError(
            "No column is left to learn from. Models learn from quasi-identifiers and columns with the role other."
        )
    return names


def _require_settings(folds: int, models: Sequence[str]) -> None:
    problems = [f"There is no model {name!r}.{nearest(name, MODELS)}" for name in models if name not in MODELS]
    if not models:
        problems.append(f"No model is asked for. Known: {', '.join(MODELS)}.")
    if folds < 2:
        problems.append("folds must be at least 2: one is tested, the others are trained on.")
    if problems:
        raise RequestError(problems)


def require_models() -> None:
    """Refuse if what models are made by is not installed."""
    if find_spec("sklearn") is None:
        raise MachineError("Models need scikit-learn, which is not installed: pip install 'kohort[ml]'.")


def require_target(table: pa.Table, schema: Schema, target: str) -> None:
    """Refuse a column that models could predict from no release of this table; it must be published as it is."""
    carried = schema.named("sensitive", "other")
    if target not in carried:
        hint = nearest(target, carried)
        raise RequestError(f"Models are compared on a column that every method publishes as it is; {target!r} is none.{hint}")
    as_it_is = AlignedTables(table, table, schema)
    requested = target_of(as_it_is, target)
    _require_target(requested.take(np.flatnonzero(requested.original >= 0)), FOLDS)
    _learned_from(as_it_is, target)


def _require_target(requested: Target, folds: int) -> None:
    """Every fold must hold two classes, or two numbers, and every other part something to learn from."""
    name, rows = requested.name, len(requested.original)
    often = np.count_nonzero(np.bincount(requested.original, minlength=1) >= folds)
    if requested.numbers is None and often < 2:
        raise RequestError(
            f"Column {name!r} has {requested.classes} value(s), and {often} in at least {folds} rows, one for each fold: models "
            "need two of them to tell apart. Choose another column."
        )
    if requested.numbers is None and requested.classes > MOST_CLASSES:
        raise RequestError(
            f"Column {name!r} has {requested.classes} classes; models are made for {MOST_CLASSES}. Choose a coarser one."
        )
    if rows < 2 * folds:
        raise RequestError(f"Column {name!r} has values in {rows} rows, too few for {folds} folds. Ask for fewer.")
    if any(not (requested.released[trained] >= 0).any() for trained, _tested in _folds(requested.original, folds)):
        facts = np.count_nonzero(requested.released >= 0)
        raise RequestError(
            f"The release tells a single value of {name!r} in {facts} of {rows} rows, too few to learn from. Choose another one."
        )


# --- folds


def _drawn(rows: Rows, most: int, seed: int) -> Rows:
    """In a random order even if all are taken: models break ties by it, and a file may be sorted by its target."""
    return np.random.default_rng(seed).permutation(rows)[:most]


def _folds(values: NDArray[np.int64], folds: int) -> Iterator[tuple[Rows, Rows]]:
    """(trained on, tested): rows are dealt out in the order of their values, so that folds are alike."""
    fold = np.empty(len(values), np.int64)
    fold[np.argsort(values, kind="stable")] = np.arange(len(values)) % folds
    for number in range(folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def _over_folds(parts: Sequence[Mapping[str, float]]) -> Scores:
    from scipy.stats import t

    facts = {}
    for measure in parts[0]:
        values = np.array([part[measure] for part in parts])
        mean, half = float(values.mean()), float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
        facts[measure] = Score(mean, mean - half, mean + half)
    return facts


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums and ties must not depend on how many cores there are; a model that has not quite settled is measured as it is."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
