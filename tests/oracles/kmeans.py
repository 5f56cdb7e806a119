"""Simple, slow Python versions of the k-means methods (section 5 of ALGORITHMS.md) and of MDAV (section 6), for comparison.

They were written from that text alone and import nothing from kohort. Distances are in units of 2^-24 of a full width. Numbers
are rounded to whole units, and means to 2^-16 of a unit, so all sums are exact. A row is a tuple of features, None = missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from tests.oracles import Categories, Column, Measure, Numbers

UNIT = 2**24
MASK = 2**64 - 1
Row = tuple[Any, ...]


def mixed(state: int) -> int:
    """Return one step of splitmix64 (Steele, Lea, Flood 2014)."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def dealt(seed: int, step: int, count: int) -> list[int]:
    """Return 0, 1, ... in random order: Fisher and Yates from the end, with one hash of seed and counter per step."""
    cards = list(range(count))
    for number, last in enumerate(range(count - 1, 0, -1)):
        other = mixed(mixed(seed) ^ (step + number)) % (last + 1)
        cards[last], cards[other] = cards[other], cards[last]
    return cards


class Feature:
    """One column: the features of its cells, their distances, and the centre of several cells."""

    def __init__(self, column: Column, measure: Measure, weight: int = 1) -> None:
        self.full, self._measure = UNIT * weight, measure
        self.cells = [self._position(cell) for cell in column] if isinstance(measure, Numbers) else list(column)

    def _position(self, cell: Any) -> int | None:
        """Return the position of a number on its axis, in units."""
        low, span = self._measure._low, self._measure._range  # type: ignore[union-attr]
        return None if cell is None else round((Fraction(cell) - low) / (span or 1) * self.full)

    def apart(self, one: Any, other: Any) -> float:
        """Return the distance of two features."""
        if one is None or other is None:
            return 0.0 if one is other else float(self.full)
        if isinstance(self._measure, Categories):
            return float(self._measure._distance(one, other) * self.full)
        return float(abs(one - other))

    def middle(self, cells: Sequence[Any]) -> Any:
        """Return the centre: the mean of numbers, the value with the lowest total distance of categories."""
        present = [cell for cell in cells if cell is not None]
        if isinstance(self._measure, Numbers):
            if 2 * len(present) < len(cells):
                return None
            return round(sum(present) / len(present) * 2**16) / 2**16
        counts, key = Counter(cells), self._measure.key
        total = {one: sum(self.apart(one, cell) for cell in cells) for one in counts}
        return min(counts, key=lambda one: (total[one], -counts[one], key(one)))


class Table:
    """The rows, floor(n/k) seed rows, and the order in which rows removed from their cluster are assigned again."""

    def __init__(
        self, columns: Sequence[Column], measures: Sequence[Measure], k: int, seed: int, weights: Sequence[int] | None = None
    ) -> None:
        weigh = weights or [1] * len(columns)
        self.features = [Feature(*one) for one in zip(columns, measures, weigh, strict=True)]
        self.rows: list[Row] = list(zip(*(feature.cells for feature in self.features), strict=True))
        self.k, self.count = k, len(self.rows) // k
        self.seeds = dealt(seed, 0, len(self.rows))[: self.count]
        self.second = dealt(seed, len(self.rows), len(self.rows))
        self.weights = [1.0] * len(columns)
        self.requested = weigh

    def distance(self, one: Row, other: Row) -> float:
        """Return the weighted distance of two rows."""
        total = 0.0
        for feature, weight, a, b in zip(self.features, self.weights, one, other, strict=True):
            total += weight * feature.apart(a, b)
        return total

    def middle(self, rows: Sequence[int]) -> Row:
        """Return the centroid of some rows."""
        return tuple(feature.middle([feature.cells[row] for row in rows]) for feature in self.features)

    def centroids(self, labels: Sequence[int], before: Sequence[Row]) -> list[Row]:
        """Return the centroid of each cluster. An empty cluster keeps its centroid."""
        members = [[row for row, label in enumerate(labels) if label == cluster] for cluster in range(self.count)]
        return [self.middle(rows) if rows else old for rows, old in zip(members, before, strict=True)]

    def nearest(self, row: Row, centroids: Sequence[Row], among: Sequence[int] | None = None) -> int:
        """Return the nearest cluster; in a tie the lowest number."""
        return min(among or range(len(centroids)), key=lambda cluster: (self.distance(row, centroids[cluster]), cluster))

    def fill(self, labels: list[int], centroids: Sequence[Row], order: Sequence[int]) -> list[int]:
        """Assign rows without a cluster to the nearest one with fewer than k rows, or to the nearest of all."""
        sizes = Counter(labels)
        for row in order:
            if labels[row] < 0:
                below = [cluster for cluster in range(self.count) if sizes[cluster] < self.k]
                labels[row] = self.nearest(self.rows[row], centroids, below)
                sizes[labels[row]] += 1
        return labels

    def adjust(self, labels: Sequence[int], centroids: Sequence[Row]) -> list[int]:
        """Keep the k nearest rows of each cluster and assign the other rows again."""
        left = list(labels)
        for cluster in range(self.count):
            members = [row for row, label in enumerate(labels) if label == cluster]
            members.sort(key=lambda row: (self.distance(self.rows[row], centroids[cluster]), row))
            for row in members[self.k :]:
                left[row] = -1
        return self.fill(left, centroids, self.second)

    def square_error(self, labels: Sequence[int], centroids: Sequence[Row]) -> int:
        """Return the squared error in units."""
        steps = (
            feature.apart(cell, middle)
            for row, label in zip(self.rows, labels, strict=True)
            for feature, cell, middle in zip(self.features, row, centroids[label], strict=True)
        )
        return sum(round(step * step / UNIT) for step in steps)

    def rounds(self, one_round: Callable[[list[Row]], list[int]], most: int = 100) -> Iterator[tuple[list[int], list[Row], str]]:
        """Yield the labels and centroids of each round, and for the last round the reason why it is the last."""
        centroids, seen = [self.rows[row] for row in self.seeds], set()
        for number in range(most):
            labels, before = one_round(centroids), centroids
            centroids = self.centroids(labels, before)
            ended = "still" if centroids == before else "repeated" if tuple(labels) in seen else "limit" * (number == most - 1)
            yield labels, centroids, ended
            seen.add(tuple(labels))
            if ended:
                return

    def plain_round(self, centroids: list[Row]) -> list[int]:
        return [self.nearest(row, centroids) for row in self.rows]

    def adjusted_round(self, centroids: list[Row]) -> list[int]:
        return self.adjust(self.plain_round(centroids), centroids)

    def filled_round(self, centroids: list[Row]) -> list[int]:
        return self.fill([-1] * len(self.rows), centroids, range(len(self.rows)))


def kmeans_adjusted(table: Table) -> list[int]:
    return min(table.rounds(table.adjusted_round), key=lambda one: table.square_error(one[0], one[1]))[0]


def kmeans_filled(table: Table) -> list[int]:
    return min(table.rounds(table.filled_round), key=lambda one: table.square_error(one[0], one[1]))[0]


def kmeans_then_adjusted(table: Table) -> list[int]:
    *_, (labels, centroids, _ended) = table.rounds(table.plain_round)
    return table.adjust(labels, centroids)


def oka(table: Table, keys: Sequence[Any]) -> list[int]:
    """Return the clusters of one-pass k-means. `keys` are the sort keys of the rows."""
    labels = [-1] * len(table.rows)
    members = [[row] for row in table.seeds]
    centroids = [table.rows[row] for row in table.seeds]
    for row in sorted(set(range(len(labels))) - set(table.seeds), key=lambda row: (keys[row], row)):
        cluster = table.nearest(table.rows[row], centroids)
        members[cluster].append(row)
        centroids[cluster] = table.middle(members[cluster])
    for cluster, rows in enumerate(members):
        for row in rows:
            labels[row] = cluster
    return table.adjust(labels, centroids)


def c_means(table: Table) -> list[int]:
    columns = range(len(table.features))
    table.weights = [1 / len(columns) for _ in columns]
    centroids, before = [table.rows[row] for row in table.seeds], [-1] * len(table.rows)
    for _round in range(100):
        labels = table.plain_round(centroids)
        centroids = table.centroids(labels, centroids)
        totals = [
            sum(
                round(table.features[j].apart(row[j], centroids[label][j])) for row, label in zip(table.rows, labels, strict=True)
            )
            for j in columns
        ]
        shares = [table.requested[j] / totals[j] if totals[j] else 0.0 for j in columns]
        whole = sum(shares)
        table.weights = [share / whole if whole else 1 / len(columns) for share in shares]
        if labels == before:
            break
        before = labels
    sizes = Counter(labels)
    large = [cluster for cluster in range(table.count) if sizes[cluster] >= table.k]
    goes_to = [c if c in large else table.nearest(centroids[c], centroids, large) for c in range(table.count)]
    return [sorted(large).index(goes_to[label]) for label in labels]


def mdav(table: Table, distance: Callable[[Row, Row], float], middle: Callable[[Sequence[int]], Row]) -> list[int]:
    rows, k, left = table.rows, table.k, list(range(len(table.rows)))
    labels, cluster = [-1] * len(rows), 0

    def take(centre: int) -> None:
        nearest = sorted((row for row in left if row != centre), key=lambda row: (distance(rows[row], rows[centre]), row))
        for row in [centre, *nearest[: k - 1]]:
            labels[row] = cluster
            left.remove(row)

    while len(left) >= 2 * k:
        twice = len(left) >= 3 * k
        mean = middle(left)
        furthest = max(left, key=lambda row: (distance(rows[row], mean), -row))
        take(furthest)
        cluster += 1
        if twice:
            take(max(left, key=lambda row: (distance(rows[row], rows[furthest]), -row)))
            cluster += 1
    return [cluster if label < 0 else label for label in labels]


def deviations(columns: Sequence[Column], weights: Sequence[int]) -> list[Row]:
    """Return numbers as standard deviations above the smallest, weighted and rounded to 2^-30."""
    made = []
    for column, weight in zip(columns, weights, strict=True):
        low, high = min(column), max(column)
        shares = [float((cell - low) / ((high - low) or 1)) for cell in column]
        mean = math.fsum(shares) / len(shares)
        deviation = math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / len(shares))
        made.append([round(share / deviation * (2.0**30 * math.sqrt(weight))) if deviation else 0 for share in shares])
    return list(zip(*made, strict=True))
