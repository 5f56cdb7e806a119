"""Random numbers as hashes of a seed and a counter.

They are the same on every machine, with any number of threads, in any order of the calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def hashed(seed: int, step: int | np.int64) -> np.uint64:
    """Return the random number of one step: splitmix64 of the seed (Steele, Lea, Flood 2014), mixed again with the step."""
    return mixed(mixed(np.uint64(seed)) ^ np.uint64(step))


@kernel
def below(seed: int, step: int | np.int64, limit: int | np.int64) -> np.int64:
    """Return a random integer from 0 to limit - 1. Small numbers are likelier by limit / 2^64, which does not matter here."""
    return np.int64(hashed(seed, step) % np.uint64(limit))


@kernel
def deal(seed: int, step: int | np.int64, cards: NDArray[np.int64]) -> None:
    """Put the entries into a random order (Fisher, Yates). Uses as many steps as there are entries, from `step` on."""
    for last in range(cards.size - 1, 0, -1):
        other = below(seed, step + cards.size - 1 - last, last + 1)
        cards[last], cards[other] = cards[other], cards[last]


@kernel
def chance(state: NDArray[np.uint64]) -> float:
    """Return the next random number of a sequence, at least 0 and below 1, with splitmix64. `state` has one entry."""
    drawn = mixed(state[0])
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(drawn >> np.uint64(11)) / np.float64(1 << 53)


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """Return one step of splitmix64, used as a hash."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
