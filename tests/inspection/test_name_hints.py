"""What column names suggest."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from kohort.inspection.name_hints import hint, words_of
from tests.inspection.inspected import roles


@pytest.mark.parametrize(
    ("name", "role", "meaning"),
    [
        ("family_income", "sensitive", "money"),
        ("dateOfBirth", "quasi", "birth"),
        ("Geburtsdatum", "quasi", "birth"),
        ("PLZ", "quasi", "place"),
        ("payer_code", "quasi", "care"),
        ("diagnosis_date", "quasi", "time"),
        ("HIV status", "sensitive", "health"),
        ("nationalité", "quasi", "origin"),
        ("Last Name", "identifier", "a person's name"),
    ],
)
def test_column_names_suggest_roles(name, role, meaning):
    assert hint(name) == (role, meaning)


def test_column_names_are_split_into_words():
    assert words_of("birthDate_1") == ["birth", "date", "1"]
    assert words_of("ÄlterEé💉") == ["alter", "ee"]


@pytest.mark.parametrize("name", ["account_id", "credit_card", "account", "carta_credito", "loan_id"])
def test_accounts_and_cards_are_not_money(name):
    table = pa.table({name: [f"{123456 + n % 50}.0" for n in range(200)], "age": [str(n % 9) for n in range(200)]})
    assert roles(kh.inspect(table))[name] == "identifier"


@pytest.mark.parametrize(
    "name", ["genere", "civilité", "Landkreis", "città", "pays", "profesión", "état_civil", "fecha", "Anrede"]
)
def test_quasi_identifiers_are_recognised_in_other_languages(name):
    table = pa.table({name: [f"v{n % 3}" for n in range(200)], "age": [str(n % 9) for n in range(200)]})
    assert roles(kh.inspect(table))[name] == "quasi"
