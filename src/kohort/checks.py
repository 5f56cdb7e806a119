"""Do these groups keep the promise? Fast, on group statistics, for use inside a search.

This is the method's own conscience, not the proof: the proof is the audit, which shares no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kohort.errors import PromiseError
from kohort.privacy import Promise


@dataclass(frozen=True)
class Checks:
    """A promise bound to one table: the one question that methods ask is whether a group may stand."""

    promise: Promise
    rows: int

    @property
    def k(self) -> int:
        return self.promise.k

    def may_stand(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For groups of these sizes: which keep the promise."""
        return sizes >= self.k

    def require_whole_table(self) -> None:
        """Fail early when not even one group of everybody would keep the promise."""
        if 0 < self.rows < self.k:
            message = (
                f"k={self.k} cannot be kept: the table has {self.rows} rows, so no group can hold {self.k}. "
                f"Ask for k={self.rows} or less, or give more rows."
                if self.rows >= 2
                else f"k={self.k} cannot be kept: the table has a single row."
            )
            raise PromiseError(message)

    def require(self, labels: NDArray[np.int64]) -> None:
        """Fail when a group of a finished partition does not keep the promise."""
        sizes = np.bincount(labels[labels >= 0])
        failing = int(np.count_nonzero(~self.may_stand(sizes)))
        if failing:
            message = f"{failing} of {len(sizes)} groups do not keep k={self.k} (smallest: {int(sizes.min())})."
            raise PromiseError(message)
