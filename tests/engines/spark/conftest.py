"""Fixtures for Spark sessions and clusters. A process has one session at a time. The files of cluster tests sort first."""

from __future__ import annotations

import pytest

from tests.spark_cluster import require_spark, session, standalone_cluster


@pytest.fixture(scope="package")
def spark():
    """A session in this process, shared by all test files that need no cluster."""
    require_spark()
    # The zone is neither UTC nor the zone of any file, so that mixed-up time zones are noticed.
    with session("local[2]", {"spark.sql.session.timeZone": "Europe/Berlin"}) as started:
        yield started


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers. Each test file has its own, because the last test of a file may kill a worker."""
    require_spark()
    with standalone_cluster(workers=2) as running:
        yield running


@pytest.fixture(scope="module")
def cluster_session(cluster):
    with session(cluster.url, cluster.wait_for_all) as started:
        yield started
