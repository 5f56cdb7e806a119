"""Cuts by a workload lower the error of its queries."""

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
from tests.utility.queries.query_tables import answers, made, published, queries, readable, rows, true_answer

SLOW = pytest.mark.slow
ADULT_WORKLOAD = "benchmarks/adult_workload.toml"


def off(encoded: MemoryEncoded, questions: Questions, part: np.ndarray) -> float:
    """How far the answers from one part are off: from its published text, and by counting its records."""
    made = MemoryPartition(encoded, Partition(np.where(part, 0, -1)))
    published = MemoryEngine(Job.build(quasi="n"), Progress(1)).publish(made).published
    kept = pa.Table.from_batches(published.batches(np.flatnonzero(part)), published.schema)
    inside, total = encoded.table.filter(pa.array(part)), 0.0
    for query, estimate, everybody in zip(questions.workload.queries, questions.ask(kept).estimate, questions.truth, strict=True):
        truth = true_answer(query, inside)
        could = true_answer(Query(tuple(p for p in query.where if p.column in "so")), inside)
        if could:
            total += abs(estimate - truth) * (abs(estimate - truth) / could) ** 2 / max(everybody, 1)
    return total


@settings(max_examples=30, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
@given(rows, st.lists(queries(), min_size=1, max_size=3), st.integers(1, 3))
def test_the_first_cut_lowers_the_error_most(cells, asked, k):
    table = made(cells)
    asked = [Query(query.where) for query in asked if readable(table, query)]
    if not asked or table.column("t").null_count == table.num_rows:
        return
    encoded = published(table, np.zeros(len(cells), np.int64)).encoded
    questions, points = Questions(Workload(tuple(asked)), table, encoded.schema), encoded.points
    points = replace(points, wanted=wanted(questions, points, ()))
    if points.wanted is None:
        return
    checks = Constraints(Promise(k=max(k, 2)), points.rows)
    found = cut_table(points, checks, Progress(1), largest=points.rows - 1, answering=0.0)
    everybody = np.ones(points.rows, np.bool_)
    now, best = off(encoded, questions, everybody), 0.0
    for number in range(len(points.axes)):
        for code in points.wanted.cut[points.wanted.cut_first[number] : points.wanted.cut_first[number + 1]]:
            left = points.codes[:, number] <= code
            if min(left.sum(), (~left).sum()) >= checks.k:
                best = max(best, now - off(encoded, questions, left) - off(encoded, questions, ~left))
    taken = 0.0 if found.max() == 0 else now - off(encoded, questions, found == 0) - off(encoded, questions, found == 1)
    assert taken == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("method", ["mondrian", *(pytest.param(name, marks=SLOW) for name in ("auto", "top-down", "merge"))])
def test_promises_are_kept_and_threads_do_not_matter(method):
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


def test_a_method_of_a_paper_says_that_it_does_not_go_by_the_workload():
    sample = datasets.hospital(300)
    asked = {"query": [{"where": [["age", ">=", 65]]}]}
    for method, effort, told in (("k-member", 0, True), ("k-member", 1, False), ("mondrian", 0, False)):
        engine = MemoryEngine(Job.build(sample.job, k=3, method=method, effort=effort, seed=7, workload=asked), Progress(1))
        notes = run(engine, sample.table).result.notes
        assert any("does not use the workload" in sentence for sentence in notes) == told


@pytest.mark.parametrize("method", ["mondrian", "auto"])
def test_groups_do_not_go_by_what_is_asked_of_sensitive_columns(method):
    sample = datasets.hospital(400)
    table, shuffled = sample.table, np.random.default_rng(1).permutation(400)
    other = table.set_column(table.column_names.index("diagnosis"), "diagnosis", table.column("diagnosis").take(shuffled))
    value = table.column("diagnosis")[0].as_py()
    asked = {"query": [{"where": [["diagnosis", "=", value], ["age", ">=", 50]]}]}
    job = Job.build(sample.job, k=3, method=method, seed=7, workload=asked)
    one, two = (anonymize(source, job) for source in (table, other))
    assert (one.labels == two.labels).all()
    assert one.answers is not None
    assert two.answers is not None
    assert one.answers.truth != two.answers.truth
    plain = anonymize(table, sample.job, k=3, method=method, seed=7)
    assert (one.labels != plain.labels).any()  # the age was heard


@pytest.mark.usefixtures("public_data")
@pytest.mark.parametrize("k", [10, *(pytest.param(k, marks=SLOW) for k in (25, 50))])
def test_the_error_of_a_workload_falls_by_half_at_no_more_loss(k):
    """Mondrian on Adult; a workload that it does not know is answered no worse."""
    sample = datasets.adult()
    found = {}
    for asked in (None, ADULT_WORKLOAD):
        engine = MemoryEngine(Job.build(sample.job, k=k, method="mondrian", seed=7, workload=asked), Progress(1))
        publication = engine.publish(engine.partition(engine.encode(sample.table)))
        leaf = publication.result.loss.leaf
        others = random_workload(sample.table, publication.encoded.schema, queries=100, seed=11)
        known = answers(publication, *Workload.load(ADULT_WORKLOAD).queries)
        found[asked] = leaf, known.error, answers(publication, *others.queries).error
    (plain, before, others_before), (leaf, after, others_after) = found.values()
    assert after <= 0.5 * before
    assert leaf <= 1.05 * plain
    assert others_after <= 1.1 * others_before
