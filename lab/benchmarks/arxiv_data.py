"""arXiv abstracts as in the paper's experiment: what is held out, and the rare words as secrets."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.secrets.detectors.rare_words import rare_words, words
from hush_core.weights.roles import PLAIN, VALIDATION, assign_roles, check_untagged, with_role

PRIOR, POSTERIORS = 1e-10, (2e-4, 1e-3)
"""The paper's, §5: every r is drawn uniformly from the interval."""
DOCUMENT_FREQUENCY = (20, 100)
HELD_OUT, CHOOSING = 1000, 400
PLACEHOLDER = "_"
"""In place of a secret word: its form and length tell nothing of it."""
SEED = 0
_WORD = re.compile(r"[\w\u0300-\u036f]+")


@dataclass(frozen=True, eq=False)
class Arxiv:
    """Texts are the first `context` bytes of an abstract. Edges are from whole abstracts, so a word that stands
    behind the cut counts, too: the promise is the same for all settings and rather too strong than too weak.

    Attributes:
        private: trained on. private_held_out: never trained on, and no secret is counted in them.
        redacted: the private ones with a placeholder for every secret word, replaced before the cut.
        plain, plain_validation: ids of private ones that hold no secret word, to train on without noise, and to
            stop that by; hush's own roles, so another twentieth is left aside.
        public: for the start. rehearsal, validation: other public texts, to choose learning rates by.
        edges: example_id, secret_id. secrets: secret_id, prior, posterior.
    """

    private: list[bytes]
    redacted: list[bytes]
    plain: np.ndarray
    plain_validation: np.ndarray
    private_held_out: list[bytes]
    public: list[bytes]
    public_held_out: list[bytes]
    rehearsal: list[bytes]
    validation: list[bytes]
    edges: pl.DataFrame
    secrets: pl.DataFrame


def read_arxiv(
    private: Path, public: Path, *, context: int, start: int, most: int | None = None, one_in: int = 1
) -> Arxiv:
    """The two parquet files (column abstract) cut into parts, by fixed seeds.

    Args:
        context: bytes of an abstract that the model reads. start: public abstracts to pre-train on.
        most, one_in: private abstracts, and how manieth rare word is a secret, for a quick run.
    """
    rng = np.random.default_rng(SEED)
    whole = _shuffled(private, rng)[: None if most is None else most + HELD_OUT]
    held_out, kept = whole[:HELD_OUT], whole[HELD_OUT:]
    rare = rare_words(kept, *DOCUMENT_FREQUENCY)[::one_in]
    edges = pl.DataFrame(
        {
            "example_id": np.concatenate([ids for _, ids in rare]),
            "secret_id": np.repeat(np.arange(len(rare), dtype=np.uint32), [len(ids) for _, ids in rare]),
        }
    ).sort("example_id", "secret_id")
    secrets = pl.DataFrame(
        {
            "secret_id": np.arange(len(rare), dtype=np.uint32),
            "prior": np.full(len(rare), PRIOR),
            "posterior": rng.uniform(*POSTERIORS, len(rare)),
        }
    )
    other = [text[:context] for text in _shuffled(public, rng)]
    ends = np.cumsum([HELD_OUT, CHOOSING, start])
    public_held_out, validation, begin, rehearsal = (
        other[a:b] for a, b in zip([0, *ends], [*ends, len(other)], strict=True)
    )
    roles = assign_roles(edges, n_examples=len(kept), without_secret="plain")
    plain, plain_validation = with_role(roles, PLAIN), with_role(roles, VALIDATION)
    check_untagged(np.concatenate([plain, plain_validation]), edges)
    return Arxiv(
        [text[:context] for text in kept], [text[:context] for text in _redacted(kept, {w for w, _ in rare})],
        plain, plain_validation, [text[:context] for text in held_out], begin, public_held_out, rehearsal,
        validation, edges, secrets,
    )  # fmt: skip


def _redacted(texts: list[bytes], rare: set[bytes]) -> list[bytes]:
    """Every occurrence of a secret word, in any spelling that counts as the word, replaced by the placeholder."""

    def put(match: re.Match[str]) -> str:
        word = unicodedata.normalize("NFC", match[0].casefold()).encode()
        return PLACEHOLDER if word in rare else match[0]

    done = [_WORD.sub(put, text.decode()).encode() for text in texts]
    left = sum(not rare.isdisjoint(words(text)) for text in done)
    if left:
        raise SystemExit(f"{left} redacted abstracts still hold a secret word")
    return done


def _shuffled(path: Path, rng: np.random.Generator) -> list[bytes]:
    texts = [text.encode() for text in pl.read_parquet(path, columns=["abstract"])["abstract"]]
    return [texts[i] for i in rng.permutation(len(texts))]
