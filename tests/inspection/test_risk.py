"""Risk figures, compared with pandas."""

from __future__ import annotations

from itertools import combinations

import kohort as kh
from tests.inspection.inspected import visits

# --- what is found


def test_risk_matches_pandas_groupby():
    table = kh.datasets.hospital(3000).table
    inspection = kh.inspect(table)
    frame, risk = table.to_pandas(), inspection.risk
    sizes = frame.groupby(list(risk.quasi), dropna=False).size()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), (sizes == 1).sum())
    for size, worst in zip((2, 3), risk.singling_out, strict=True):
        alone = {
            columns: int((frame.groupby(list(columns), dropna=False).size() == 1).sum())
            for columns in combinations(risk.quasi, size)
        }
        assert worst.unique == max(alone.values())
        assert alone[tuple(name for name in risk.quasi if name in worst.columns)] == worst.unique


def test_risk_in_persons_matches_pandas_groupby():
    table = visits(persons=450)
    risk, frame = kh.inspect(table).risk, table.to_pandas()
    assert (risk.counted_in, risk.total) == ("persons", 450)

    def persons_of(columns):
        return frame.groupby(list(columns), dropna=False)["patient"]

    def alone(columns):
        return frame["patient"][persons_of(columns).transform("nunique") == 1].nunique()

    sizes = persons_of(risk.quasi).nunique()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), alone(risk.quasi))
    assert [worst.unique for worst in risk.singling_out] == [alone(worst.columns) for worst in risk.singling_out]


def test_who_has_several_rows_alike_is_alone_nonetheless():
    table = visits(rows=600, persons=150).drop_columns("seen")
    assert kh.inspect(table.drop_columns("patient")).risk.unique == 0
    assert kh.inspect(table).risk.unique > 100
