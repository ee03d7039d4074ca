"""arXiv abstracts as in the paper's experiment: what is held out, and the rare words as secrets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.secrets.detectors.rare_words import rare_words

PRIOR, POSTERIORS = 1e-10, (2e-4, 1e-3)
"""The paper's, §5: every r is drawn uniformly from the interval."""
DOCUMENT_FREQUENCY = (20, 100)
HELD_OUT, VALIDATION = 1000, 400
SEED = 0


@dataclass(frozen=True, eq=False)
class Arxiv:
    """Texts are the first `context` bytes of an abstract. Edges are from whole abstracts, so a word that stands
    behind the cut counts, too: the promise is the same for all settings and rather too strong than too weak.

    Attributes:
        private: trained on. private_held_out: never trained on, and no secret is counted in them.
        public: for the start. rehearsal, validation: other public texts, to choose learning rates by.
        edges: example_id, secret_id. secrets: secret_id, prior, posterior.
    """

    private: list[bytes]
    private_held_out: list[bytes]
    public: list[bytes]
    public_held_out: list[bytes]
    rehearsal: list[bytes]
    validation: list[bytes]
    edges: pl.DataFrame
    secrets: pl.DataFrame


def read_arxiv(private: Path, public: Path, *, context: int, start: int, most: int | None = None) -> Arxiv:
    """The two parquet files (column abstract) cut into parts, by fixed seeds.

    Args:
        context: bytes of an abstract that the model reads. start: public abstracts to pre-train on.
        most: private abstracts, for a quick run.
    """
    rng = np.random.default_rng(SEED)
    whole = _shuffled(private, rng)[: None if most is None else most + HELD_OUT]
    held_out, kept = whole[:HELD_OUT], whole[HELD_OUT:]
    words = rare_words(kept, *DOCUMENT_FREQUENCY)
    edges = pl.DataFrame(
        {
            "example_id": np.concatenate([ids for _, ids in words]),
            "secret_id": np.repeat(np.arange(len(words), dtype=np.uint32), [len(ids) for _, ids in words]),
        }
    ).sort("example_id", "secret_id")
    secrets = pl.DataFrame(
        {
            "secret_id": np.arange(len(words), dtype=np.uint32),
            "prior": np.full(len(words), PRIOR),
            "posterior": rng.uniform(*POSTERIORS, len(words)),
        }
    )
    other = [text[:context] for text in _shuffled(public, rng)]
    ends = np.cumsum([HELD_OUT, VALIDATION, start])
    public_held_out, validation, begin, rehearsal = (
        other[a:b] for a, b in zip([0, *ends], [*ends, len(other)], strict=True)
    )
    return Arxiv(
        [text[:context] for text in kept], [text[:context] for text in held_out], begin, public_held_out,
        rehearsal, validation, edges, secrets,
    )  # fmt: skip


def _shuffled(path: Path, rng: np.random.Generator) -> list[bytes]:
    texts = [text.encode() for text in pl.read_parquet(path, columns=["abstract"])["abstract"]]
    return [texts[i] for i in rng.permutation(len(texts))]
