"""Cuts chosen by a workload reduce the error of its queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kohort import anonymize, datasets
from kohort.constraints.constraints import Constraints
from kohort.engines.base import run
from kohort.engines.memory import MemoryEncoded, MemoryEngine, MemoryPartition
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress
from kohort.schema.promises import Promise
from kohort.schema.workload import Predicate, Query, Workload
from kohort.utility.queries.answers import Questions
from kohort.utility.queries.cut_targets import wanted
from kohort.utility.queries.random_workload import random_workload
from tests.utility.queries.query_tables import answers, published, queries, readable, rows, table_of, true_answer

SLOW = pytest.mark.slow
ADULT_WORKLOAD = "benchmarks/adult_workload.toml"


def error_of(encoded: MemoryEncoded, questions: Questions, part: np.ndarray) -> float:
    """Return the error of the answers from one part, computed from its published text and by counting its rows."""
    made = MemoryPartition(encoded, Partition(np.where(part, 0, -1)))
    published = MemoryEngine(Job.build(quasi="n"), Progress(1)).publish(made).published
    kept = pa.Table.from_batches(published.batches(np.flatnonzero(part)), published.schema)
    inside, total = encoded.table.filter(pa.array(part)), 0.0
    for query, estimate, total_truth in zip(
        questions.workload.queries, questions.ask(kept).estimate, questions.truth, strict=True
    ):
        truth = true_answer(query, inside)
        could = true_answer(Query(tuple(p for p in query.where if p.column in "so")), inside)
        if could:
            total += abs(estimate - truth) * (abs(estimate - truth) / could) ** 2 / max(total_truth, 1)
    return total


@settings(max_examples=30, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
@given(rows, st.lists(queries(), min_size=1, max_size=3), st.integers(1, 3))
def test_first_cut_reduces_the_error_most(cells, requested, k):
    table = table_of(cells)
    requested = [Query(query.where) for query in requested if readable(table, query)]
    if not requested or table.column("t").null_count == table.num_rows:
        return
    encoded = published(table, np.zeros(len(cells), np.int64)).encoded
    questions, points = Questions(Workload(tuple(requested)), table, encoded.schema), encoded.points
    points = replace(points, wanted=wanted(questions, points, ()))
    if points.wanted is None:
        return
    checks = Constraints(Promise(k=max(k, 2)), points.rows)
    found = cut_table(points, checks, Progress(1), largest=points.rows - 1, answering=0.0)
    all_rows = np.ones(points.rows, np.bool_)
    now, best = error_of(encoded, questions, all_rows), 0.0
    for number in range(len(points.axes)):
        for code in points.wanted.cut[points.wanted.cut_first[number] : points.wanted.cut_first[number + 1]]:
            left = points.codes[:, number] <= code
            if min(left.sum(), (~left).sum()) >= checks.k:
                best = max(best, now - error_of(encoded, questions, left) - error_of(encoded, questions, ~left))
    taken = 0.0 if found.max() == 0 else now - error_of(encoded, questions, found == 0) - error_of(encoded, questions, found == 1)
    assert taken == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("method", ["mondrian", *(pytest.param(name, marks=SLOW) for name in ("auto", "top-down", "merge"))])
def test_promises_are_kept_and_result_does_not_depend_on_threads(method):
    sample = datasets.hospital(1_500)
    drawn = Workload(
        (
            Query((Predicate("age", "between", (30, 49)), Predicate("sex", "=", ("female",))), weight=2.0),
            Query((Predicate("age", ">=", (65,)),)),
        )
    )
    labels = []
    for threads in (1, 3):
        engine = MemoryEngine(
            Job.build(sample.job, k=5, l=3, method=method, seed=7, workload=drawn, block=300), Progress(threads)
        )
        publication = run(engine, sample.table)
        assert publication.release_table()[1].passed
        assert publication.result.answers is not None
        labels.append(publication.labels())
    assert np.array_equal(labels[0], labels[1])


def test_methods_of_papers_note_that_they_ignore_the_workload():
    sample = datasets.hospital(300)
    requested = {"query": [{"where": [["age", ">=", 65]]}]}
    for method, effort, noted in (("k-member", 0, True), ("k-member", 1, False), ("mondrian", 0, False)):
        engine = MemoryEngine(Job.build(sample.job, k=3, method=method, effort=effort, seed=7, workload=requested), Progress(1))
        notes = run(engine, sample.table).result.notes
        assert any("does not use the workload" in sentence for sentence in notes) == noted


@pytest.mark.parametrize("method", ["mondrian", "auto"])
def test_predicates_on_sensitive_columns_do_not_change_the_groups(method):
    sample = datasets.hospital(400)
    table, shuffled = sample.table, np.random.default_rng(1).permutation(400)
    other = table.set_column(table.column_names.index("diagnosis"), "diagnosis", table.column("diagnosis").take(shuffled))
    value = table.column("diagnosis")[0].as_py()
    requested = {"query": [{"where": [["diagnosis", "=", value], ["age", ">=", 50]]}]}
    job = Job.build(sample.job, k=3, method=method, seed=7, workload=requested)
    one, two = (anonymize(source, job) for source in (table, other))
    assert (one.labels == two.labels).all()
    assert one.answers is not None
    assert two.answers is not None
    assert one.answers.truth != two.answers.truth
    plain = anonymize(table, sample.job, k=3, method=method, seed=7)
    assert (one.labels != plain.labels).any()  # the predicate on age changes the groups


@pytest.mark.usefixtures("public_data")
@pytest.mark.parametrize("k", [10, *(pytest.param(k, marks=SLOW) for k in (25, 50))])
def test_workload_halves_the_error_without_more_loss(k):
    """Mondrian on Adult. Queries outside of the workload are answered no worse."""
    sample = datasets.adult()
    found = {}
    for requested in (None, ADULT_WORKLOAD):
        engine = MemoryEngine(Job.build(sample.job, k=k, method="mondrian", seed=7, workload=requested), Progress(1))
        publication = engine.publish(engine.partition(engine.encode(sample.table)))
        leaf = publication.result.loss.leaf
        others = random_workload(sample.table, publication.encoded.schema, queries=100, seed=11)
        known = answers(publication, *Workload.load(ADULT_WORKLOAD).queries)
        found[requested] = leaf, known.error, answers(publication, *others.queries).error
    (plain, before, others_before), (leaf, after, others_after) = found.values()
    assert after <= 0.5 * before
    assert leaf <= 1.05 * plain
    assert others_after <= 1.1 * others_before
