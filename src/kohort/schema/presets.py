"""Presets: minimum privacy settings for typical recipients. The module imports little, because `kohort --help` uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Preset:
    """Minimum settings: the other settings of a job must not be weaker."""

    k: int
    ranges: Literal["tight", "grid"]
    reason: str


PRESETS: dict[str, Preset] = {
    "internal": Preset(3, "tight", "for your own staff: groups of 3 are the least that is in common use (a risk of 1 in 3)"),
    "trusted": Preset(5, "tight", "for a recipient bound by contract: groups of 5, the traditional minimum (a risk of 1 in 5)"),
    "public": Preset(
        11, "grid", "for everybody: EMA policy 0070 and Health Canada (a risk of 0.09), CMS in the US (counts of at least 11)"
    ),
    "high-risk": Preset(20, "grid", "for everybody, if harm could be great: groups of 20 (a risk of 1 in 20)"),
}
