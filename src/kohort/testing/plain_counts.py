"""A plain count of promises: what a reader of the release could count. It shares no code with the methods."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from kohort.job.job import Job
from kohort.schema.promises import SensitivePromise
from kohort.testing.sample_tables import SECRET_TREE

Value = str | None
TINY = 1e-9  # sums of shares differ in their last digits from one order of adding to another


@dataclass(frozen=True)
class Held:
    """A class of a release, or all of it: how many persons, and how many of them hold each sensitive value; None is missing."""

    persons: int
    counts: Counter[Value]

    @classmethod
    def by(cls, rows: Iterable[int], persons: Sequence[Hashable], values: Sequence[Value]) -> Held:
        pairs = {(persons[row], values[row]) for row in rows}
        return cls(len({person for person, _value in pairs}), Counter(value for _person, value in pairs))

    @cached_property
    def shares(self) -> dict[Value, float]:
        total = self.counts.total()
        return {value: count / total for value, count in self.counts.items()}

    @cached_property
    def in_order(self) -> list[Value]:
        """Missing, then text as its tree has it, or numbers by size."""
        leaf = {row[0]: index for index, row in enumerate(SECRET_TREE)}
        return sorted(
            self.counts, key=lambda value: -math.inf if value is None else leaf[value] if value in leaf else float(value)
        )


def entropy_l(here: Held) -> float:
    """How many equally frequent values would leave a reader as unsure."""
    return math.exp(-sum(share * math.log(share) for share in here.shares.values()))


def recursive_c(here: Held, l: int) -> float:  # noqa: E741 - its name in every paper
    """What c must exceed for recursive (c,l)-diversity."""
    falling = sorted(here.counts.values(), reverse=True)
    return falling[0] / sum(falling[l - 1 :]) if len(falling) >= l else math.inf


def distance(here: Held, everybody: Held, value_distance: str) -> float:
    """How much of a class's distribution must be moved how far to make the whole table's."""
    gaps = {value: here.shares.get(value, 0.0) - share for value, share in everybody.shares.items()}
    if value_distance == "equal":
        return sum(gap for gap in gaps.values() if gap > 0)
    if value_distance == "ordered":
        return sum(map(abs, accumulate(gaps[value] for value in everybody.in_order))) / max(1, len(gaps) - 1)
    surplus: Counter[tuple[str, ...]] = Counter()  # by node of the tree, each named by its path from the root
    height: Counter[tuple[str, ...]] = Counter()
    for leaf, *above in ((None, "*"), *SECRET_TREE):
        path = (*reversed(above), str(leaf))
        for depth in range(1, len(path) + 1):
            surplus[path[:depth]] += gaps.get(leaf, 0.0)  # type: ignore[assignment]  # a Counter holds any number
            height[path[:depth]] = max(height[path[:depth]], len(path) - depth)
    rise = {node: height[node[:-1]] - height[node] for node in surplus if len(node) > 1}
    return sum(abs(surplus[node]) * rise[node] for node in rise) / 2 / max(height.values())


def gain(here: Held, everybody: Held, value: Value) -> float:
    """By how much a class raises the share of a value, as a share of that."""
    return here.shares[value] / everybody.shares[value] - 1


def disclosure(here: Held, everybody: Held) -> float:
    """The largest doubling or halving of a value's share."""
    if len(here.counts) < len(everybody.counts):
        return math.inf
    return max(abs(math.log2(here.shares[value] / share)) for value, share in everybody.shares.items())


def _keeps_alpha(requested: SensitivePromise, here: Held, _everybody: Held) -> bool:
    limit, limits = requested.limits
    return all(count <= limits.get(value or "", limit) * here.persons + TINY for value, count in here.counts.items())


def _keeps_beta(requested: SensitivePromise, here: Held, everybody: Held) -> bool:
    beta = requested.beta or 0.0
    basic = requested.beta_kind == "basic"
    return all(
        gain(here, everybody, value) <= (beta if basic else min(beta, -math.log(everybody.shares[value]))) + TINY
        for value in here.counts
    )


KEEPS: dict[str, Callable[[SensitivePromise, Held, Held], bool]] = {
    "alpha": _keeps_alpha,
    "l": lambda requested, here, _: len(here.counts) >= (requested.l or 0),
    "entropy_l": lambda requested, here, _: entropy_l(here) >= (requested.entropy_l or 0) - TINY,
    "recursive_l": lambda requested, here, _: (
        requested.recursive_l is None or recursive_c(here, requested.recursive_l.l) < requested.recursive_l.c
    ),
    "t": lambda requested, here, everybody: distance(here, everybody, requested.distance) <= (requested.t or 0) + TINY,
    "beta": _keeps_beta,
    "delta": lambda requested, here, everybody: disclosure(here, everybody) < (requested.delta or 0),
}
"""Whether one class keeps what is asked, given the distribution of the whole release."""


def broken(
    rows: Sequence[Mapping[str, Any]], classes: Sequence[Sequence[int]], job: Job, persons: Sequence[Hashable] | None = None
) -> list[str]:
    """The promises that these classes of published rows break, as `k` or `column.promise`; `persons` says whose each row is."""
    whose = range(len(rows)) if persons is None else persons
    small = any(len({whose[row] for row in members}) < job.promise.k for members in classes)
    found = ["k"] if small or not classes else []
    for name, requested in job.sensitive_promises().items():
        if not requested.requested:
            continue
        values = [value_of(row[name], job) for row in rows]
        everybody = Held.by(range(len(rows)), whose, values)
        groups = [Held.by(members, whose, values) for members in classes]
        found += [
            f"{name}.{promise}"
            for promise in requested.requested
            if not all(KEEPS[promise](requested, here, everybody) for here in groups)
        ]
    return found


def value_of(cell: Any, job: Job) -> Value:
    """A sensitive cell as text; missing is a value of its own, however it is spelt."""
    gone = cell is None or cell != cell or cell in ("", *job.missing)  # noqa: PLR0124 - only NaN differs from itself
    return None if gone else str(cell)


def grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """The places of each key."""
    found: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        found.setdefault(key, []).append(index)
    return list(found.values())
