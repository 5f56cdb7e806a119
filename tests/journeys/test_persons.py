"""Test that promises count people if a person has several rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kohort
from kohort.errors import PromiseError, RequestError
from tests.oracles import promises as promise_oracles

# --- people with several rows

PATIENTS = 400


@pytest.fixture(scope="module")
def visits():
    """Three visits of each of 400 patients. Each time, the patient is a year older and has another zip code."""
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(PATIENTS), 3)
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in patient],
            "age": np.repeat(rng.integers(18, 90, PATIENTS), 3) + np.tile([0, 1, 2], PATIENTS),
            "zip": rng.integers(10, 40, 3 * PATIENTS),
            "disease": rng.choice(["gout", "mumps", "ebola", "rabies"], 3 * PATIENTS, p=[0.4, 0.3, 0.2, 0.1]),
        }
    ).sample(frac=1, random_state=1, ignore_index=True)


def with_patients(visits, release):
    """Return the published rows with their patient, without suppressed rows."""
    published = release.table.reset_index(drop=True)
    assert "patient" not in published.columns
    return published.assign(patient=visits["patient"].to_numpy()[release.labels >= 0])


SETTINGS: dict[str, Any] = {"quasi": ["age", "zip"], "sensitive": "disease", "seed": 7, "keep_order": True}


def test_k_counts_people(visits):
    release = kohort.anonymize(visits, **SETTINGS, unit="patient", k=5)
    groups = with_patients(visits, release).groupby(["age", "zip"], dropna=False)["patient"]
    assert groups.nunique().min() >= 5
    assert groups.ngroups > 20
    by_rows = with_patients(visits, kohort.anonymize(visits.drop(columns="patient"), **SETTINGS, k=5))
    assert by_rows.groupby(["age", "zip"], dropna=False)["patient"].nunique().min() < 5


def shares(published):
    """Return for each group and value the share of the group's people who have this value."""
    held = published.groupby(["age", "zip", "disease"], dropna=False)["patient"].nunique()
    return held / published.groupby(["age", "zip"], dropna=False)["patient"].nunique()


def test_alpha_counts_people(visits):
    """A person's second visit with the same disease does not count again."""
    release = kohort.anonymize(visits, **SETTINGS, unit="patient", k=5, alpha=0.8)
    assert shares(with_patients(visits, release)).max() <= 0.8
    by_rows = with_patients(visits, kohort.anonymize(visits.drop(columns="patient"), **SETTINGS, k=5, alpha=0.8))
    assert shares(by_rows).max() > 0.8


def test_every_promise_counts_people(visits):
    promises: dict[str, Any] = {
        "l": 3,
        "entropy_l": 2.5,
        "recursive_l": (2, 3),
        "t": 0.3,
        "beta": 2,
        "alpha": {"default": 0.85, "ebola": 0.7},
    }
    release = kohort.anonymize(visits, **SETTINGS, unit="patient", k=8, **promises)
    rows = with_patients(visits, release)
    published = pa.Table.from_pandas(rows, preserve_index=False)
    assert rows.groupby(["age", "zip"], dropna=False).ngroups > 3
    assert promise_oracles.broken(published, ["age", "zip"], 8, {"disease": promises}, persons=rows["patient"].tolist()) == []


def test_k_cannot_exceed_the_number_of_people(visits):
    few = visits[visits["patient"].isin([f"p{number}" for number in range(4)])]
    with pytest.raises(PromiseError, match=r"k=5 cannot be kept.*\b4\b") as caught:
        kohort.anonymize(few, **SETTINGS, unit="patient", k=5)
    assert "12" not in str(caught.value).split("cannot be kept")[0]
    assert kohort.anonymize(few, **SETTINGS, unit="patient", k=4).table.shape == (12, 3)


def test_row_without_a_person_is_rejected(visits):
    """The row may belong to anybody. A guess could count a person twice or not at all."""
    some = visits.assign(patient=visits["patient"].where(visits.index != 7))
    with pytest.raises(RequestError, match=r"'patient'.* 1 row.*row 8\b"):
        kohort.anonymize(some, **SETTINGS, unit="patient", k=5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int64", "float64", "category", "string"])
def test_unit_column_may_have_any_type(visits, kind):
    """The groups do not depend on the type of the unit column."""
    numbered = visits["patient"].str.removeprefix("p").astype("int64")
    other = visits.assign(patient=numbered.astype(kind))
    one, two = (kohort.anonymize(table, **SETTINGS, unit="patient", k=5, l=2) for table in (visits, other))
    assert np.array_equal(one.labels, two.labels)
