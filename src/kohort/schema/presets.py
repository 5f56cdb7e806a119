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
    "internal": Preset(3, "tight", "for the staff of the data holder: a risk of 1 in 3, the highest that data holders accept"),
    "trusted": Preset(5, "tight", "for a recipient bound by contract: a risk of 1 in 5, the traditional minimum group size of 5"),
    "public": Preset(
        11, "grid", "for everyone: a risk of 1 in 11 (EMA policy 0070 and Health Canada: 0.09; CMS: counts of at least 11)"
    ),
    "high-risk": Preset(20, "grid", "for everyone, if harm could be great: a risk of 1 in 20, as in some public patient data"),
}
