"""The secrets of the experiments on arXiv in Hush!: rare words, at its levels, and the abstracts that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.accounting import Participation, calibrate
from hush_core.files import whole_file
from hush_core.secrets.detectors.rare_words import rare_words
from hush_core.weights import RoundSettings, WeightSettings, capacity_rule, weigh
from lab.replications.infeasibility import least_noise_by_pld

PRIOR, POSTERIORS = 1e-10, (2e-4, 1e-3)
FREQUENCY = (50, 100)
"""Abstracts that a secret word stands in, the paper's: its 50,001st to 150,000th word of 1.7 million abstracts."""
BINDS_NONE = 4
"""c = 2^k; the paper's c is in a unit in which k = 4 binds no example, and so is ours: 2^(k − 4) of c_max."""
METHODS = {"paper": "kl", "matched": "blow_up", "equalised": "blow_up"}
"""By which method the capacities are found."""


@dataclass(frozen=True, eq=False)
class Graph:
    """edges: example_id, secret_id. secrets: secret_id, prior, posterior. rows: (n,) of the file, by example.
    others: rows of no example, in a seeded order."""

    edges: pl.DataFrame
    secrets: pl.DataFrame
    rows: np.ndarray
    others: np.ndarray

    def weights(self, capacities: str, k: int, *, rounds: int, batch: int) -> np.ndarray:
        """(n,) of the program at c = 2^k."""
        method = METHODS[capacities]
        settings = WeightSettings(
            rule=capacity_rule(capacities, method), c=2.0 ** (k - BINDS_NONE),
            mechanism=RoundSettings(rounds=rounds, expected_batch=batch, method=method),
        )  # fmt: skip
        return weigh(self.edges, self.secrets, n_examples=len(self.rows), settings=settings).weights

    def noise_by_pld(self, rates: np.ndarray, rounds: int) -> float | None:
        """σ by dp_accounting, for the secret that takes the most noise: all others need less by the same pair."""
        named = self.secrets.with_columns(name=pl.col("secret_id").cast(pl.String))
        done = calibrate(self.edges, rates, named, rounds=rounds, method="blow_up")
        near = done.table.with_columns(near=pl.col("bound") / pl.col("posterior")).sort("near")
        worst = near["secret_id"][-1]
        own = rates[self.edges.filter(pl.col("secret_id") == worst)["example_id"].to_numpy()]
        target = float(self.secrets["posterior"][int(worst)])
        unit = Participation.from_rates(own)
        return least_noise_by_pld(unit, target, near=done.noise_multiplier, rounds=rounds)


def rare_word_graph(
    path: Path, work: Path, *, abstracts: int | None, one_in: int, frequency: tuple[int, int], seed: int
) -> Graph:
    """Of so many abstracts (all), drawn with the seed; those without a secret are left out, as in the paper.

    Args:
        work: a folder that the words are kept in, once they are found. one_in: how manieth rare word is a secret.
    """
    low, high = frequency
    kept = work / f"edges-{abstracts}-{one_in}-{low}-{high}-{seed}.npz"
    texts = pl.read_parquet(path, columns=["abstract"])["abstract"]
    order = np.random.default_rng(seed).permutation(len(texts))
    chosen = order[:abstracts]
    if not kept.exists():
        rare = rare_words([texts[int(i)].encode() for i in chosen], low, high)[::one_in]
        examples = np.concatenate([ids for _, ids in rare])
        held, dense = np.unique(examples, return_inverse=True)
        words = np.repeat(np.arange(len(rare)), [len(ids) for _, ids in rare])
        with whole_file(kept) as file:
            np.savez(file, example=dense.astype(np.uint32), secret=words.astype(np.uint32), rows=chosen[held])
    with np.load(kept) as found:
        edges = pl.DataFrame({"example_id": found["example"], "secret_id": found["secret"]})
        rows = found["rows"]
    count = int(edges["secret_id"].max()) + 1  # type: ignore[arg-type]
    posterior = np.random.default_rng((seed, 1)).uniform(*POSTERIORS, count)
    secrets = pl.DataFrame(
        {
            "secret_id": np.arange(count, dtype=np.uint32),
            "prior": np.full(count, PRIOR),
            "posterior": posterior,
        }
    )
    return Graph(edges.sort("example_id", "secret_id"), secrets, rows, order[len(chosen) :])
