"""The published text of every group: one text for each quasi-identifier, made only from the group's box.

The release is k-anonymous because every row of a group gets the same text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.axes import Axis
from kohort.encoding.number_axis import NumericAxis
from kohort.publishing.boxes import Boxes
from kohort.schema.columns import Schema
from kohort.schema.trees import ROOT

MEAN_DIGITS = 9  # digits of the column's range; these digits do not depend on the order in which a sum was made

Texts = dict[str, pa.DictionaryArray]
"""By published column: the text of each group."""


def texts_of(schema: Schema, axes: Sequence[Axis], boxes: Boxes) -> Texts:
    """Return the published texts of each group."""
    number_of = {axis.name: number for number, axis in enumerate(axes)}
    texts: Texts = {}
    for name, source, statistic in schema.published():
        if statistic == "value":
            continue
        number = number_of[source]
        texts[name] = boxes.texts(number, axes[number])
        if statistic == "mean":
            texts[name] = _mean_texts(axes[number], boxes.means[number], texts[name])
    return texts


def classes_of(texts: Texts) -> NDArray[np.int64]:
    """Return for each group the number of its equivalence class: several groups may be published with the same texts."""
    keys = np.zeros(len(next(iter(texts.values()))), np.int64)
    keys_used = 1
    for column in texts.values():
        choices = len(column.dictionary) + 1
        if keys_used * choices >= 2**63:  # renumber the keys without gaps before they overflow
            keys = np.unique(keys, return_inverse=True)[1]
            keys_used = len(keys)
        keys = keys * choices + (indices_of(column) + 1)
        keys_used *= choices
    return np.unique(keys, return_inverse=True)[1]


def _mean_texts(axis: Axis, offsets: NDArray[np.float64], ranges: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return means as text. If the range is missing or `*`, the mean is too."""
    assert isinstance(axis, NumericAxis)
    if not axis.range:  # the column is constant or all missing, so the range is the mean
        return ranges
    ranges_text = ranges.dictionary_decode()
    decimals = max(0, MEAN_DIGITS - math.ceil(math.log10(axis.range)))
    smallest = Decimal(axis.first[0].item())
    means = pa.array([_decimal_text(smallest + Decimal(offset), decimals) for offset in offsets.tolist()], pa.string())
    means = pc.replace_substring(means, ".", ",") if axis.comma else means
    return pc.if_else(
        pc.is_null(ranges_text), ranges_text, pc.if_else(pc.equal(ranges_text, ROOT), ranges_text, means)
    ).dictionary_encode()


def indices_of(texts: pa.DictionaryArray) -> NDArray[np.int32]:
    """Return the index of each text in the dictionary; -1 if it is missing."""
    return texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _decimal_text(number: Decimal, decimals: int) -> str:
    """Return a number rounded to this number of decimals, without trailing zeros.

    >>> _decimal_text(Decimal("35.50000000000001"), 7), _decimal_text(Decimal(36), 7)
    ('35.5', '36')
    """
    text = f"{number:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
