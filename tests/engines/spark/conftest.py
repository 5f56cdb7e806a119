"""Spark sessions and clusters. A process has one session at a time: files of the cluster run first, by their name."""

from __future__ import annotations

import pytest

from tests.spark_cluster import require_spark, session, standalone_cluster


@pytest.fixture(scope="package")
def spark():
    """A session in this process, shared by all files that need no cluster."""
    require_spark()
    with session("local[2]", {"spark.sql.session.timeZone": "Europe/Berlin"}) as started:  # not that of files, nor UTC
        yield started


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers. The last test of a file may kill one of them, so that every file has its own."""
    require_spark()
    with standalone_cluster(workers=2) as running:
        yield running


@pytest.fixture(scope="module")
def cluster_session(cluster):
    with session(cluster.url, cluster.wait_for_all) as started:
        yield started
