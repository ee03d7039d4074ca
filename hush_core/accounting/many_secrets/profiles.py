"""Secrets by profile: those whose examples have the same sampling rates and the same prior share every bound."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.laws import Laws
from hush_core.accounting.noise_search import check_target
from hush_core.errors import InputError


@dataclass(frozen=True, eq=False)
class Profiles(Laws):
    """Distinct profiles, in the order of their first secret; laws of K repeat where only the priors differ.

    Attributes:
        prior: p. target: the least target among the profile's secrets.
        of_secret: (secrets,) each secret's profile. first_secret: one secret of each profile, to name it.
        names: (secrets,) what to call a secret in an error.
    """

    prior: np.ndarray
    target: np.ndarray
    of_secret: np.ndarray
    first_secret: np.ndarray
    names: pl.Series

    @cached_property
    def examples(self) -> np.ndarray:
        """How many examples with a positive rate: each rate here is one's."""
        return np.diff(self.starts)

    def label(self, profile: int) -> str:
        """The name of one of its secrets."""
        return f"secret {self.names[int(self.first_secret[profile])]}"

    def as_run(self, noise_multiplier: float, rounds: int) -> History:
        """One run that draws every secret so."""
        laws = Laws.of([self.participation(profile) for profile in range(len(self))])
        return History.of_run(noise_multiplier, rounds, self.of_secret, laws)


def group_profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame) -> Profiles:
    """Check the graph and group its secrets; every one of `secrets` is in exactly one profile.

    Raises:
        InputError: names the secret and the value.
    """
    rates = np.asarray(rates, dtype=np.float64)
    names = secrets["name"] if "name" in secrets.columns else secrets["secret_id"].cast(pl.String)
    prior, target = (secrets[c].to_numpy().astype(np.float64) for c in ("prior", "posterior"))
    _check_graph(edges, rates, secrets, names)
    for index in np.flatnonzero(~((prior > 0) & (prior < target) & (target < 1)))[:1]:
        check_target(f"secret {names[int(index)]}", float(prior[index]), float(target[index]))

    secret, ids = edges["secret_id"].to_numpy(), edges["example_id"].to_numpy()
    rate = rates[ids]
    sampled = rate > 0
    secret, rate = secret[sampled], rate[sampled]
    # by secret, then by rate, as one sort of whole numbers: several times faster than two keys
    distinct, rank = np.unique(rates, return_inverse=True)
    ordered = np.sort(secret.astype(np.uint64) << np.uint64(32) | rank[ids[sampled]].astype(np.uint64))
    rate = distinct[ordered & np.uint64(2**32 - 1)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(secret, minlength=secrets.height), dtype=np.int64)])

    groups: dict[tuple[bytes, float], int] = {}
    of_secret = np.empty(secrets.height, dtype=np.int64)
    for index in range(secrets.height):
        key = (rate[starts[index] : starts[index + 1]].tobytes(), float(prior[index]))
        of_secret[index] = groups.setdefault(key, len(groups))
    first_secret = np.unique(of_secret, return_index=True)[1]
    own = [rate[starts[i] : starts[i + 1]] for i in first_secret]
    sizes = np.concatenate([[0], np.cumsum([len(r) for r in own], dtype=np.int64)])
    least = np.full(len(groups), np.inf)
    np.minimum.at(least, of_secret, target)
    kept = np.concatenate(own) if own else np.empty(0)
    return Profiles(
        kept, np.ones(len(kept), np.int64), sizes, prior[first_secret], least, of_secret, first_secret, names
    )


def _check_graph(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame, names: pl.Series) -> None:
    if not np.array_equal(secrets["secret_id"].to_numpy(), np.arange(secrets.height)):
        raise InputError("secrets", "are not numbered densely from 0 in order", "sort them by secret_id")
    if edges.height and edges["secret_id"].max() >= secrets.height:
        raise InputError(
            "edges", "name a secret that is not among the secrets", "pass both of one extraction"
        )
    ids = edges["example_id"]
    if rates.ndim != 1 or (len(ids) and ids.max() >= len(rates)):
        raise InputError(
            "rates", "an example of the edges has no rate", "give one rate an example, by example_id"
        )
    pairs = ids.to_numpy().astype(np.uint64) << np.uint64(32) | edges["secret_id"].to_numpy()
    ordered = np.sort(pairs)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        example, secret = (
            int(ordered[twice[0]] >> np.uint64(32)),
            int(ordered[twice[0]] & np.uint64(2**32 - 1)),
        )
        raise InputError(
            f"edges: secret {names[secret]}", f"holds example {example} twice, which would count it twice",
            "make the edges unique",
        )  # fmt: skip
    wrong = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if len(wrong):
        tagged = edges.filter(pl.col("example_id") == int(wrong[0]))["secret_id"].to_list()
        of = f" of secret {names[min(tagged)]}" if tagged else ""
        raise InputError(
            f"rates[{wrong[0]}]{of}", f"{rates[wrong[0]]!r} is no number in [0, 1]", "see sampling_rates"
        )
