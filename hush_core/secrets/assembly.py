"""From labels to frames: weak credentials refused or dropped, public chunks set apart, ids made dense."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hush_core.config import HushConfig
from hush_core.corpus import Corpus, Layout
from hush_core.errors import InputError
from hush_core.secrets.coverage import coverage_of
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.path import Globs
from hush_core.secrets.examples import examples_of
from hush_core.secrets.graph import DROPPED, EDGES, OCCURRENCES, SECRETS, SecretGraph
from hush_core.secrets.labels import ChunkLabels, LabelTable
from hush_core.secrets.priors import WEAK_BITS


@dataclass(frozen=True)
class ChunkDisposition:
    """What becomes of chunks and secrets, as masks.

    lost: holds a weak credential and is dropped. protected: holds a secret that is kept. public: neither, and
    named public. weak: by secret, dropped.
    """

    lost: np.ndarray
    protected: np.ndarray
    public: np.ndarray
    weak: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        return ~self.lost & ~self.public


def assemble(
    config: HushConfig,
    corpus: Corpus,
    found: list[DetectedSecret],
    labels: LabelTable,
    work: Path | None = None,
) -> tuple[SecretGraph, dict[str, Any]]:
    """The checked graph and the coverage report.

    Raises:
        InputError: a credential too weak, a target not above its prior, or no edge at all.
    """
    layout = corpus.layout
    held = labels.held(layout, corpus.contents)
    fate = _fate(config, corpus, layout, found, labels, held)
    graph = SecretGraph(
        examples=examples_of(corpus, layout, np.flatnonzero(fate.kept), work),
        public=examples_of(corpus, layout, np.flatnonzero(fate.public), work),
        secrets=_secrets(config, found, np.flatnonzero(~fate.weak)),
        edges=_edges(held, fate),
        occurrences=_occurrences(layout, labels, fate),
        dropped=_dropped(config, corpus, layout, found, held, fate),
    )
    return graph, coverage_of(config, corpus, layout, found, held, fate)


def _fate(
    config: HushConfig,
    corpus: Corpus,
    layout: Layout,
    found: list[DetectedSecret],
    labels: LabelTable,
    held: ChunkLabels,
) -> ChunkDisposition:
    weak = _weak(config, corpus, found, labels)
    lost, protected, public = (np.zeros(layout.chunks, dtype=bool) for _ in range(3))
    lost[held.chunk[weak[held.found]]] = True
    protected[held.chunk[~weak[held.found]]] = True
    protected &= ~lost
    if not protected.any():
        raise InputError(
            "secrets",
            "no example holds any of the secrets"
            + (" (all that do were dropped as weak)" if lost.any() else ""),
            "check globs, teams, addresses and the revision: there is nothing to protect",
        )
    if config.public:
        chunks, _ = layout.chunks_of_files(corpus.files_at(Globs(config.public, "public").match))
        public[chunks] = True
        public &= ~lost & ~protected
    return ChunkDisposition(lost, protected, public, weak)


def _weak(config: HushConfig, corpus: Corpus, found: list[DetectedSecret], labels: LabelTable) -> np.ndarray:
    """A mask of the secrets that are to be dropped; refuses those that must not be, naming the place only.

    `weak: drop` or `refuse` is the entry's, where its model has such a key. Any measured secret whose prior
    is not below its target is refused otherwise.
    """
    weak, refused = np.zeros(len(found), dtype=bool), {}
    for number, one in enumerate(found):
        secret = config.secrets[one.entry]
        if one.bits is None:
            continue
        policy = getattr(secret, "weak", None)
        bits = one.bits if secret.bits is None else min(one.bits, secret.bits)
        too_high = config.prior(secret, one.bits) >= config.posterior(secret)
        if not too_high and (policy is None or bits >= WEAK_BITS):
            continue
        if policy == "drop":
            weak[number] = True
        else:
            refused[number] = bits
    if refused:
        raise _refusal(corpus, found, labels, refused)
    return weak


def _refusal(
    corpus: Corpus, found: list[DetectedSecret], labels: LabelTable, refused: dict[int, float]
) -> InputError:
    """The refusal for the first place, in the order of the files, where a secret that is too weak was detected."""
    spans = labels.spans()
    chosen = np.isin(spans["found"], list(refused)) & labels.detected(spans)
    places = [
        (int(file), start, number)
        for number, blob, start in zip(
            *(spans[c][chosen].tolist() for c in ("found", "blob", "start")), strict=True
        )
        for file in corpus.layout.files_of_blob(blob)[:1]
    ]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    hint = "remove and rotate it, or set `weak: drop` to leave the examples that hold it out of training"
    number = min(places)[2] if places else min(refused)
    rule = found[number].name.partition("/")[2].rpartition(":")[0]
    what = (
        f"holds a credential ({rule}) of about {refused[number]:.0f} bits, "
        f"too easy to guess to be protected{more}"
    )
    if not places:
        return InputError(f"secrets.{found[number].name.partition('/')[0]}", what, hint)
    file, start, _ = min(places)
    line = corpus.contents[int(corpus.blob[file])].count(b"\n", 0, start) + 1
    source = corpus.trees[int(corpus.tree[file])].source
    return InputError(f"{source}:{corpus.file(file).path}:{line}", what, hint)


def _secrets(config: HushConfig, found: list[DetectedSecret], which: np.ndarray) -> pl.DataFrame:
    rows = []
    for secret_id, number in enumerate(which.tolist()):
        one = found[number]
        secret = config.secrets[one.entry]
        prior = config.prior(secret, one.bits)
        target = config.posterior(secret)
        rows.append((secret_id, secret.kind, one.name, prior, target, -math.log2(prior), one.provenance))
    return pl.DataFrame(rows, schema=SECRETS, orient="row")


def _edges(held: ChunkLabels, fate: ChunkDisposition) -> pl.DataFrame:
    rows = ~fate.weak[held.found] & ~fate.lost[held.chunk]
    return pl.DataFrame(
        {
            "example_id": _dense(fate.kept)[held.chunk[rows]],
            "secret_id": _dense(~fate.weak)[held.found[rows]],
            "reason": pl.Series(held.reasons, dtype=pl.String).gather(held.reason[rows]),
        },
        schema=EDGES,
    )


def _dropped(
    config: HushConfig,
    corpus: Corpus,
    layout: Layout,
    found: list[DetectedSecret],
    held: ChunkLabels,
    fate: ChunkDisposition,
) -> pl.DataFrame:
    """The chunks that are left out, each with every secret in it: whoever rotates one looks here."""
    rows = fate.lost[held.chunk]
    numbers = held.found[rows].tolist()
    file, start, end = layout.bytes_of(held.chunk[rows])
    columns = {
        "name": [found[number].name for number in numbers],
        "kind": [config.secrets[found[number].entry].kind for number in numbers],
        "source": [corpus.trees[tree].source for tree in corpus.tree[file].tolist()],
        "path": [corpus.paths.shown[path] for path in corpus.path[file].tolist()],
        "start": start,
        "end": end,
        "weak": fate.weak[numbers],
    }
    return pl.DataFrame(columns, schema=DROPPED).sort(pl.all())


def _occurrences(layout: Layout, labels: LabelTable, fate: ChunkDisposition) -> pl.DataFrame:
    """Where a value stands whole in one chunk."""
    spans = labels.spans()
    size = layout.chunk_bytes
    rows = (spans["value"] == 1) & (spans["end"] > spans["start"])
    rows &= (spans["start"] // size == (spans["end"] - 1) // size) & ~fate.weak[spans["found"]]
    spans = {name: column[rows] for name, column in spans.items()}
    piece, _ = layout.pieces_of_spans(spans["blob"], spans["start"], spans["end"])
    chunk, places = layout.chunks_of_pieces(piece)
    frame = pl.DataFrame(
        {
            "secret_id": _dense(~fate.weak)[np.repeat(spans["found"], places)],
            "example_id": _dense(fate.kept)[chunk],
            "start": np.repeat(spans["start"] % size, places).astype(np.uint32),
            "end": np.repeat((spans["end"] - 1) % size + 1, places).astype(np.uint32),
        },
        schema=OCCURRENCES,
    )
    return frame.filter(pl.Series(fate.kept[chunk])).unique().sort(pl.all())


def _dense(mask: np.ndarray) -> np.ndarray:
    """The place of each number among those that stay."""
    return (np.cumsum(mask) - mask).astype(np.uint32)
