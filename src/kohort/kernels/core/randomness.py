"""Random numbers as hashes of a seed and a counter: the same on every machine, at any thread count, in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def hashed(seed: int, step: int | np.int64) -> np.uint64:
    """The number of one step: splitmix64 of the seed (Steele, Lea, Flood 2014), mixed with the step, mixed again."""
    return mixed(mixed(np.uint64(seed)) ^ np.uint64(step))


@kernel
def below(seed: int, step: int | np.int64, limit: int | np.int64) -> np.int64:
    """A whole number from 0 to limit - 1. That small ones are likelier by limit / 2^64 does not matter here."""
    return np.int64(hashed(seed, step) % np.uint64(limit))


@kernel
def deal(seed: int, step: int | np.int64, cards: NDArray[np.int64]) -> None:
    """Put the entries into a random order (Fisher, Yates); uses as many steps as there are entries, from `step` on."""
    for last in range(cards.size - 1, 0, -1):
        other = below(seed, step + cards.size - 1 - last, last + 1)
        cards[last], cards[other] = cards[other], cards[last]


@kernel
def chance(state: NDArray[np.uint64]) -> float:
    """The next number from 0 to below 1 of a sequence: splitmix64 as it stands."""
    drawn = mixed(state[0])
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(drawn >> np.uint64(11)) / np.float64(1 << 53)


@kernel
def mixed(state: np.uint64) -> np.uint64:
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
