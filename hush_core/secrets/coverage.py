"""The coverage report: counts of what was read, skipped, labelled and dropped, and no value.

Tracker and certificate get the part that depends on the graph and untagged text only (`published`). How often
something was recognised, in which form and by how many byte strings depends on the tagged text itself.
"""

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from hush_core.config import HushConfig
from hush_core.corpus import SKIP_REASONS, ChunkLayout, Corpus
from hush_core.corpus.documents import DOCUMENT_SKIP_REASONS
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.disposition import ChunkDisposition
from hush_core.secrets.labels import ChunkLabels, is_propagated
from hush_core.secrets.redaction import Redaction


def coverage_of(
    config: HushConfig,
    corpus: Corpus,
    layout: ChunkLayout,
    found: list[DetectedSecret],
    held: ChunkLabels,
    disposition: ChunkDisposition,
    redaction: Redaction | None = None,
) -> dict[str, Any]:
    """JSON-able: `repositories` (and tables) by label, `secrets` by the id of the entry."""
    secrets = _secrets(config, found, held, disposition)
    for entry, facts in _redacted(config, redaction).items():
        secrets[entry] |= facts
    return {"repositories": _repositories(corpus, layout, disposition), "secrets": secrets}


_OF_REPOSITORIES = (
    "mode", "files", "bytes_without_secret", "skipped", "chunks", "examples", "public", "dropped_weak", "units",
)  # fmt: skip
_OF_ENTRIES = (
    "kind", "protect", "secrets", "without_example", "only_in_dropped", "examples", "edges", "weak_secrets",
    "weak_examples_dropped", "left_out_secrets", "left_out_examples", "redacted_secrets", "redacted_places",
    "documentation", "in_plan",
)  # fmt: skip
"""What the graph, the sizes of files and the text of untagged examples decide; docs/secrets.md says why."""
_OF_THIS_RUN = {"commit", "commits_reused", "blobs_scanned", "blobs_reused", "skipped_files"}
"""What a repetition of the same extraction may count differently; and what is no count: names of files, and commit
ids, unkeyed hashes of all text."""


def published(coverage: dict[str, Any]) -> dict[str, Any]:
    """The report as it may be shown: the same in every run, and for all candidates of a secret."""
    return {
        "repositories": _chosen(coverage["repositories"], _OF_REPOSITORIES),
        "secrets": _chosen(coverage["secrets"], _OF_ENTRIES),
    }


def _chosen(report: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {name: {key: facts[key] for key in keys if key in facts} for name, facts in report.items()}


def repeatable(coverage: dict[str, Any]) -> dict[str, Any]:
    """All of the report but what differs from run to run; for who may read the text itself."""

    def kept(facts: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in facts.items() if key not in _OF_THIS_RUN}

    return kept(coverage) | {
        "repositories": {n: kept(facts) for n, facts in coverage["repositories"].items()}
    }


def _repositories(corpus: Corpus, layout: ChunkLayout, disposition: ChunkDisposition) -> dict[str, Any]:
    tree_of = np.repeat(corpus.tree, np.diff(layout.first_chunk))
    free = np.flatnonzero(~disposition.lost & ~disposition.protected)
    _, start, end = layout.bytes_of(free)
    text = np.bincount(tree_of[free], weights=end - start, minlength=len(corpus.trees)).astype(np.int64)
    every = np.ones_like(disposition.lost)
    masks = {"chunks": every, "examples": disposition.kept, "public": disposition.public}
    count = {
        name: np.bincount(tree_of[mask], minlength=len(corpus.trees)).tolist()
        for name, mask in (masks | {"dropped_weak": disposition.lost}).items()
    }
    return {
        tree.source: {
            "commit": tree.commit,
            "mode": tree.mode,
            "files": len(tree.blob),
            "bytes_without_secret": int(text[t]),
            "skipped": {
                reason: tree.skipped[reason]
                for reason in (DOCUMENT_SKIP_REASONS if tree.mode == "table" else SKIP_REASONS)
            },
            "skipped_files": getattr(tree.skipped, "names", []),
            **{name: counts[t] for name, counts in count.items()},
            **tree.facts,
        }
        for t, tree in enumerate(corpus.trees)
    }


def _secrets(
    config: HushConfig, found: list[DetectedSecret], held: ChunkLabels, disposition: ChunkDisposition
) -> dict[str, Any]:
    entry_of = np.array([one.entry for one in found], dtype=np.int64)
    weak_row = disposition.weak[held.found]
    rows = ~weak_row & ~disposition.lost[held.chunk]
    pairs, counts = np.unique(
        np.stack([entry_of[held.found[rows]], held.reason[rows]], axis=1), axis=0, return_counts=True
    )
    reasons: dict[int, Counter[str]] = defaultdict(Counter)
    holding = np.unique(np.stack([entry_of[held.found[rows]], held.chunk[rows]], axis=1), axis=0)
    examples = Counter(holding[:, 0].tolist())
    for (entry, reason), n in zip(pairs.tolist(), counts.tolist(), strict=True):
        reasons[entry][held.reasons[reason]] = n
    hidden = np.setdiff1d(held.found[disposition.lost[held.chunk] & ~weak_row], held.found[rows])
    only_dropped = Counter(entry_of[hidden].tolist())
    with_example = Counter(entry_of[np.unique(held.found[rows])].tolist())
    dropped = np.unique(np.stack([entry_of[held.found[weak_row]], held.chunk[weak_row]], axis=1), axis=0)
    weak_chunks = Counter(dropped[:, 0].tolist())
    strong, weak = Counter(entry_of[~disposition.weak].tolist()), Counter(entry_of[disposition.weak].tolist())
    report = {}
    for entry, secret in enumerate(config.secrets):
        edges = reasons[entry]
        left_out = secret.protect == "drop"
        propagated = sum(n for reason, n in edges.items() if is_propagated(reason))
        report[secret.id] = {
            "kind": secret.kind,
            **({} if secret.protect == "auto" else {"protect": secret.protect}),
            "secrets": strong[entry],
            "without_example": strong[entry] - with_example[entry],
            "only_in_dropped": only_dropped[entry],
            "examples": examples[entry],
            "edges": edges.total(),
            "detected": edges.total() - propagated,
            "propagated": propagated,
            "reasons": dict(sorted(edges.items())),
            "weak_secrets": 0 if left_out else weak[entry],
            "weak_examples_dropped": 0 if left_out else weak_chunks[entry],
            "left_out_secrets": weak[entry] if left_out else 0,
            "left_out_examples": weak_chunks[entry] if left_out else 0,
        }
    return report


def _redacted(config: HushConfig, redaction: Redaction | None) -> dict[str, dict[str, int]]:
    """By entry: how many secrets were redacted, and in how many places of files a placeholder represents each."""
    secrets, places = Counter[int](), Counter[int]()
    if redaction is not None:
        for secret, times in zip(redaction.secrets, redaction.times.tolist(), strict=True):
            secrets[secret.detected.entry] += 1
            places[secret.detected.entry] += times
    return {
        secret.id: {"redacted_secrets": secrets[entry], "redacted_places": places[entry]}
        for entry, secret in enumerate(config.secrets)
    }
