"""What is promised: pure definitions. Whether a group of rows keeps one: `kohort.constraints`.

k is about every row; the others are about one sensitive column each, so each column may have its own (`SensitivePromise`).
Where a person has several rows, all of them count persons: a value is counted once for each person who holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

DEFAULT = "default"
"""The key of `alpha = {default = 0.5, HIV = 0.2}` that speaks of every value without a limit of its own."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One kind of promise: what it means, where it comes from, and what a check must know of a group."""

    name: str
    meaning: str
    paper: str
    parameters: str
    needs: tuple[str, ...]
    """Statistics of a group: size, counts (of each sensitive value), shares (of each value in the whole table)."""
    merging_keeps: bool = True
    """Two groups of rows that may stand may stand as one. Generalising merges groups, so it keeps what merging keeps."""
    growing_keeps: bool = False
    """A group that may stand still may with anybody more. Where persons have several rows merging keeps nothing else: the merged
    group holds some of them twice, so shares can rise.
    """


DEFINITIONS: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            name="k",
            meaning="every published combination of quasi-identifiers is shared by at least k persons",
            paper="Sweeney, k-anonymity: a model for protecting privacy, 2002",
            parameters="k >= 2",
            needs=("size",),
            growing_keeps=True,
        ),
        Definition(
            name="alpha",
            meaning="no sensitive value is held by more than this share of a class",
            paper="Wong, Li, Fu, Wang, (alpha,k)-anonymity, 2006; Mohapatra, Patra (paper 003)",
            parameters="0 < alpha < 1, one for all values or one for each",
            needs=("size", "counts"),
        ),
        Definition(
            name="l",
            meaning="every class holds at least l different sensitive values",
            paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
            parameters="l >= 2",
            needs=("counts",),
            growing_keeps=True,
        ),
        Definition(
            name="entropy_l",
            meaning="the entropy of a class's sensitive values is at least log(l), that of l equally frequent ones",
            paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
            parameters="l > 1",
            needs=("counts",),
        ),
        Definition(
            name="recursive_l",
            meaning="in a class the most frequent value is rarer than c times all from the l-th most frequent on",
            paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
            parameters="l >= 2, c > 0",
            needs=("counts",),
        ),
        Definition(
            name="t",
            meaning="a class's distribution of sensitive values is no further than t from the whole table's",
            paper="Li, Li, Venkatasubramanian, t-closeness, 2007",
            parameters="0 < t < 1; distance equal, ordered or tree",
            needs=("counts", "shares"),
        ),
        Definition(
            name="beta",
            meaning="no sensitive value's share in a class exceeds its share in the table by more than beta times that",
            paper="Cao, Karras, publishing microdata with a robust privacy guarantee, 2012",
            parameters="beta > 0; kind enhanced (at most -ln of the value's share, too) or basic",
            needs=("counts", "shares"),
        ),
        Definition(
            name="delta",
            meaning="every sensitive value is in every class, its share less than 2^delta times above or below that in the table",
            paper="Brickell, Shmatikov, the cost of privacy, 2008",
            parameters="delta > 0",
            needs=("counts", "shares"),
        ),
    )
}


class Recursive(NamedTuple):
    """The parameters of recursive (c,l)-diversity."""

    l: int  # noqa: E741 - its name in every paper
    c: float


Distance = Literal["equal", "ordered", "tree"]
Share = Annotated[float, Field(gt=0, lt=1)]


class SensitivePromise(BaseModel):
    """What is promised about one sensitive column: nothing, where nothing is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    alpha: float | dict[str, float] | None = Field(default=None, description=DEFINITIONS["alpha"].meaning)
    l: int | None = Field(default=None, ge=2, description=DEFINITIONS["l"].meaning)  # noqa: E741
    entropy_l: float | None = Field(default=None, gt=1, allow_inf_nan=False, description=DEFINITIONS["entropy_l"].meaning)
    recursive_l: Recursive | None = Field(default=None, description=DEFINITIONS["recursive_l"].meaning)
    t: Share | None = Field(default=None, description=DEFINITIONS["t"].meaning)
    t_distance: Distance | None = Field(default=None, description="between two values: equal unless given")
    beta: float | None = Field(default=None, gt=0, allow_inf_nan=False, description=DEFINITIONS["beta"].meaning)
    beta_kind: Literal["enhanced", "basic"] | None = Field(default=None, description="enhanced unless given")
    delta: float | None = Field(default=None, gt=0, allow_inf_nan=False, description=DEFINITIONS["delta"].meaning)

    @field_validator("recursive_l", mode="before")
    @classmethod
    def _two_numbers(cls, given: Any) -> Any:
        if given is None:
            return None
        if isinstance(given, Mapping) and set(given) == {"l", "c"}:
            given = given["l"], given["c"]
        if isinstance(given, str):
            given = given.split(",")
        try:
            whole, factor = given
            made = Recursive(int(str(whole)), float(factor))
        except (OverflowError, TypeError, ValueError):
            raise ValueError("must be two numbers, l and c: 3,2") from None
        if made.l < 2 or not 0 < made.c < float("inf"):
            raise ValueError("needs an l of at least 2 and a c above 0")
        return made

    @field_validator("alpha", mode="before")
    @classmethod
    def _shares(cls, given: Any) -> Any:
        if given is None:
            return None
        if isinstance(given, Mapping):  # a value is its text, also where the column holds numbers
            given = {str(value): limit for value, limit in given.items()}
        limits = given if isinstance(given, dict) else {DEFAULT: given}
        if not limits or not all(isinstance(limit, (int, float)) and not isinstance(limit, bool) for limit in limits.values()):
            raise ValueError("must be a share, or one for each value")
        if not all(0 < limit < 1 for limit in limits.values()):
            raise ValueError("must be greater than 0, which nothing could keep, and less than 1, which promises nothing")
        return given

    @property
    def requested(self) -> list[str]:
        """The names of `DEFINITIONS` that are promised."""
        return [name for name in SENSITIVE_PROMISES if getattr(self, name) is not None]

    @property
    def limits(self) -> tuple[float, dict[str, float]]:
        """alpha of every value, and of those with a limit of their own; 1 is no limit."""
        if isinstance(self.alpha, dict):
            named = dict(self.alpha)
            return named.pop(DEFAULT, 1.0), named
        return (1.0 if self.alpha is None else self.alpha), {}

    @property
    def distance(self) -> Distance:
        return self.t_distance or "equal"

    def over(self, others: SensitivePromise) -> SensitivePromise:
        """What this one asks, and where it asks nothing what the others ask."""
        own = {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}
        return SensitivePromise.model_construct(**{name: getattr(others, name) for name in SETTINGS} | own)


SENSITIVE_PROMISES = tuple(name for name in DEFINITIONS if name != "k")
SETTINGS = tuple(SensitivePromise.model_fields)
"""The settings of a sensitive column's promises, by which they are asked for everywhere."""


class Promise(SensitivePromise):
    """The promises of one job: k, and what holds for every sensitive column that has no word of its own."""

    k: int = Field(default=5, ge=2, lt=1 << 31, description=DEFINITIONS["k"].meaning)
