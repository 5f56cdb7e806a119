"""The promises of a job (`Promise`) and of one sensitive column (`SensitivePromise`): the parameters of all promises."""

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
    # In reverse order, because pydantic collects the fields of base classes from right to left.
    delta_disclosure.DeltaDisclosure,
    beta_likeness.BetaLikeness,
    t_closeness.TCloseness,
    recursive_l.RecursiveL,
    entropy_l.EntropyL,
    distinct_l.DistinctL,
    alpha.AlphaAnonymity,
):
    """The promises about one sensitive column. A promise whose parameter is None is not made."""

    @property
    def requested(self) -> list[str]:
        """The names of the promises that are made, as in `DEFINITIONS`."""
        return [name for name in SENSITIVE_PROMISES if getattr(self, name) is not None]

    def over(self, others: SensitivePromise) -> SensitivePromise:
        """Return these settings; those that are None are taken from `others`."""
        own = {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}
        return SensitivePromise.model_construct(**{name: getattr(others, name) for name in SETTINGS} | own)


SETTINGS = tuple(SensitivePromise.model_fields)
"""The settings of promises about a sensitive column. Python, the command line and job files use the same names."""


class Promise(k_anonymity.KAnonymity, SensitivePromise):
    """The promises of one job: k, and the promises about all sensitive columns that have no promises of their own."""
