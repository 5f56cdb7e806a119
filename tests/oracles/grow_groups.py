"""Simple Python versions of sections 3, 4 and 6 of ALGORITHMS.md: greedy k-member, k-members, GCCG, KACA, threshold clustering.

They were written from that text and import nothing from kohort. Rows are numbers. `width(rows)` is the sum of the widths of a
group over all columns.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

MASK = 2**64 - 1


def mixed(state: int) -> int:
    """Return one step of splitmix64 (Steele, Lea, Flood 2014)."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def below(seed: int, step: int, limit: int) -> int:
    """Return a random integer below a limit."""
    return mixed(mixed(seed) ^ step) % limit


def dealt(seed: int, step: int, cards: list[Any]) -> list[Any]:
    """Return the entries in random order."""
    cards = list(cards)
    for last in range(len(cards) - 1, 0, -1):
        other = below(seed, step + len(cards) - 1 - last, last + 1)
        cards[last], cards[other] = cards[other], cards[last]
    return cards


class Table:
    """Columns and their measures. Computes widths and losses of groups of rows."""

    def __init__(self, columns, measures) -> None:
        self.columns, self.measures = list(columns), measures
        self.rows = len(self.columns[0])
        self._known: dict[frozenset[int], Fraction] = {}

    def width(self, rows) -> Fraction:
        key = frozenset(rows)
        if key not in self._known:
            parts = zip(self.columns, self.measures, strict=True)
            self._known[key] = sum((m.height_width([column[row] for row in rows]) for column, m in parts), Fraction(0))
        return self._known[key]

    def loss(self, rows) -> Fraction:
        return len(rows) * self.width(rows) if rows else Fraction(0)


def labels_of(groups: list[list[int]], rows: int) -> list[int]:
    """Return the group of each row, or -1."""
    label = {row: number for number, group in enumerate(groups) for row in group}
    return [label.get(row, -1) for row in range(rows)]


def join(table: Table, groups: list[list[int]], rest: list[int]) -> None:
    """Add each remaining row to the group whose loss grows least."""
    for row in rest:
        growth = [table.loss([*group, row]) - table.loss(group) for group in groups]
        groups[growth.index(min(growth))].append(row)


def k_member(table: Table, k: int, seed: int, *, random_seeds: bool) -> list[int]:
    free, groups = list(range(table.rows)), list[list[int]]()
    last = free[below(seed, 0, len(free))]
    while len(free) >= k:
        if random_seeds:
            start = free[below(seed, len(groups), len(free))]
        else:
            start = max(free, key=lambda row: (table.width([last, row]), -row))
        group = [start]
        free.remove(start)
        while len(group) < k:
            last = min(free, key=lambda row: (table.width([*group, row]), row))
            group.append(last)
            free.remove(last)
        groups.append(group)
    join(table, groups, dealt(seed, table.rows, free))
    return labels_of(groups, table.rows)


def gccg(table: Table, k: int, parts: int) -> list[int]:
    scores = [sum(Counter(column)[column[row]] for column in table.columns) for row in range(table.rows)]
    order = sorted(range(table.rows), key=lambda row: -scores[row])
    power = 1
    while power < parts:
        power *= 2
    largest, done, groups = -(-table.rows // power), [], []
    waiting = [order]
    while waiting:
        part = waiting.pop(0)
        half = len(part) // 2
        if len(part) <= largest or half < k:
            done.append(part)
            continue
        near = sorted(part[1:], key=lambda row: table.width([part[0], row]))[: half - 1]
        one = {part[0], *near}
        waiting = [[row for row in part if row in one], [row for row in part if row not in one], *waiting]
    for part in done:
        free = list(part)
        for _ in range(len(part) // k - 1):
            centre = free[0]
            group = [centre, *sorted(free[1:], key=lambda row: table.width([centre, row]))[: k - 1]]
            groups.append(group)
            free = [row for row in free if row not in group]
        groups.append(free)
    return labels_of(groups, table.rows)


def kaca(table: Table, k: int, seed: int, *, start: str) -> list[int]:
    records = [tuple(column[row] for column in table.columns) for row in range(table.rows)]
    groups = [[row for row in range(table.rows) if records[row] == record] for record in dict.fromkeys(records)]
    if start == "records":
        groups = [[row] for row in range(table.rows)]
    step = 0
    while len(groups) > 1 and any(len(group) < k for group in groups):
        small = [group for group in groups if len(group) < k]
        one = small[below(seed, step, len(small))]
        step += 1
        others = [group for group in groups if group is not one]
        added = [
            len(one) * (table.width(one + other) - table.width(one))
            + len(other) * (table.width(one + other) - table.width(other))
            for other in others
        ]
        other = others[added.index(min(added))]
        groups = sorted([*(group for group in groups if group is not one and group is not other), sorted(one + other)])
    return labels_of(groups, table.rows)


def threshold(table: Table, k: int, seed: int, limit: float, budget: int) -> list[int] | None:
    free, groups = list(range(table.rows)), list[list[int]]()
    while free:
        group = [free[below(seed, len(groups), len(free))]]
        free.remove(group[0])
        while free:
            nearest = min(free, key=lambda row: (table.width([*group, row]), row))
            if table.width([*group, nearest]) > Fraction(limit) * len(table.columns):
                break
            group.append(nearest)
            free.remove(nearest)
        groups.append(group)
    kept, rest = [group for group in groups if len(group) >= k], []
    for group in groups:
        if len(group) < k and len(group) <= budget:
            budget -= len(group)
        elif len(group) < k:
            rest += group
    if not kept:
        return None
    join(table, kept, sorted(rest))
    return labels_of(kept, table.rows)


def least_loss(table: Table, k: int) -> Fraction:
    """Return the lowest total information loss of any partition into groups of at least k, by trying all partitions.

    Groups of 2k or more rows are not tried, because halving such a group never loses more.
    """
    best: dict[int, Fraction] = {0: Fraction(0)}

    def solve(left: int) -> Fraction | None:
        if left not in best:
            rows = [row for row in range(table.rows) if left >> row & 1]
            found = []
            for size in range(k, min(2 * k, len(rows) + 1)):
                for others in combinations(rows[1:], size - 1):
                    group = (rows[0], *others)
                    rest = solve(left & ~sum(1 << row for row in group))
                    found += [rest + table.loss(group)] if rest is not None else []
            if not found:
                return None
            best[left] = min(found)
        return best[left]

    least = solve((1 << table.rows) - 1)
    assert least is not None
    return least
