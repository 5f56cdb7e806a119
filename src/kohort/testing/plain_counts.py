"""Checks promises by plain counting, as a reader of the release could do. It shares no code with the methods."""

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
TINY = 1e-9  # tolerance: sums of shares differ in their last digits if they are added in another order


@dataclass(frozen=True)
class Held:
    """The sensitive values of one group of a release, or of the whole release.

    Parameters
    ----------
    persons : int
        The number of people in the group.
    counts : Counter
        By sensitive value: the number of people who have it. None is the missing value.

    Examples
    --------
    >>> held = Held.by(rows=[0, 1, 2], persons=["A", "A", "B"], values=["flu", "flu", "gout"])
    >>> held.persons, sorted(held.counts.items())
    (2, [('flu', 1), ('gout', 1)])

    """

    persons: int
    counts: Counter[Value]

    @classmethod
    def by(cls, rows: Iterable[int], persons: Sequence[Hashable], values: Sequence[Value]) -> Held:
        """Count the people and the sensitive values of some rows. A person with several rows counts once per value.

        Parameters
        ----------
        rows : iterable of int
            The rows to count.
        persons : sequence
            The person of every row of the table.
        values : sequence
            The sensitive value of every row of the table.

        Returns
        -------
        Held
            The counts.

        """
        pairs = {(persons[row], values[row]) for row in rows}
        return cls(len({person for person, _value in pairs}), Counter(value for _person, value in pairs))

    @cached_property
    def shares(self) -> dict[Value, float]:
        """By sensitive value: its share of all counts."""
        total = self.counts.total()
        return {value: count / total for value, count in self.counts.items()}

    @cached_property
    def in_order(self) -> list[Value]:
        """The values in order: first missing, then texts in the order of `SECRET_TREE`, or numbers by size."""
        leaf = {row[0]: index for index, row in enumerate(SECRET_TREE)}
        return sorted(
            self.counts, key=lambda value: -math.inf if value is None else leaf[value] if value in leaf else float(value)
        )


def entropy_l(here: Held) -> float:
    """Return the entropy l-diversity of a group: the number of equally frequent values with the same entropy.

    Parameters
    ----------
    here : Held
        The group.

    Returns
    -------
    float
        The exponential of the entropy.

    Examples
    --------
    >>> round(entropy_l(Held(4, Counter(flu=2, gout=2))), 6)
    2.0

    """
    return math.exp(-sum(share * math.log(share) for share in here.shares.values()))


def recursive_c(here: Held, l: int) -> float:  # noqa: E741 - the usual name in the literature
    """Return the number that c must exceed so that a group has recursive (c,l)-diversity.

    Parameters
    ----------
    here : Held
        The group.
    l : int
        The l of recursive (c,l)-diversity.

    Returns
    -------
    float
        The count of the most frequent value divided by the sum of the counts from the l-th most frequent value on; infinity if
        there are fewer than l values.

    Examples
    --------
    >>> recursive_c(Held(6, Counter(flu=3, gout=2, mumps=1)), 2)
    1.0

    """
    falling = sorted(here.counts.values(), reverse=True)
    return falling[0] / sum(falling[l - 1 :]) if len(falling) >= l else math.inf


def distance(here: Held, everybody: Held, value_distance: str) -> float:
    """Return the t-closeness of a group: the earth mover's distance between its distribution and that of the whole table.

    Parameters
    ----------
    here : Held
        The group.
    everybody : Held
        The whole table.
    value_distance : {"equal", "ordered", "tree"}
        The distance between two values: all equal, by their order, or by their height in `SECRET_TREE`.

    Returns
    -------
    float
        The distance, from 0 to 1.

    Examples
    --------
    >>> distance(Held(2, Counter(gout=2)), Held(4, Counter(gout=2, mumps=2)), "equal")
    0.5

    """
    gaps = {value: here.shares.get(value, 0.0) - share for value, share in everybody.shares.items()}
    if value_distance == "equal":
        return sum(gap for gap in gaps.values() if gap > 0)
    if value_distance == "ordered":
        return sum(map(abs, accumulate(gaps[value] for value in everybody.in_order))) / max(1, len(gaps) - 1)
    surplus: Counter[tuple[str, ...]] = Counter()  # by node of the tree; a node is named by its path from the root
    height: Counter[tuple[str, ...]] = Counter()
    for leaf, *above in ((None, "*"), *SECRET_TREE):
        path = (*reversed(above), str(leaf))
        for depth in range(1, len(path) + 1):
            surplus[path[:depth]] += gaps.get(leaf, 0.0)  # type: ignore[assignment]  # a Counter holds any number
            height[path[:depth]] = max(height[path[:depth]], len(path) - depth)
    rise = {node: height[node[:-1]] - height[node] for node in surplus if len(node) > 1}
    return sum(abs(surplus[node]) * rise[node] for node in rise) / 2 / max(height.values())


def gain(here: Held, everybody: Held, value: Value) -> float:
    """Return the gain of a value for beta-likeness: how much its share in a group exceeds its share in the table, relatively.

    Parameters
    ----------
    here : Held
        The group.
    everybody : Held
        The whole table.
    value : str or None
        A sensitive value of the group.

    Returns
    -------
    float
        0 if the shares are equal, 1 if the share in the group is twice that in the table.

    Examples
    --------
    >>> gain(Held(2, Counter(gout=2)), Held(4, Counter(gout=2, mumps=2)), "gout")
    1.0

    """
    return here.shares[value] / everybody.shares[value] - 1


def disclosure(here: Held, everybody: Held) -> float:
    """Return the delta-disclosure of a group: the largest change of a value's share, in doublings or halvings.

    Parameters
    ----------
    here : Held
        The group.
    everybody : Held
        The whole table.

    Returns
    -------
    float
        The largest absolute binary logarithm of (share in the group / share in the table); infinity if a value of the table is
        not in the group.

    Examples
    --------
    >>> disclosure(Held(4, Counter(gout=3, mumps=1)), Held(8, Counter(gout=4, mumps=4)))
    1.0

    """
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
"""By promise: a function of (requested promise, group, whole release) that returns whether the group keeps the promise."""


def broken(
    rows: Sequence[Mapping[str, Any]], classes: Sequence[Sequence[int]], job: Job, persons: Sequence[Hashable] | None = None
) -> list[str]:
    """Return the promises of a job that groups of published rows break.

    Parameters
    ----------
    rows : sequence of mappings
        The published rows.
    classes : sequence of sequences of int
        The groups, each as the indices of its rows.
    job : Job
        The job with the promises.
    persons : sequence, optional
        The person of each row. Without it, each row is one person.

    Returns
    -------
    list of str
        The broken promises, as "k" or "column.promise".

    Examples
    --------
    >>> from kohort.job.job import Job
    >>> rows = [{"age": "*", "ill": "flu"}, {"age": "*", "ill": "flu"}]
    >>> broken(rows, [[0, 1]], Job.build(quasi="age", sensitive="ill", k=2, l=2))
    ['ill.l']

    """
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
    """Return a sensitive cell as text, or None if it is missing in any form."""
    gone = cell is None or cell != cell or cell in ("", *job.missing)  # noqa: PLR0124 - only NaN differs from itself
    return None if gone else str(cell)


def grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """Return the indices of each distinct key."""
    found: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        found.setdefault(key, []).append(index)
    return list(found.values())
