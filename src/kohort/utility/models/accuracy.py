"""Train models on a release and test them on original rows of its source, to see what can still be learned from the release.

Rows are divided into folds. A model is trained on the published rows of all folds except one, and tested on the original rows of
that one. So no row is used for both. For comparison, the same models are trained on the original rows, and the majority or mean
is predicted without a model. Suppressed rows are used for neither. The training sets of the folds overlap, so the confidence
intervals are the usual approximation, not exact.
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
from kohort.utility.models.estimators import measured, predict, without_model
from kohort.utility.models.model_features import Rows, Target, matrices, predictors, target_of
from kohort.wording import counted

MODELS = ("forest", "logistic", "neighbours")
MOST_ROWS = 50_000
MOST_COMPARED = 20_000  # training rows for nearest neighbours, because each tested row is compared with all of them
MOST_CLASSES = 50
FOLDS, CLUSTERS = 5, 10

TITLES = {
    "forest": "A random forest",
    "logistic": "A logistic regression",
    "ridge": "A ridge regression",
    "neighbours": "A nearest-neighbour model",
}


@dataclass(frozen=True)
class Score:
    """Mean of a measure over the folds, with its 95 % confidence interval (Student's t).

    Parameters
    ----------
    mean
        Mean of all folds.
    low, high
        Ends of the confidence interval.

    """

    mean: float
    low: float
    high: float


Scores = Mapping[str, Score]
"""Scores by measure: accuracy, f1 and auc for categories, r2 and mae for numbers."""


@dataclass(frozen=True)
class Mined:
    """How well models that were trained on a release predict a column of original rows. `Release.mine` returns it.

    Parameters
    ----------
    target
        The predicted column.
    task
        ``"classification"`` or ``"regression"``.
    predictors
        The columns that the models learn from.
    rows
        Number of tested rows. Each row was tested once.
    rows_told
        Number of these rows for which the release publishes a single value of the target. Only these can be used for training.
    folds
        Number of folds.
    models
        Scores by model, then by training data: ``"release"`` or ``"original"``.
    majority
        Scores without a model: always the most frequent value, or the mean.

    Examples
    --------
    >>> release, original, none = ({"accuracy": Score(mean, mean - 0.1, mean + 0.1)} for mean in (0.75, 0.8, 0.5))
    >>> scores = {"forest": {"release": release, "original": original}}
    >>> found = Mined("ill", "classification", ("age", "sex"), 100, 90, 5, scores, none)
    >>> found.target, found.task, found.predictors, found.rows, found.rows_told, found.folds
    ('ill', 'classification', ('age', 'sex'), 100, 90, 5)
    >>> found.models["forest"]["release"]["accuracy"].mean, found.majority["accuracy"].mean
    (0.75, 0.5)

    """

    target: str
    task: str
    predictors: tuple[str, ...]
    rows: int
    rows_told: int
    folds: int
    models: Mapping[str, Mapping[str, Scores]]
    majority: Scores

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as a dictionary for JSON.

        Returns
        -------
        dict
            The keys are the names of the parameters.

        Examples
        --------
        >>> score = {"accuracy": Score(0.8, 0.7, 0.9)}
        >>> scores = {"forest": {"release": score, "original": score}}
        >>> found = Mined("ill", "classification", ("age",), 100, 100, 5, scores, score)
        >>> found.to_dict()["majority"]
        {'accuracy': {'mean': 0.8, 'low': 0.7, 'high': 0.9}}

        """
        return {**asdict(self), "predictors": list(self.predictors)}

    def in_words(self) -> str:
        """Return the result of the first model in plain sentences.

        Returns
        -------
        str
            Sentences for people.

        Examples
        --------
        >>> high, low = {"accuracy": Score(0.8, 0.7, 0.9)}, {"accuracy": Score(0.5, 0.5, 0.5)}
        >>> found = Mined("ill", "classification", ("age",), 100, 100, 5, {"forest": {"release": high, "original": high}}, low)
        >>> print(found.in_words())
        A random forest trained on the release predicts 'ill' correctly for 80.0 % of the rows (70.0 % to 90.0 %).
        Trained on the original: 80.0 %. Without a model: 50.0 %.

        """
        name = next(iter(self.models))
        measure = "r2" if self.task == "regression" else "accuracy"
        released, original = (self.models[name][data][measure] for data in ("release", "original"))
        if self.task == "regression":
            result, low, high, trained, without = (
                f"{figure:.2f}"
                for figure in (released.mean, released.low, released.high, original.mean, self.majority[measure].mean)
            )
            found = f"with an R2 of {result}"
        else:
            result, low, high, trained, without = (
                f"{100 * figure:.1f} %"
                for figure in (released.mean, released.low, released.high, original.mean, self.majority[measure].mean)
            )
            found = f"correctly for {result} of the rows"
        return (
            f"{TITLES[name]} trained on the release predicts {self.target!r} {found} ({low} to {high}). "
            f"Trained on the original: {trained}. Without a model: {without}."
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
    """Train and test models that predict one column.

    Models learn from the quasi-identifiers and the columns with the role other. If the target is a quasi-identifier, they learn
    only from rows that publish a single value of it.

    Parameters
    ----------
    aligned
        Source and release with the same rows.
    target
        The column to predict.
    folds
        Number of folds, at least 2.
    seed
        Seed for the order of the rows and for the models.
    models
        Names of the models, see `MODELS`.
    most_rows
        Maximum number of rows. If there are more, a random sample is used.

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
            constant = without_model(requested, requested.original[trained], len(tested))
            found.setdefault(("majority", ""), []).append(measured(requested, tested, constant))
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
    """Return how similar the k-means clusters of a release and of its source are, as the adjusted Rand index.

    1 is identical, 0 is chance. k-means uses the same features as the models. Its result depends on the seed for most tables: two
    seeds on the original of Adult reach only 0.6 to 0.8. A release can hardly reach more.
    """
    names, many = _required(aligned), aligned.source.num_rows
    if not 2 <= clusters <= many:
        raise RequestError(f"{many} rows cannot make {clusters} clusters. Set clusters to at least 2 and at most {many}.")
    require_models()
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    both = matrices(aligned, names, _drawn(np.arange(many), MOST_ROWS, seed))
    with _one_thread():
        before, after = (KMeans(clusters, n_init=10, random_state=seed).fit_predict(matrix) for matrix in both)
    return float(adjusted_rand_score(before, after))


# --- checks of the request


def _required(aligned: AlignedTables, target: str | None = None) -> list[str]:
    """Return the columns to learn from, or raise an error if something is missing."""
    source, release, schema = aligned.source, aligned.release, aligned.schema
    known, problems = schema.named("quasi", "sensitive", "other"), list[str]()
    if target is not None and target not in known:
        problems.append(f"There is no published column {target!r}.{nearest(target, known)}")
    if source.num_rows != release.num_rows:
        facts = f"The source has {source.num_rows} rows, the release {release.num_rows}."
        problems.append(f"{facts} Models need the same rows in both, in the same order.")
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
            "There is no column to learn from. Models learn from quasi-identifiers and columns with the role other. Publish one."
        )
    return names


def _require_settings(folds: int, models: Sequence[str]) -> None:
    problems = [f"There is no model {name!r}.{nearest(name, MODELS)}" for name in models if name not in MODELS]
    if not models:
        problems.append(f"models is empty. Choose from: {', '.join(MODELS)}.")
    if folds < 2:
        problems.append("folds must be at least 2: one for the test, the others for training.")
    if problems:
        raise RequestError(problems)


def require_models() -> None:
    """Raise an error if scikit-learn is not installed."""
    if find_spec("sklearn") is None:
        raise MachineError("Models need scikit-learn, which is not installed. Install it: pip install 'kohort[ml]'.")


def require_target(table: pa.Table, schema: Schema, target: str) -> None:
    """Raise an error for a column that models cannot predict from any release of this table. It must be published unchanged."""
    carried = schema.named("sensitive", "other")
    if target not in carried:
        hint = nearest(target, carried)
        raise RequestError(
            f"Column {target!r} is not published unchanged. Choose a sensitive column or a column of role other.{hint}"
        )
    unchanged = AlignedTables(table, table, schema)
    requested = target_of(unchanged, target)
    _require_target(requested.take(np.flatnonzero(requested.original >= 0)), FOLDS)
    _learned_from(unchanged, target)


def _require_target(requested: Target, folds: int) -> None:
    """Raise an error unless every fold has two categories or two numbers, and every training set has a row to learn from."""
    name, rows = requested.name, len(requested.original)
    often = np.count_nonzero(np.bincount(requested.original, minlength=1) >= folds)
    if requested.numbers is None and often < 2:
        raise RequestError(
            f"Column {name!r} has {counted(requested.classes, 'value')}, and {often} of them in at least {folds} rows. "
            "Models need two values that occur in every fold. Choose another column."
        )
    if requested.numbers is None and requested.classes > MOST_CLASSES:
        raise RequestError(
            f"Column {name!r} has {requested.classes} categories. Models can predict {MOST_CLASSES}. Choose another column."
        )
    if rows < 2 * folds:
        raise RequestError(f"Column {name!r} has values in {rows} rows, too few for {folds} folds. Set fewer folds.")
    if any(not (requested.released[trained] >= 0).any() for trained, _tested in _folds(requested.original, folds)):
        facts = np.count_nonzero(requested.released >= 0)
        raise RequestError(
            f"The release publishes a single value of {name!r} in {facts} of {rows} rows, too few to learn from. "
            "Choose another column."
        )


# --- folds


def _drawn(rows: Rows, most: int, seed: int) -> Rows:
    """Return at most `most` rows in a random order.

    The order is random even for all rows, because models break ties by it, and a file may be sorted by its target.
    """
    return np.random.default_rng(seed).permutation(rows)[:most]


def _folds(values: NDArray[np.int64], folds: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield (training rows, tested rows). Rows are assigned to folds by value, so that all folds have similar values."""
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
    """Use one thread, so that sums and ties do not depend on the number of cores. Ignore warnings about convergence."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
