"""The models: train, predict, and measure the predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.utility.models.model_features import Matrix, Rows, Target

TREES, NEIGHBOURS = 100, 15
LEAF = 5  # minimum rows in a leaf; with 1, a forest learns the noise of single rows and scores lower on originals


def _model(name: str, seed: int, rows: int, *, numbers: bool) -> Any:
    from sklearn import ensemble, linear_model, neighbors

    if name == "forest":
        if numbers:
            return ensemble.RandomForestRegressor(TREES, min_samples_leaf=LEAF, max_features=1 / 3, random_state=seed, n_jobs=1)
        return ensemble.RandomForestClassifier(TREES, min_samples_leaf=LEAF, random_state=seed, n_jobs=1)
    if name == "neighbours":
        model = neighbors.KNeighborsRegressor if numbers else neighbors.KNeighborsClassifier
        return model(min(NEIGHBOURS, rows), algorithm="brute", n_jobs=1)
    return linear_model.Ridge() if numbers else linear_model.LogisticRegression(max_iter=300)


def predict(
    name: str, seed: int, requested: Target, learned: Matrix, known: NDArray[np.int64], tested: Matrix
) -> NDArray[np.float64]:
    """Train a model and return, for each tested row, a probability for each category, or a number."""
    varies = (learned != learned[:1]).any(axis=0)  # a constant feature would only add noise
    if not varies.any() or (known == known[0]).all():
        return without_model(requested, known, len(tested))
    model = _model(name, seed, len(known), numbers=requested.numbers is not None)
    if requested.numbers is not None:
        return np.asarray(model.fit(learned[:, varies], requested.numbers[known]).predict(tested[:, varies]), np.float64)
    model.fit(learned[:, varies], known)
    predicted = np.zeros((len(tested), requested.classes))
    predicted[:, model.classes_] = model.predict_proba(tested[:, varies])
    return predicted


def without_model(requested: Target, known: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
    """Return the prediction without a model, the same for every row: the shares of the categories, or the mean."""
    if requested.numbers is not None:
        return np.full(rows, requested.numbers[known].mean())
    return np.tile(np.bincount(known, minlength=requested.classes) / len(known), (rows, 1))


def measured(requested: Target, tested: Rows, predicted: NDArray[np.float64]) -> dict[str, float]:
    """Return the measures of predictions: r2 and mae for numbers, accuracy, f1 and auc for categories."""
    from sklearn import metrics

    truth = requested.original[tested]
    if requested.numbers is not None:
        numbers = requested.numbers[truth]
        return {
            "r2": float(metrics.r2_score(numbers, predicted)),
            "mae": float(metrics.mean_absolute_error(numbers, predicted)),
        }
    chosen = predicted.argmax(axis=1)
    rarer = int(np.argmin(np.bincount(requested.original, minlength=requested.classes)))
    held = [rarer] if requested.classes == 2 else np.unique(truth).tolist()
    return {
        "accuracy": float(np.mean(chosen == truth)),
        "f1": float(metrics.f1_score(truth, chosen, labels=held, average="macro", zero_division=0)),
        "auc": float(np.mean([metrics.roc_auc_score(truth == one, predicted[:, one]) for one in held])),
    }
