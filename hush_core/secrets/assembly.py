"""From labels to frames: what stays of chunks and secrets, with ids made dense."""

import math
from typing import Any

import numpy as np
import polars as pl

from hush_core.config import HushConfig
from hush_core.corpus import PLACEHOLDER, ChunkLayout, Corpus
from hush_core.secrets.coverage import coverage_of
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.disposition import ChunkDisposition, disposition_of, ordinary_text, weak_secrets
from hush_core.secrets.examples import examples_of
from hush_core.secrets.graph import (
    DROPPED,
    EDGES,
    OCCURRENCES,
    REDACTED,
    REDACTED_VALUES,
    REDACTIONS,
    SECRETS,
    SecretGraph,
)
from hush_core.secrets.labels import ChunkLabels, LabelTable, lines_and_columns
from hush_core.secrets.redaction import Redaction


def assemble(
    config: HushConfig,
    corpus: Corpus,
    found: list[DetectedSecret],
    labels: LabelTable,
    redaction: Redaction | None = None,
) -> tuple[SecretGraph, dict[str, Any]]:
    """The checked graph and the coverage report; `corpus`, `found` and `labels` are those after the redaction.

    Raises:
        InputError: a credential too weak, or a target not above its prior.
    """
    layout = corpus.layout_around(labels.spans())
    weak = weak_secrets(config, corpus, found, labels)
    held = labels.held(layout, corpus.contents)
    held = held.without_copies(ordinary_text(config, found, weak, held))
    disposition = disposition_of(config, corpus, layout, weak, held)
    replaced = _redacted(config, layout, redaction, disposition) if redaction is not None else {}
    graph = SecretGraph(
        examples=examples_of(corpus, layout, np.flatnonzero(disposition.kept)),
        public=examples_of(corpus, layout, np.flatnonzero(disposition.public)),
        secrets=_secrets(config, found, np.flatnonzero(~disposition.weak)),
        edges=_edges(held, disposition),
        occurrences=_occurrences(layout, labels, disposition),
        dropped=_dropped(config, corpus, layout, found, labels, held, disposition, redaction),
        **replaced,
    )
    return graph, coverage_of(config, corpus, layout, found, held, disposition, redaction)


def _secrets(config: HushConfig, found: list[DetectedSecret], which: np.ndarray) -> pl.DataFrame:
    rows = []
    for secret_id, number in enumerate(which.tolist()):
        one = found[number]
        secret = config.secrets[one.entry]
        prior = config.prior(secret, one.bits)
        target = config.target(secret)
        rows.append((secret_id, secret.kind, one.name, prior, target, -math.log2(prior), one.provenance))
    return pl.DataFrame(rows, schema=SECRETS, orient="row")


def _edges(held: ChunkLabels, disposition: ChunkDisposition) -> pl.DataFrame:
    rows = ~disposition.weak[held.found] & ~disposition.lost[held.chunk]
    return pl.DataFrame(
        {
            "example_id": _dense(disposition.kept)[held.chunk[rows]],
            "secret_id": _dense(~disposition.weak)[held.found[rows]],
            "reason": pl.Series(held.reasons, dtype=pl.String).gather(held.reason[rows]),
        },
        schema=EDGES,
    )


def _dropped(
    config: HushConfig,
    corpus: Corpus,
    layout: ChunkLayout,
    found: list[DetectedSecret],
    labels: LabelTable,
    held: ChunkLabels,
    disposition: ChunkDisposition,
    redaction: Redaction | None,
) -> pl.DataFrame:
    """The chunks that are left out, each with every secret in it: a guide for rotating them."""
    rows = disposition.lost[held.chunk]
    numbers = held.found[rows].tolist()
    secrets = [(found[number], config.secrets[found[number].entry]) for number in numbers]
    file, start, end = layout.bytes_of(held.chunk[rows])
    places = _places(corpus, labels, numbers, file, start, end, redaction)
    columns = {
        "name": [one.name for one, _ in secrets],
        "kind": [entry.kind for _, entry in secrets],
        "source": [corpus.trees[tree].source for tree in corpus.tree[file].tolist()],
        "path": [corpus.paths.shown[path] for path in corpus.path[file].tolist()],
        "start": start,
        "end": end,
        "weak": disposition.weak[numbers],
        "line": [line for line, _ in places],
        "column": [column for _, column in places],
        "reason": [held.reasons[reason] for reason in held.reason[rows].tolist()],
        "bits": [-math.log2(config.prior(entry, one.bits)) for one, entry in secrets],
        "provenance": [one.provenance for one, _ in secrets],
    }
    return pl.DataFrame(columns, schema=DROPPED).sort(pl.all())


def _places(
    corpus: Corpus,
    labels: LabelTable,
    numbers: list[int],
    file: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    redaction: Redaction | None,
) -> list[tuple[int, int]]:
    """By row, line and column at which a value begins in the chunk [start, end) of the file. Where none does, the
    line of what is there of the secret, and column 0. Both are 0 where lines cannot be counted: in a history, and
    where values were replaced."""
    spans = labels.spans()
    rows = np.isin(spans["found"], numbers)
    columns = [spans[name][rows].tolist() for name in ("found", "blob", "start", "end", "value")]
    marks: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for number, blob, *mark in zip(*columns, strict=True):
        marks.setdefault((number, blob), []).append(tuple(mark))
    replaced = set() if redaction is None else set(redaction.blob.tolist())
    places = [(0, 0)] * len(numbers)
    wanted: dict[int, list[tuple[int, int, bool]]] = {}
    for row, (number, one, first, last) in enumerate(
        zip(numbers, file.tolist(), start.tolist(), end.tolist(), strict=True)
    ):
        blob = int(corpus.blob[one])
        if blob not in replaced and corpus.trees[int(corpus.tree[one])].mode != "history":
            here = [(a, value) for a, b, value in marks.get((number, blob), ()) if a < last and b > first]
            begun = [a for a, value in here if value and a >= first]
            at = min(begun or (max(a, first) for a, _ in here), default=first)
            wanted.setdefault(blob, []).append((row, at, bool(begun)))
    for blob, asked in wanted.items():
        found = lines_and_columns(corpus.contents[blob], (at for _, at, _ in asked))
        for row, at, begun in asked:
            places[row] = found[at] if begun else (found[at][0], 0)
    return places


def _occurrences(layout: ChunkLayout, labels: LabelTable, disposition: ChunkDisposition) -> pl.DataFrame:
    """Where a value is whole in one chunk."""
    spans = labels.spans()
    rows = (spans["value"] == 1) & (spans["end"] > spans["start"]) & ~disposition.weak[spans["found"]]
    spans = {name: column[rows] for name, column in spans.items()}
    secret = _dense(~disposition.weak)[spans["found"]]
    places = (spans[name] for name in ("blob", "start", "end"))
    return _in_examples(layout, disposition, *places, secret, OCCURRENCES, whole=True)


def _in_examples(
    layout: ChunkLayout,
    disposition: ChunkDisposition,
    blob: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    ids: np.ndarray,
    schema: dict[str, Any],
    *,
    whole: bool,
) -> pl.DataFrame:
    """Where spans of contents are in the examples that hold them `whole`, or in which they begin: then one ends
    with its example. The first column of the schema is of `ids`."""
    piece, counts = layout.pieces_of_spans(blob, start, end)
    ids, start, end = (np.repeat(column, counts) for column in (ids, start, end))
    _, first, last = layout.bytes_of_pieces(piece)
    here = (first <= start) & (end <= last if whole else start < last)
    piece, ids = piece[here], ids[here]
    start, end = (start - first)[here], (np.minimum(end, last) - first)[here]
    chunk, times = layout.chunks_of_pieces(piece)
    ids, start, end = (np.repeat(column, times).astype(np.uint32) for column in (ids, start, end))
    columns = (ids, _dense(disposition.kept)[chunk], start, end)
    frame = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)
    return frame.filter(pl.Series(disposition.kept[chunk], dtype=pl.Boolean)).unique().sort(pl.all())


def _redacted(
    config: HushConfig, layout: ChunkLayout, redaction: Redaction, disposition: ChunkDisposition
) -> dict[str, pl.DataFrame]:
    """The frames of the redacted secrets, of their values, and of where placeholders begin in examples; one that a
    border cuts ends with its example."""
    rows = []
    for number, (secret, times) in enumerate(zip(redaction.secrets, redaction.times.tolist(), strict=True)):
        one, entry = secret.detected, config.secrets[secret.detected.entry]
        prior = config.prior(entry, one.bits)
        rows.append((number, entry.kind, one.name, prior, times, one.provenance))
    values = [(n, s.value) for n, s in enumerate(redaction.secrets) if s.value is not None]
    end = redaction.start + len(PLACEHOLDER)
    found = redaction.blob, redaction.start, end, redaction.number
    return {
        "redacted": pl.DataFrame(rows, schema=REDACTED, orient="row"),
        "redacted_values": pl.DataFrame(values, schema=REDACTED_VALUES, orient="row"),
        "redactions": _in_examples(layout, disposition, *found, REDACTIONS, whole=False),
    }


def _dense(mask: np.ndarray) -> np.ndarray:
    """The place of each number among those that stay."""
    return (np.cumsum(mask) - mask).astype(np.uint32)
