"""The axis of a column of dates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.axes import Ends, with_missing
from kohort.encoding.number_axis import NumericAxis
from kohort.schema import date_formats
from kohort.schema.type_detection import Numbers


@dataclass(frozen=True, eq=False)
class DateAxis(NumericAxis):
    """Dates as days, with one code per month. Ranges are published as whole months, and from 24 months on as whole years."""

    format: str = date_formats.ISO
    """The format of the dates in the source."""

    @classmethod
    def of_months(cls, name: str, months: NDArray[np.int64], form: str = date_formats.ISO) -> DateAxis:
        """Return an axis of these months, numbered from January 1970."""
        return cls(name, *date_formats.month_ends(months), format=form)

    def coarse(self) -> tuple[float, Numbers, Numbers]:
        return date_formats.SHORTEST_IN_YEARS, *date_formats.whole_years(self.first, self.last)

    def published(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> Ends:
        return date_formats.widened(*super().published(low, high, ends))

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        if not len(self.first):
            return pa.nulls(len(low), pa.string())
        return with_missing(date_formats.interval_texts(*self.published(low, high, ends)), low, high)

    def describe(self) -> str:
        return f"dates, {len(self.first)} distinct months"
