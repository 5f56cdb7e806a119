"""Propensity score: can a model distinguish rows drawn from a release from rows of its source?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from kohort.errors import MachineError
from kohort.utility.bins import Floats
from kohort.utility.column_distances import MeasuredColumn

MOST_DRAWN = 50_000  # maximum number of rows from each side for the model


@dataclass(frozen=True)
class Propensity:
    """How well a model distinguishes rows drawn from a release from rows of the source.

    Parameters
    ----------
    pmse
        Mean squared difference of the scores from one half: 0 if the model cannot distinguish them, 0.25 if it always can.
    expected
        The pmse to expect for a new random sample of the same size from the distribution of the source.

    """

    pmse: float
    expected: float

    @property
    def ratio(self) -> float:
        """`pmse` divided by `expected`. Below 1, the release is closer to the source than a random sample.

        The ratio grows with the number of rows, because more rows make small differences visible.
        """
        return self.pmse / self.expected if self.expected else 0.0


def propensity_of(columns: Sequence[MeasuredColumn], random: np.random.Generator) -> Propensity:
    """Return the pMSE of a logistic regression, and its expected value (Snoke, Raab, Nowok, Dibben and Slavkovic 2018).

    The features are categories, numbers, and squares and products of numbers. Values are drawn evenly from published cells.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MachineError(
            "A propensity score needs scikit-learn, which is not installed. Install it: pip install 'kohort[ml]'."
        ) from None
    chosen = random.permutation(len(columns[0].held.codes))[:MOST_DRAWN]
    is_released = np.repeat([False, True], len(chosen))
    features = _features([column.drawn(chosen, random) for column in columns], [column.bins.has_order for column in columns])
    parameters = int(np.linalg.matrix_rank(features.T @ features)) if features.shape[1] else 0
    if not parameters:
        return Propensity(0.0, 0.0)
    # The penalty is very small. It only keeps the coefficients finite.
    model = LogisticRegression(C=1e6, solver="newton-cholesky").fit(features, is_released)
    scores = model.predict_proba(features)[:, 1]
    return Propensity(float(((scores - 0.5) ** 2).mean()), parameters * 0.5**3 / len(is_released))


def _features(columns: Sequence[Floats], are_numbers: Sequence[bool]) -> Floats:
    """Return centred and scaled features: numbers, their squares and products, missing flags, and all categories except one."""
    numbers = [_scaled(column) for column, is_number in zip(columns, are_numbers, strict=True) if is_number]
    made = [*numbers, *(one * other for one, other in combinations_with_replacement(numbers, 2))]
    for column, is_number in zip(columns, are_numbers, strict=True):
        made.append(np.isnan(column).astype(np.float64))
        made += [] if is_number else [(column == value).astype(np.float64) for value in np.unique(column[~np.isnan(column)])[1:]]
    varying = [_scaled(feature) for feature in made if np.ptp(feature) > 0]
    return np.column_stack(varying) if varying else np.empty((len(columns[0]), 0))


def _scaled(numbers: Floats) -> Floats:
    """Centre and scale numbers. Missing values become 0."""
    known = numbers[~np.isnan(numbers)]
    middle, spread = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    return np.nan_to_num((numbers - middle) / (spread or 1.0), nan=0.0)
