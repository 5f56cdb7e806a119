"""Presets: floors that a job may stand on, each with who uses it. Light, so that the help can tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Preset:
    """A floor: whatever is asked beside it must not be weaker."""

    k: int
    ranges: Literal["tight", "grid"]
    reason: str


PRESETS: dict[str, Preset] = {
    "internal": Preset(3, "tight", "for a custodian's own staff: a risk of 1 in 3, the least that custodians accept"),
    "trusted": Preset(5, "tight", "for a recipient bound by contract: 1 in 5, the long-standing cell size of five"),
    "public": Preset(11, "grid", "for everyone: 1 in 11, the 0.09 of EMA policy 0070 and Health Canada, the cell size of CMS"),
    "high-risk": Preset(20, "grid", "for everyone, where harm could be great: 1 in 20, as for some public data on patients"),
}
