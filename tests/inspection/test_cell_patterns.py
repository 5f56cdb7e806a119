"""Contents recognised by their pattern."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from tests.inspection.inspected import roles

CONTENTS = {
    "e-mail addresses": [f"user{n}@mail.example" for n in range(40)],
    "phone numbers": [f"+49 30 12{n:04d}" for n in range(40)],
    "social security numbers": [f"123-45-{n:04d}" for n in range(40)],
    "random keys": [f"{n:08x}-0000-4000-8000-0123456789ab" for n in range(40)],
    "network addresses": [f"10.0.{n}.1" for n in range(40)],
    "bank account numbers": [f"DE89 3704 0044 0532 01{n:02d} 00" for n in range(40)],
}


@pytest.mark.parametrize("described", CONTENTS)
def test_cells_that_identify_people_are_identifiers_whatever_the_column_name(described):
    table = pa.table({"x": CONTENTS[described], "age": [str(20 + n % 7) for n in range(40)]})
    inspection = kh.inspect(table)
    assert roles(inspection)["x"] == "identifier"
    assert inspection.profiles[0].contents.described() == described
