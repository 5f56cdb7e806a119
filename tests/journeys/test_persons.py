"""Persons with several rows: every promise counts persons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kohort
from kohort.errors import PromiseError, RequestError
from tests.oracles import promises as promise_oracles

# --- persons with several rows

PATIENTS = 400


@pytest.fixture(scope="module")
def visits():
    """Three visits of each of 400 patients, who are a little older and somewhere else each time."""
    dice = np.random.default_rng(3)
    patient = np.repeat(np.arange(PATIENTS), 3)
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in patient],
            "age": np.repeat(dice.integers(18, 90, PATIENTS), 3) + np.tile([0, 1, 2], PATIENTS),
            "zip": dice.integers(10, 40, 3 * PATIENTS),
            "disease": dice.choice(["gout", "mumps", "ebola", "rabies"], 3 * PATIENTS, p=[0.4, 0.3, 0.2, 0.1]),
        }
    ).sample(frac=1, random_state=1, ignore_index=True)


def with_patients(visits, release):
    """The published rows beside their patient; suppressed rows are gone."""
    told = release.table.reset_index(drop=True)
    assert "patient" not in told.columns
    return told.assign(patient=visits["patient"].to_numpy()[release.labels >= 0])


ASKED: dict[str, Any] = {"quasi": ["age", "zip"], "sensitive": "disease", "seed": 7, "keep_order": True}


def test_k_counts_persons(visits):
    release = kohort.anonymize(visits, **ASKED, unit="patient", k=5)
    classes = with_patients(visits, release).groupby(["age", "zip"], dropna=False)["patient"]
    assert classes.nunique().min() >= 5
    assert classes.ngroups > 20
    by_rows = with_patients(visits, kohort.anonymize(visits.drop(columns="patient"), **ASKED, k=5))
    assert by_rows.groupby(["age", "zip"], dropna=False)["patient"].nunique().min() < 5


def shares(told):
    """For each class and value: the share of the class's persons who hold it."""
    held = told.groupby(["age", "zip", "disease"], dropna=False)["patient"].nunique()
    return held / told.groupby(["age", "zip"], dropna=False)["patient"].nunique()


def test_alpha_counts_persons(visits):
    """A person's second visit with the same disease does not count again, nor does it hide that all have it."""
    release = kohort.anonymize(visits, **ASKED, unit="patient", k=5, alpha=0.8)
    assert shares(with_patients(visits, release)).max() <= 0.8
    by_rows = with_patients(visits, kohort.anonymize(visits.drop(columns="patient"), **ASKED, k=5, alpha=0.8))
    assert shares(by_rows).max() > 0.8


def test_every_promise_counts_persons(visits):
    asked: dict[str, Any] = {
        "l": 3,
        "entropy_l": 2.5,
        "recursive_l": (2, 3),
        "t": 0.3,
        "beta": 2,
        "alpha": {"default": 0.85, "ebola": 0.7},
    }
    release = kohort.anonymize(visits, **ASKED, unit="patient", k=8, **asked)
    told = with_patients(visits, release)
    published = pa.Table.from_pandas(told, preserve_index=False)
    assert told.groupby(["age", "zip"], dropna=False).ngroups > 3
    assert promise_oracles.broken(published, ["age", "zip"], 8, {"disease": asked}, persons=told["patient"].tolist()) == []


def test_the_number_of_persons_bounds_k(visits):
    few = visits[visits["patient"].isin([f"p{number}" for number in range(4)])]
    with pytest.raises(PromiseError, match=r"k=5 cannot be kept.*\b4\b") as told:
        kohort.anonymize(few, **ASKED, unit="patient", k=5)
    assert "12" not in str(told.value).split("cannot be kept")[0]
    assert kohort.anonymize(few, **ASKED, unit="patient", k=4).table.shape == (12, 3)


def test_a_row_of_nobody_is_refused(visits):
    """Who has no number may be anybody: guessing would count somebody twice, or not at all."""
    some = visits.assign(patient=visits["patient"].where(visits.index != 7))
    with pytest.raises(RequestError, match=r"'patient'.* 1 row.*row 8\b"):
        kohort.anonymize(some, **ASKED, unit="patient", k=5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int64", "float64", "category", "string"])
def test_persons_of_any_type(visits, kind):
    """A person is who they are, whatever the type of the column that tells them apart."""
    numbered = visits["patient"].str.removeprefix("p").astype("int64")
    other = visits.assign(patient=numbered.astype(kind))
    one, two = (kohort.anonymize(table, **ASKED, unit="patient", k=5, l=2) for table in (visits, other))
    assert np.array_equal(one.labels, two.labels)
