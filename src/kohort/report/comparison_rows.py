"""The figures of one method at one k in a comparison: a row of its table, a point in its charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

LOSSES = ("leaf", "height", "total_il", "dm", "cavg", "dm_clusters", "cavg_clusters", "square_error")
DISTANCES = ("total_variation", "earth_mover", "kullback_leibler", "entropy_share")


@dataclass(frozen=True)
class Entry:
    """The figures of one method at one k."""

    method: str
    k: int
    loss: Mapping[str, float] = field(default_factory=dict)
    """Measures of loss by name, see `LOSSES`."""
    clusters: int = 0
    classes: int = 0
    """Number of groups in the release."""
    smallest: int = 0
    """Size of the smallest group, as counted by the auditor in the release."""
    suppressed: int = 0
    """Number of suppressed rows."""
    seconds: float = 0.0
    """CPU seconds of the partition, without compilation."""
    queries: Mapping[str, Any] | None = None
    """Result of `Answers.to_dict`."""
    structure: Mapping[str, Any] | None = None
    """Result of `Structure.to_dict`."""
    models: Mapping[str, Any] | None = None
    """Result of `Mined.to_dict`."""
    agreement: float | None = None
    """Adjusted Rand index between the k-means clusters of the source and of the release."""
    refused: str | None = None
    """Reason why there is no release."""

    @property
    def query_error(self) -> float:
        """Mean relative error of the queries; NaN without queries."""
        return float(self.queries["error"]) if self.queries else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Entry:
        """Return the entry that `to_dict` gave. Unknown keys are ignored."""
        return cls(**{name: facts[name] for name in (one.name for one in fields(cls)) if name in facts})

    def row(self) -> dict[str, Any]:
        """Return the figures as one flat row for a CSV file."""
        figures = {name: self.loss.get(name) for name in LOSSES}
        queries = self.queries or {}
        flat = {
            "method": self.method,
            "k": self.k,
            **figures,
            "clusters": self.clusters,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "suppressed": self.suppressed,
            "cpu_seconds": self.seconds,
            "query_error": queries.get("error"),
            "query_error_median": queries.get("median"),
            "query_error_p95": queries.get("p95"),
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
