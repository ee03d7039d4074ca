"""Which replications there are; a file of this room each, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from hush_core.errors import InputError
from lab.replications.replication import Replication

NAMES = (
    "infeasibility",
    "weights_and_noise",
    "masked_training",
    "memorisation",
    "leakage_bounds",
    "ngram",
    "lazy_reconstruction",
    "canary_secrecy",
    "one_shot",
    "concentration_filter",
    "user_level",
    "company",
    "loss_law",
)
"""In the order of the index: a replication's name is its module's."""


def find_replication(name: str) -> Replication:
    """The replication of a name.

    Raises:
        InputError: there is none.
    """
    if name not in NAMES:
        raise InputError(f"replication {name}", "is not known", f"take one of {', '.join(NAMES)}")
    return import_module(f"lab.replications.{name}").REPLICATION
