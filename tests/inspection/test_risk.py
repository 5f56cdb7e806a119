"""Risk figures, compared with pandas."""

from __future__ import annotations

from itertools import combinations

import kohort as kh
from tests.inspection.inspected import visits


def test_risk_matches_pandas_groupby():
    table = kh.datasets.hospital(3000).table
    inspection = kh.inspect(table)
    frame, risk = table.to_pandas(), inspection.risk
    sizes = frame.groupby(list(risk.quasi), dropna=False).size()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), (sizes == 1).sum())
    for size, worst in zip((2, 3), risk.singling_out, strict=True):
        unique = {
            columns: int((frame.groupby(list(columns), dropna=False).size() == 1).sum())
            for columns in combinations(risk.quasi, size)
        }
        assert worst.unique == max(unique.values())
        assert unique[tuple(name for name in risk.quasi if name in worst.columns)] == worst.unique


def test_risk_in_people_matches_pandas_groupby():
    table = visits(persons=450)
    risk, frame = kh.inspect(table).risk, table.to_pandas()
    assert (risk.counted_in, risk.total) == ("persons", 450)

    def people_by(columns):
        return frame.groupby(list(columns), dropna=False)["patient"]

    def unique(columns):
        return frame["patient"][people_by(columns).transform("nunique") == 1].nunique()

    sizes = people_by(risk.quasi).nunique()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), unique(risk.quasi))
    assert [worst.unique for worst in risk.singling_out] == [unique(worst.columns) for worst in risk.singling_out]


def test_person_with_several_identical_rows_is_unique():
    table = visits(rows=600, persons=150).drop_columns("seen")
    assert kh.inspect(table.drop_columns("patient")).risk.unique == 0
    assert kh.inspect(table).risk.unique > 100
