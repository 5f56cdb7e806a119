"""The Spark engine gives the same release as the memory engine."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets
from kohort.engines.spark.publication import SparkPublication
from kohort.engines.spark.tasks import _Copies
from kohort.errors import AuditError, PromiseError, RequestError
from kohort.testing import ENGINE_CONTRACTS
from kohort.testing.engine_contracts import require_same, rows_of
from tests.spark_cluster import SPARK_TESTS

pytestmark = SPARK_TESTS
QUASI = ["q1", "q2", "q3"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("contract", ENGINE_CONTRACTS, ids=lambda contract: contract.__name__)
def test_spark_engine_keeps_the_contract(contract):
    contract("spark")


def test_rows_are_distributed_over_parts_in_the_same_way_in_any_order():
    """A task that runs again may get its rows in another order and in other batches."""
    rows = np.random.default_rng(1).choice(np.array([3, 3, 3, 5, 8, 2**64 - 1], np.uint64), 500)
    distributed = []
    for seed, size in ((1, 500), (2, 7), (3, 64)):
        shuffled, copies = np.random.default_rng(seed).permutation(rows), _Copies()
        numbers = np.concatenate([copies.numbered(shuffled[first : first + size]) for first in range(0, 500, size)])
        assert np.bincount((numbers % np.uint64(4)).astype(int)).min() > 100
        distributed.append(Counter(zip(shuffled.tolist(), (numbers % np.uint64(4)).tolist(), strict=True)))
    assert distributed[0] == distributed[1] == distributed[2]


@pytest.mark.usefixtures("spark")
def test_group_with_more_rows_than_a_task_may_hold_is_the_same_as_in_memory():
    """Most rows are equal and form one group, which several tasks publish."""
    rows = range(500)
    table = pa.table({"a": [5 if row < 400 else row % 10 for row in rows], "s": [row % 3 for row in rows]})
    require_same("spark", table, {"quasi": ["a"], "sensitive": "s", "k": 4, "method": "mondrian", "seed": 1})


# --- sources and targets


def test_release_of_a_spark_data_frame_is_a_spark_data_frame(spark):
    table = datasets.census(500, quasi=3)
    frame = spark.createDataFrame(table)
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "k": 5, "method": "mondrian", "seed": 7}
    release = kh.anonymize(frame, **requested)
    assert type(release.table).__module__.startswith("pyspark")
    assert release.summary()["engine"] == "spark"
    assert rows_of(release.table) == rows_of(kh.anonymize(table, **requested).table)
    assert release.evidence.passed
    assert [field.dataType.simpleString() for field in release.table.schema] == ["string"] * 3 + ["smallint"]
    with pytest.raises(RequestError, match="memory engine"):
        _ = release.labels


def test_file_folder_and_named_table_give_the_same_release(spark, tmp_path):
    table = datasets.census(300, quasi=3)
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "many").mkdir()
    for number in range(3):
        pq.write_table(table.slice(100 * number, 100), tmp_path / "many" / f"{number}.parquet")
    spark.createDataFrame(table).createOrReplaceTempView("patients")
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "k": 5, "method": "mondrian", "seed": 7, "engine": "spark"}
    expected = rows_of(kh.anonymize(table, **{**requested, "engine": "memory"}).table)
    for source in (tmp_path / "one.parquet", tmp_path / "many", "patients"):
        assert rows_of(kh.anonymize(source, **requested, spark=spark).table) == expected


def test_addresses_are_used_without_change(spark, tmp_path):
    """As a path, `file://` would become `file:/`, which would be a relative folder."""
    table = datasets.census(300, quasi=3)
    (tmp_path / "visits").mkdir()
    pq.write_table(table, tmp_path / "visits" / "one.parquet")
    source, target = f"file://{tmp_path}/visits", f"file://{tmp_path}/release.parquet"
    release = kh.anonymize(source, quasi=QUASI, sensitive="s1", k=5, method="mondrian", seed=7, output=target, spark=spark)
    assert release.output == target
    assert release.summary()["output"] == target
    assert rows_of(spark.read.parquet(target)) == rows_of(
        kh.anonymize(table, quasi=QUASI, sensitive="s1", k=5, method="mondrian", seed=7).table
    )
    for engine in ("memory", "disk"):
        with pytest.raises(RequestError, match="Only Spark reads and writes"):
            kh.anonymize(table, quasi=QUASI, k=5, engine=engine, output=target)
        with pytest.raises(RequestError, match="Only Spark reads and writes"):
            kh.anonymize(source, quasi=QUASI, k=5, engine=engine)


def test_column_names_with_special_characters_are_kept(spark):
    table = pa.table({"a b": [1, 2] * 10, "A`b": [3, 3, 4, 4] * 5, "s.t": ["x", "y"] * 10, "Age": [5] * 20})
    release = kh.anonymize(spark.createDataFrame(table), quasi=["a b", "A`b"], sensitive="s.t", other="Age", k=2, seed=1)
    assert release.table.columns == ["a b", "A`b", "s.t", "Age"]


def test_unsupported_settings_and_targets_raise_errors_that_say_what_to_do(spark, tmp_path):
    frame = spark.createDataFrame(datasets.census(100, quasi=3))
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "k": 5, "seed": 7}
    for wrong in ({"keep_order": True}, {"row_order": "given"}, {"workload": {"query": [{"where": [["q1", "=", 1]]}]}}):
        with pytest.raises(RequestError, match="--engine"):
            kh.anonymize(frame, **requested, **wrong)
    for target in ("out.arrow", "out.csv.gz"):
        with pytest.raises(RequestError, match="folders of Parquet or CSV"):
            kh.anonymize(frame, **requested, output=tmp_path / target)
    with pytest.raises(RequestError, match="works only with the spark engine"):
        kh.anonymize(frame, **requested, engine="memory")
    with pytest.raises(PromiseError, match="k=101"):
        kh.anonymize(frame, **{**requested, "k": 101})
    with pytest.raises(RequestError, match="There is no file"):
        kh.anonymize(tmp_path / "nothing.parquet", **requested, engine="spark")
    assert not list(tmp_path.iterdir())


def test_release_whose_files_were_changed_after_the_proof_is_not_published(spark, tmp_path, monkeypatch):
    """One row of the written files is replaced by a copy of another. The groups are large enough and the cells were correct."""
    frame = spark.createDataFrame(datasets.census(300, quasi=3))
    original = SparkPublication._read_back

    def changed(self, folder, file_format):
        found = original(self, folder, file_format)
        return found.limit(299).unionAll(found.limit(1))

    monkeypatch.setattr(SparkPublication, "_read_back", changed)
    with pytest.raises(AuditError, match="written: required 0"):
        kh.anonymize(frame, quasi=QUASI, sensitive="s1", k=5, seed=7, method="mondrian", output=tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
