"""Whether records drawn from a release can be told from those of its source, by a model that tries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from kohort.errors import MachineError
from kohort.utility.bins import Floats
from kohort.utility.column_distances import MeasuredColumn

MOST_DRAWN = 50_000  # records of either side that the propensity score is fitted to


@dataclass(frozen=True)
class Propensity:
    """How well records drawn from a release can be told from those of the source."""

    pmse: float
    """Mean squared distance of the scores from one half: 0 if nothing tells them apart, 0.25 if all is told."""
    expected: float
    """Of as many records drawn anew from the distribution of the source."""

    @property
    def ratio(self) -> float:
        """To what is expected: below 1, it is closer to the source than another sample. Of more records, more can be told."""
        return self.pmse / self.expected if self.expected else 0.0


def propensity_of(columns: Sequence[MeasuredColumn], random: np.random.Generator) -> Propensity:
    """pMSE of a logistic regression that tells source from release, and its expectation (Snoke, Raab, Nowok, Dibben and Slavkovic
    2018): categories as they are, numbers with their squares and products, values drawn evenly from cells.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MachineError("A propensity score needs scikit-learn, which is not installed: pip install 'kohort[ml]'.") from None
    chosen = random.permutation(len(columns[0].held.codes))[:MOST_DRAWN]
    is_released = np.repeat([False, True], len(chosen))
    features = _features([column.drawn(chosen, random) for column in columns], [column.bins.has_order for column in columns])
    parameters = int(np.linalg.matrix_rank(features.T @ features)) if features.shape[1] else 0
    if not parameters:
        return Propensity(0.0, 0.0)
    model = LogisticRegression(C=1e6, solver="newton-cholesky").fit(features, is_released)  # a penalty that only keeps it finite
    scores = model.predict_proba(features)[:, 1]
    return Propensity(float(((scores - 0.5) ** 2).mean()), parameters * 0.5**3 / len(is_released))


def _features(columns: Sequence[Floats], are_numbers: Sequence[bool]) -> Floats:
    """Centred and scaled: numbers, their squares and products, whether they are missing; each category but one."""
    numbers = [_scaled(column) for column, is_number in zip(columns, are_numbers, strict=True) if is_number]
    made = [*numbers, *(one * other for one, other in combinations_with_replacement(numbers, 2))]
    for column, is_number in zip(columns, are_numbers, strict=True):
        made.append(np.isnan(column).astype(np.float64))
        made += [] if is_number else [(column == value).astype(np.float64) for value in np.unique(column[~np.isnan(column)])[1:]]
    varying = [_scaled(feature) for feature in made if np.ptp(feature) > 0]
    return np.column_stack(varying) if varying else np.empty((len(columns[0]), 0))


def _scaled(numbers: Floats) -> Floats:
    """Missing in the middle."""
    known = numbers[~np.isnan(numbers)]
    middle, spread = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    return np.nan_to_num((numbers - middle) / (spread or 1.0), nan=0.0)
