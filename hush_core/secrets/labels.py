"""Labels while they are gathered, and what they say of every chunk: all in columns, none an object.

A label on a content counts in every file of that content; one on a file counts there. A chunk with the same bytes
as a labelled one holds the same secrets, as it is the same training example. Where a value was found, only the
value itself is searched for in copies: the chunk around it may be anybody's boilerplate.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hush_core.corpus import BlobStore, ChunkLayout, RedactedCorpus, Replacements
from hush_core.secrets.detectors.base import Labels, Span

COPY = "propagated:copy"
COLUMNS = ("found", "blob", "start", "end", "reason", "value", "copied")
Given = tuple[int, int, np.ndarray]
"""Files or contents that hold a secret whole: its number, the number of the reason, theirs."""


def is_propagated(reason: str) -> bool:
    """Whether an edge's reason says that the secret was found elsewhere and recognised here."""
    return reason.startswith("propagated")


@dataclass(frozen=True)
class ChunkLabels:
    """Which chunk holds which secret: unique and sorted by (chunk, found); `reason` points into `reasons`."""

    chunk: np.ndarray
    found: np.ndarray
    reason: np.ndarray
    reasons: tuple[str, ...]

    @property
    def propagated(self) -> np.ndarray:
        """A mask of the rows that no detector saw."""
        return np.array([is_propagated(reason) for reason in self.reasons], dtype=bool)[self.reason]

    def without_copies(self, of: np.ndarray) -> ChunkLabels:
        """Only what detectors saw of these secrets (a mask over all), and everything of the others."""
        left = ~(of[self.found] & self.propagated)
        return ChunkLabels(self.chunk[left], self.found[left], self.reason[left], self.reasons)


class LabelTable:
    """Who holds what, as the detectors and propagators say it. Secrets are numbers, `found`."""

    def __init__(self) -> None:
        self._reasons: dict[str, int] = {COPY: 0}
        self._files: list[Given] = []
        self._blobs: list[Given] = []
        self._decided: dict[int, np.ndarray] = {}
        self._spans = {name: array("q") for name in COLUMNS}

    def add(self, found: int, new_labels: Labels, default: str) -> None:
        """Take in the files, blobs and spans of one secret; an empty reason becomes `default`."""
        reason = self._reason(new_labels.reason or default)
        decided = np.fromiter(new_labels.decided, dtype=np.int64)
        if len(decided):
            self._decided[found] = np.union1d(decided, self.decided_of(found))
        for kept, given in ((self._files, new_labels.files), (self._blobs, new_labels.blobs)):
            numbers = np.unique(np.fromiter(given, dtype=np.int64))
            if len(numbers):
                kept.append((found, reason, numbers))
        for span in new_labels.spans:
            self.add_span(found, span._replace(reason=span.reason or default), copied=new_labels.copies)

    def add_span(self, found: int, span: Span, *, copied: bool) -> None:
        """One span of a content; `copied`: exact copies of the chunks that it overlaps are labelled, too."""
        row = (found, span.blob, span.start, span.end, self._reason(span.reason), span.value, copied)
        for column, item in zip(self._spans.values(), row, strict=True):
            column.append(item)

    def files_of(self, found: int, *, detected: bool = False) -> np.ndarray:
        """The files that a secret was given whole, so far; for propagators. `detected`: by its detector."""
        return self._given(self._files, found, detected)

    def blobs_of(self, found: int, *, detected: bool = False) -> np.ndarray:
        """The contents that a secret was given whole, so far; for propagators. `detected`: by its detector."""
        return self._given(self._blobs, found, detected)

    def decided_of(self, found: int) -> np.ndarray:
        """The contents in which the secret's detector itself indicated what holds it."""
        return self._decided.get(found, np.zeros(0, dtype=np.int64))

    def lines_of(self, found: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(blob, start, end) of what a secret's detector gave it in parts, values aside; for propagators."""
        spans = self.spans()
        mine = (spans["found"] == found) & (spans["copied"] == 1) & self.detected(spans)
        return spans["blob"][mine], spans["start"][mine], spans["end"][mine]

    def detected(self, spans: dict[str, np.ndarray]) -> np.ndarray:
        """A mask of the `spans` that a detector gave; the others were recognised elsewhere."""
        spread = [number for reason, number in self._reasons.items() if is_propagated(reason)]
        return ~np.isin(spans["reason"], spread)

    def _given(self, kept: list[Given], found: int, detected: bool) -> np.ndarray:
        spread = {number for reason, number in self._reasons.items() if detected and is_propagated(reason)}
        return _joined([numbers for f, reason, numbers in kept if f == found and reason not in spread])

    def spans(self) -> dict[str, np.ndarray]:
        """The columns of all spans, by COLUMNS."""
        return {name: np.array(column, dtype=np.int64) for name, column in self._spans.items()}

    def moved(
        self, redacted: RedactedCorpus, replaced: Replacements, new_numbers: np.ndarray, left_out: np.ndarray
    ) -> LabelTable:
        """The labels on a redacted corpus.

        A span that was replaced in part continues to the placeholder's end, and holds the value in full no longer;
        of one that was replaced in full nothing is left to label.

        Args:
            new_numbers: by secret, its number from now on; −1 for one that is labelled no longer.
            left_out: by secret, whether all that held it is to be left out: such a span stays in any case.
        """
        new = self._renumbered(new_numbers, redacted.file, redacted.blob)
        spans = self.spans()
        rows = (new_numbers[spans["found"]] >= 0) & (spans["end"] > spans["start"])
        spans = {name: column[rows] for name, column in spans.items()}
        moved = replaced.moved(spans["blob"], spans["start"], spans["end"])
        columns = spans | {
            "found": new_numbers[spans["found"]],
            "blob": redacted.blob[spans["blob"]],
            "start": moved.start,
            "end": moved.end,
            "value": spans["value"] * ~moved.touched,
        }
        return new._with_spans(columns, ~moved.covered | left_out[spans["found"]])

    def without(self, gone: np.ndarray) -> LabelTable:
        """The labels of the other secrets, numbered without gaps. gone: a mask over all secrets."""
        number = np.where(gone, -1, np.cumsum(~gone) - 1)
        new = self._renumbered(number, None, None)
        spans = self.spans()
        return new._with_spans(spans | {"found": number[spans["found"]]}, ~gone[spans["found"]])

    def _with_spans(self, columns: dict[str, np.ndarray], rows: np.ndarray) -> LabelTable:
        self._spans = {name: array("q", columns[name][rows].astype(np.int64).tobytes()) for name in COLUMNS}
        return self

    def _renumbered(self, number: np.ndarray, file: np.ndarray | None, blob: np.ndarray | None) -> LabelTable:
        """What is whole, by the new numbers of secrets, files and contents (None: as before), without spans."""

        def moved(kept: np.ndarray, to: np.ndarray | None) -> np.ndarray:
            return kept if to is None else np.unique(to[kept])

        new = LabelTable()
        new._reasons = dict(self._reasons)
        stays = [found for found in self._decided if number[found] >= 0]
        new._decided = {int(number[found]): moved(self._decided[found], blob) for found in stays}
        for kept, given, to in ((new._files, self._files, file), (new._blobs, self._blobs, blob)):
            kept += [(int(number[f]), reason, moved(held, to)) for f, reason, held in given if number[f] >= 0]
        return new

    def held(self, layout: ChunkLayout, contents: BlobStore) -> ChunkLabels:
        """Every chunk that holds a secret, exact copies among them, each with its best reason.

        A detector's own reason is better than a propagated one, a copy is the least; among equals the first
        in the alphabet is best.
        """
        reasons = sorted(self._reasons, key=lambda reason: (is_propagated(reason), reason == COPY, reason))
        rank = np.empty(len(reasons), dtype=np.int64)
        rank[[self._reasons[reason] for reason in reasons]] = np.arange(len(reasons))
        spans, copied = self._span_pieces(layout, rank)
        zero = np.zeros(len(layout.sizes), dtype=np.int64)
        blobs = _whole(self._blobs, lambda b: layout.pieces_of_spans(b, zero[b], layout.sizes[b])[0], rank)
        files = _whole(self._files, lambda f: layout.chunks_of_files(f)[0], rank)
        pieces, found, ranks = _best(spans, blobs)
        chunks, counts = layout.chunks_of_pieces(pieces)
        direct = _best((chunks, np.repeat(found, counts), np.repeat(ranks, counts)), files)
        sources = np.concatenate([spans[0][copied], blobs[0], layout.piece_of(files[0])])
        copies = _copies(layout, contents, sources, np.concatenate([spans[1][copied], blobs[1], files[1]]))
        every = _best(direct, (*copies, np.full(len(copies[0]), reasons.index(COPY))))
        return ChunkLabels(*every, tuple(reasons))

    def _reason(self, reason: str) -> int:
        return self._reasons.setdefault(reason, len(self._reasons))

    def _span_pieces(self, layout: ChunkLayout, rank: np.ndarray) -> tuple[Columns, np.ndarray]:
        """The pieces that spans overlap, and a mask of those whose copies count."""
        spans = self.spans()
        piece, counts = layout.pieces_of_spans(spans["blob"], spans["start"], spans["end"])
        found, reason = np.repeat(spans["found"], counts), np.repeat(rank[spans["reason"]], counts)
        return (piece, found, reason), np.repeat(spans["copied"], counts) == 1


Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def _whole(given: list[Given], parts_of: Callable[[np.ndarray], np.ndarray], rank: np.ndarray) -> Columns:
    """The parts of what was given whole, each with its secret and the rank of its reason."""
    rows = [(parts_of(numbers), found, rank[reason]) for found, reason, numbers in given]
    columns = [
        (parts, np.full_like(parts, found), np.full_like(parts, reason)) for parts, found, reason in rows
    ]
    first, second, third = zip(*columns, strict=True) if columns else ((), (), ())
    return _joined(first), _joined(second), _joined(third)


def _copies(
    layout: ChunkLayout, contents: BlobStore, pieces: np.ndarray, found: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(chunk, found) for every chunk with the same bytes as a labelled piece."""
    if not len(pieces):
        return pieces, found
    same = layout.equals(contents)
    klass, found, _ = _best((same[pieces], found, np.zeros_like(found)))
    order = np.argsort(same, kind="stable")
    first = np.searchsorted(same[order], klass, side="left")
    counts = np.searchsorted(same[order], klass, side="right") - first
    starts = np.cumsum(counts) - counts
    members = order[np.repeat(first - starts, counts) + np.arange(int(counts.sum()))]
    chunk, places = layout.chunks_of_pieces(members)
    return chunk, np.repeat(np.repeat(found, counts), places)


def _best(*labels: Columns) -> Columns:
    """Unique (part, found), sorted, each with its lowest rank."""
    part, found, rank = map(np.concatenate, zip(*labels, strict=True))
    order = np.lexsort((rank, found, part))
    part, found, rank = part[order], found[order], rank[order]
    new = np.ones(len(part), dtype=bool)
    new[1:] = (part[1:] != part[:-1]) | (found[1:] != found[:-1])
    return part[new], found[new], rank[new]


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def lines_and_columns(data: bytes, places: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Line and column, from 1, of bytes of a text; linear in its size."""
    at, line, column = 0, 1, 1
    found = {}
    for place in sorted(set(places)):
        passed = data[at:place].decode("utf-8", "replace")
        breaks = passed.count("\n")
        column = len(passed) - passed.rfind("\n") if breaks else column + len(passed)
        at, line = place, line + breaks
        found[place] = (line, column)
    return found
