"""Registry of all methods. To add a method, write its file and list it here. The contract suite then tests it."""

from __future__ import annotations

from kohort.methods import (
    auto,
    c_means,
    datafly,
    gccg,
    incognito,
    k_member,
    k_members,
    kaca,
    kmeans_adjusted,
    kmeans_filled,
    kmeans_then_adjusted,
    mdav,
    merge,
    mondrian,
    mondrian_1d,
    oka,
    threshold,
    top_down,
)
from kohort.methods.method import Method, Options, Partition

_FILES = (
    auto, top_down, merge, mondrian, mondrian_1d, k_member, k_members, gccg, kaca, oka, kmeans_adjusted, kmeans_filled,
    kmeans_then_adjusted, c_means, threshold, mdav, incognito, datafly,
)  # fmt: skip
METHODS: dict[str, Method] = {file.METHOD.name: file.METHOD for file in _FILES}

__all__ = ["METHODS", "Method", "Options", "Partition"]
