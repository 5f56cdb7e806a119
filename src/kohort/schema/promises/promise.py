"""The promises of a job: the parameters of all promises in one model, which a column can have of its own."""

from __future__ import annotations

from kohort.schema.promises import (
    alpha,
    beta_likeness,
    delta_disclosure,
    distinct_l,
    entropy_l,
    k_anonymity,
    recursive_l,
    t_closeness,
)
from kohort.schema.promises.definition import Definition

_FILES = (k_anonymity, alpha, distinct_l, entropy_l, recursive_l, t_closeness, beta_likeness, delta_disclosure)
DEFINITIONS: dict[str, Definition] = {file.DEFINITION.name: file.DEFINITION for file in _FILES}
SENSITIVE_PROMISES = tuple(name for name in DEFINITIONS if name != "k")


class SensitivePromise(
    # The last comes first: pydantic takes the fields of base classes from the right.
    delta_disclosure.DeltaDisclosure,
    beta_likeness.BetaLikeness,
    t_closeness.TCloseness,
    recursive_l.RecursiveL,
    entropy_l.EntropyL,
    distinct_l.DistinctL,
    alpha.AlphaAnonymity,
):
    """What is promised about one sensitive column: nothing, where nothing is requested."""

    @property
    def requested(self) -> list[str]:
        """The names of `DEFINITIONS` that are promised."""
        return [name for name in SENSITIVE_PROMISES if getattr(self, name) is not None]

    def over(self, others: SensitivePromise) -> SensitivePromise:
        """What this one requests, and where it requests nothing what the others request."""
        own = {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}
        return SensitivePromise.model_construct(**{name: getattr(others, name) for name in SETTINGS} | own)


SETTINGS = tuple(SensitivePromise.model_fields)
"""The settings of a sensitive column's promises, the same in Python, on the command line and in job files."""


class Promise(k_anonymity.KAnonymity, SensitivePromise):
    """The promises of one job: k, and what holds for every sensitive column that has no promise of its own."""
