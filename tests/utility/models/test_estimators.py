"""Measures of predictions, computed by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kohort.utility.aligned import AlignedTables
from kohort.utility.models.estimators import measured
from kohort.utility.models.model_features import target_of
from tests.utility.models.releases import bound

MODELLED = pytest.mark.usefixtures("sklearn", "small_forest")


@MODELLED
def test_measures_by_hand():
    table = pa.table({"y": ["a", "a", "a", "b", "b"], "q": ["x"] * 5})
    target = target_of(AlignedTables(table, table, bound(table, quasi="q", other="y")), "y")
    second = np.array([0.1, 0.2, 0.7, 0.6, 0.4])
    found = measured(target, np.arange(5), np.column_stack([1 - second, second]))
    # b is predicted for rows 2 and 3; rows 3 and 4 are b. Row 2 is an a with a higher score than both: 4 of 6 pairs are in order.
    assert found == pytest.approx({"accuracy": 3 / 5, "f1": 1 / 2, "auc": 4 / 6})
    third = pa.table({"y": ["a", "b", "c", "a"], "q": ["x"] * 4})
    target = target_of(AlignedTables(third, third, bound(third, quasi="q", other="y")), "y")
    found = measured(target, np.arange(4), np.eye(3)[[0, 1, 1, 0]])
    assert found == pytest.approx({"accuracy": 3 / 4, "f1": (1 + 2 / 3 + 0) / 3, "auc": (1 + 5 / 6 + 1 / 2) / 3})
