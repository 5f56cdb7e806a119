"""Release folders that Spark writes: which existing folders are replaced and which are not."""

from __future__ import annotations

from typing import Any

import pytest

import kohort as kh
from kohort import datasets
from kohort.engines.spark.release_folder import Folder
from kohort.errors import MachineError, RequestError
from tests.spark_cluster import SPARK_TESTS

pytestmark = SPARK_TESTS
QUASI = ["q1", "q2", "q3"]


def test_existing_target_is_replaced_only_with_force_and_only_if_it_is_a_table(spark, tmp_path):
    table, target = datasets.census(300, quasi=3), tmp_path / "out.parquet"
    frame = spark.createDataFrame(table)
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "method": "mondrian", "seed": 7, "output": target}
    kh.anonymize(frame, **requested, k=5)
    with pytest.raises(RequestError, match=r"exists.*--force"):
        kh.anonymize(frame, **requested, k=6)
    assert kh.audit(target, quasi=QUASI, k=5).k == 5
    again = kh.anonymize(frame, **requested, k=20, force=True)
    assert kh.audit(target, quasi=QUASI, k=20).passed
    assert again.evidence.passed
    (target / "letters.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RequestError, match="not part of a table"):
        kh.anonymize(frame, **requested, k=5, force=True)
    assert (target / "letters.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_folder_with_other_files_is_not_replaced(spark, tmp_path):
    (tmp_path / "mine.parquet" / ".notes").mkdir(parents=True)
    (tmp_path / "mine.parquet" / "_diary").write_text("mine", encoding="utf-8")
    with pytest.raises(RequestError, match="not part of a table"):
        kh.anonymize(
            spark.createDataFrame(datasets.census(100, quasi=3)),
            quasi=QUASI,
            k=5,
            drop="s1",
            force=True,
            output=tmp_path / "mine.parquet",
        )
    assert (tmp_path / "mine.parquet" / "_diary").exists()


def test_target_may_have_special_characters_and_be_relative_to_the_working_folder(spark, tmp_path, monkeypatch):
    """The path is relative to this process, not to the JVM. Characters of patterns and addresses are taken literally."""
    frame = spark.createDataFrame(datasets.census(100, quasi=3))
    for name in ("a:b.parquet", "dir[1]/out.parquet", "d,x{1,2}/out.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        monkeypatch.chdir((tmp_path / name).parent)
        (tmp_path / name).with_name("log_12:30.txt").touch()
        assert kh.anonymize(frame, quasi=QUASI, k=5, drop="s1", seed=1, output=(tmp_path / name).name).evidence.passed
        assert (tmp_path / name).is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match="There is no folder"):
        kh.anonymize(frame, quasi=QUASI, k=5, drop="s1", output=tmp_path / "file" / "out.parquet")


def test_failed_replacement_keeps_the_existing_release(spark, tmp_path, monkeypatch):
    target, frame = tmp_path / "out.parquet", spark.createDataFrame(datasets.census(300, quasi=3))
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "method": "mondrian", "seed": 7, "output": target}
    kh.anonymize(frame, **requested, k=5)
    before = sorted(path.name for path in target.iterdir())
    original = Folder._move

    def failing(self, folder, to):
        if to.equals(self.target):
            raise MachineError("the disk is gone")
        original(self, folder, to)

    monkeypatch.setattr(Folder, "_move", failing)
    with pytest.raises(MachineError, match="disk is gone"):
        kh.anonymize(frame, **requested, k=6, force=True)
    assert sorted(path.name for path in target.iterdir()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_release_is_never_written_over_or_among_its_source_files(spark, tmp_path):
    folder = tmp_path / "a b.parquet"
    spark.createDataFrame(datasets.census(300, quasi=3)).write.parquet(str(folder))
    before = sorted(path.name for path in folder.iterdir())
    requested: dict[str, Any] = {"quasi": QUASI, "sensitive": "s1", "k": 5, "spark": spark, "force": True}
    frame = spark.read.parquet(str(folder))
    inside, extra = folder / "in.parquet", tmp_path / "x.parquet"
    over = [(source, folder) for source in (frame, folder, f"file://{folder}")]
    among = [(folder, inside), (f"file://{folder}", inside), (f"file://{tmp_path}/*.parquet", extra)]
    for source, target in over + among:
        with pytest.raises(RequestError, match=r"made from|that kohort reads"):
            kh.anonymize(source, **requested, output=target)
    with pytest.raises(RequestError, match="made from"):
        kh.anonymize(frame, **{**requested, "force": False}).write(folder, force=True)
    assert sorted(path.name for path in folder.iterdir()) == before
