"""From labels to frames: weak credentials refused or dropped, public chunks set apart, ids made dense."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hush_core.config import CredentialsSecret, HushConfig
from hush_core.corpus.tree import SKIP_REASONS, Tree
from hush_core.errors import InputError
from hush_core.secrets.graph import EDGES, EXAMPLES, OCCURRENCES, SECRETS, SecretGraph
from hush_core.secrets.paths import Globs
from hush_core.secrets.priors import WEAK_BITS


@dataclass(frozen=True)
class Chunk:
    """Bytes [start, end) of file number `file` of tree number `tree`."""

    tree: int
    file: int
    start: int
    end: int
    text: bytes = field(repr=False)


@dataclass(frozen=True)
class Found:
    """One secret: its entry in the config, its name (never its value), measured bits where there are any."""

    entry: int
    name: str
    bits: float | None
    provenance: str


@dataclass(frozen=True, slots=True)
class Label:
    """Chunk number `chunk` holds secret number `found`.

    `value`: where in the chunk the value itself stands; `offset`: where in the file the label's cause begins.
    """

    chunk: int
    found: int
    reason: str
    value: tuple[int, int] | None = None
    offset: int = 0


def assemble(
    config: HushConfig, trees: list[Tree], chunks: list[Chunk], found: list[Found], labels: list[Label]
) -> tuple[SecretGraph, dict[str, Any]]:
    """The checked graph and the coverage report.

    Raises:
        InputError: a credential too weak, a target not above its prior, or no edge at all.
    """
    weak = _weak(config, trees, chunks, found, labels)
    lost = {label.chunk for label in labels if label.found in weak}
    reasons: dict[tuple[int, int], str] = {}
    values: set[tuple[int, int, int, int]] = set()
    for label in labels:
        if label.found in weak or label.chunk in lost:
            continue
        pair = (label.chunk, label.found)
        reasons[pair] = min(reasons.get(pair, label.reason), label.reason, key=_rank)
        if label.value is not None:
            values.add((label.found, label.chunk, *label.value))
    if not reasons:
        raise InputError(
            "secrets",
            "no example holds any of the secrets" + (" (all that do were dropped as weak)" if lost else ""),
            "check globs, teams, addresses and the revision: there is nothing to protect",
        )
    protected = {chunk for chunk, _ in reasons}
    public_files = _public_files(config, trees)
    kept, public = [], []
    for c, chunk in enumerate(chunks):
        if c not in lost:
            free = c not in protected and (chunk.tree, chunk.file) in public_files
            (public if free else kept).append(c)
    example_of = {c: i for i, c in enumerate(kept)}
    secret_of = {s: i for i, s in enumerate(s for s in range(len(found)) if s not in weak)}
    edges = sorted((example_of[c], secret_of[s], reason) for (c, s), reason in reasons.items())
    places = sorted((secret_of[s], example_of[c], a, b) for s, c, a, b in values)
    graph = SecretGraph(
        examples=_examples(trees, chunks, kept),
        public=_examples(trees, chunks, public),
        secrets=_secrets(config, found, list(secret_of)),
        edges=pl.DataFrame(edges, schema=EDGES, orient="row"),
        occurrences=pl.DataFrame(places, schema=OCCURRENCES, orient="row"),
    )
    return graph, _coverage(config, trees, chunks, found, graph, kept, public, weak, labels)


def _rank(reason: str) -> tuple[bool, str]:
    return reason.startswith("propagated"), reason


def _weak(
    config: HushConfig, trees: list[Tree], chunks: list[Chunk], found: list[Found], labels: list[Label]
) -> set[int]:
    """The credentials that are to be dropped; refuses those that must not be, naming the place only."""
    first: dict[int, Label] = {}
    for label in labels:
        best = first.get(label.found)
        if best is None or (label.chunk, label.offset) < (best.chunk, best.offset):
            first[label.found] = label
    weak, refused = set(), []
    for number, one in enumerate(found):
        secret = config.secrets[one.entry]
        if one.bits is None or not isinstance(secret, CredentialsSecret):
            continue
        bits = one.bits if secret.bits is None else min(one.bits, secret.bits)
        too_high = config.prior(secret, one.bits) >= config.posterior(secret)
        if bits >= WEAK_BITS and not too_high:
            continue
        if secret.weak == "drop":
            weak.add(number)
        else:
            refused.append((first[number].chunk, first[number].offset, number, bits))
    if refused:
        chunk, offset, number, bits = min(refused)
        tree, place = trees[chunks[chunk].tree], chunks[chunk].file
        line = tree.blobs[tree.files[place].blob].count(b"\n", 0, offset) + 1
        rule = found[number].name.partition("/")[2].rpartition(":")[0]
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise InputError(
            f"{tree.source}:{tree.files[place].path}:{line}",
            f"holds a credential ({rule}) of about {bits:.0f} bits, too easy to guess to be protected{more}",
            "remove and rotate it, or set `weak: drop` to leave the examples that hold it out of training",
        )
    return weak


def _public_files(config: HushConfig, trees: list[Tree]) -> set[tuple[int, int]]:
    if not config.public:
        return set()
    globs = Globs(config.public, "public")
    return {
        (t, f)
        for t, tree in enumerate(trees)
        for f, file in enumerate(tree.files)
        if globs.match(file.match_path)
    }


def _examples(trees: list[Tree], chunks: list[Chunk], which: list[int]) -> pl.DataFrame:
    rows = [chunks[c] for c in which]
    files = [trees[r.tree].files[r.file] for r in rows]
    return pl.DataFrame(
        {
            "example_id": range(len(rows)),
            "source": [trees[r.tree].source for r in rows],
            "path": [f.path for f in files],
            "revision": [trees[r.tree].commit for r in rows],
            "start": [r.start for r in rows],
            "end": [r.end for r in rows],
            "language": [f.language for f in files],
            "text": [r.text for r in rows],
        },
        schema=EXAMPLES,
    )


def _secrets(config: HushConfig, found: list[Found], which: list[int]) -> pl.DataFrame:
    rows = []
    for secret_id, number in enumerate(which):
        one = found[number]
        secret = config.secrets[one.entry]
        prior = config.prior(secret, one.bits)
        rows.append(
            (
                secret_id,
                secret.kind,
                one.name,
                prior,
                config.posterior(secret),
                -math.log2(prior),
                one.provenance,
            )
        )
    return pl.DataFrame(rows, schema=SECRETS, orient="row")


def _coverage(
    config: HushConfig,
    trees: list[Tree],
    chunks: list[Chunk],
    found: list[Found],
    graph: SecretGraph,
    kept: list[int],
    public: list[int],
    weak: set[int],
    labels: list[Label],
) -> dict[str, Any]:
    """Counts only: what was read, skipped, labelled and dropped."""
    chunk_count = Counter(c.tree for c in chunks)
    kept_count, public_count = Counter(chunks[c].tree for c in kept), Counter(chunks[c].tree for c in public)
    repositories = {
        tree.source: {
            "commit": tree.commit,
            "files": len(tree.files),
            "bytes": sum(len(tree.blobs[f.blob]) for f in tree.files),
            "skipped": {reason: tree.skipped[reason] for reason in SKIP_REASONS},
            "chunks": chunk_count[t],
            "examples": kept_count[t],
            "public": public_count[t],
            "dropped_weak": chunk_count[t] - kept_count[t] - public_count[t],
        }
        for t, tree in enumerate(trees)
    }
    strong = [n for n in range(len(found)) if n not in weak]
    entry_of = [found[n].entry for n in strong]
    reasons: dict[int, Counter[str]] = defaultdict(Counter)
    for secret_id, reason in graph.edges.select("secret_id", "reason").iter_rows():
        reasons[entry_of[secret_id]][reason] += 1
    with_example = Counter(entry_of[s] for s in graph.edges["secret_id"].unique())
    weak_count = Counter(found[n].entry for n in weak)
    weak_chunks: dict[int, set[int]] = defaultdict(set)
    for label in labels:
        if label.found in weak:
            weak_chunks[found[label.found].entry].add(label.chunk)
    secrets = {}
    for entry, secret in enumerate(config.secrets):
        edges = reasons[entry]
        propagated = sum(n for reason, n in edges.items() if reason.startswith("propagated"))
        total = entry_of.count(entry)
        secrets[secret.id] = {
            "kind": secret.kind,
            "secrets": total,
            "without_example": total - with_example[entry],
            "edges": edges.total(),
            "detected": edges.total() - propagated,
            "propagated": propagated,
            "reasons": dict(sorted(edges.items())),
            "weak_secrets": weak_count[entry],
            "weak_examples_dropped": len(weak_chunks[entry]),
        }
    return {"repositories": repositories, "secrets": secrets}
