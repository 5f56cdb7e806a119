"""What a comparison knows of one method at one k: a line of its table, a point of its charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

LOSSES = ("leaf", "height", "total_il", "dm", "cavg", "dm_clusters", "cavg_clusters", "square_error")
DISTANCES = ("total_variation", "earth_mover", "kullback_leibler", "entropy_share")


@dataclass(frozen=True)
class Entry:
    """One method at one k."""

    method: str
    k: int
    loss: Mapping[str, float] = field(default_factory=dict)
    """By the names of `LOSSES`."""
    clusters: int = 0
    classes: int = 0
    smallest: int = 0
    """The smallest class that the auditor counted in the release."""
    suppressed: int = 0
    seconds: float = 0.0
    """CPU, of the partition alone, once compiled."""
    queries: Mapping[str, Any] | None = None
    """As `Answers.to_dict` tells them."""
    structure: Mapping[str, Any] | None = None
    """As `Structure.to_dict` tells it."""
    models: Mapping[str, Any] | None = None
    """As `Mined.to_dict` tells them."""
    agreement: float | None = None
    """Adjusted Rand index of what k-means finds in source and release."""
    refused: str | None = None
    """Why there is no release."""

    @property
    def query_error(self) -> float:
        return float(self.queries["error"]) if self.queries else float("nan")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Entry:
        return cls(**{name: facts[name] for name in (one.name for one in fields(cls)) if name in facts})

    def row(self) -> dict[str, Any]:
        """Flat, for a CSV file."""
        figures = {name: self.loss.get(name) for name in LOSSES}
        requested = self.queries or {}
        flat = {
            "method": self.method,
            "k": self.k,
            **figures,
            "clusters": self.clusters,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "suppressed": self.suppressed,
            "cpu_seconds": self.seconds,
            "query_error": requested.get("error"),
            "query_error_median": requested.get("median"),
            "query_error_p95": requested.get("p95"),
            **self._distances(),
            "clusterings_agree": self.agreement,
            "refused": self.refused,
        }
        for model, by_data in (self.models or {}).get("models", {}).items():
            for measure, score in by_data.get("release", {}).items():
                flat[f"{model}_{measure}"] = score["mean"]
        return flat

    def _distances(self) -> dict[str, float | None]:
        facts = self.structure or {}
        return {
            **{name: facts.get("total", {}).get(name) for name in DISTANCES},
            "pairs_off": (facts.get("pairs") or {}).get("mean"),
            "correlation_change": (facts.get("correlations") or {}).get("largest"),
            "pmse": (facts.get("propensity") or {}).get("pmse"),
        }
