"""Redaction: every copy found of a value is replaced before copies are compared and text is cut and labelled.

    detect, search every value                  on the text as it was read
    redact                                      → another corpus, other labels
    rare words, likeness, copies, cuts, graph   on the text as it will be trained on

So the training data depend on a redacted value only through the places where it was found (`docs/mathematics.md`,
Proposition R). Secrets under another protection keep their other text: a span that overlaps a replaced one stays
labelled up to the placeholder's end.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.config import HushConfig
from hush_core.corpus import PLACEHOLDER, Corpus, RedactedCorpus, Replacements, redacted_corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.detectors.rare_words import words
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.propagators import SearchedValues
from hush_core.secrets.propagation.value_search import Hit, SearchTerm, is_slow

REPLACED = {
    "redacted_id": pl.UInt32,
    "source": pl.String,
    "path": pl.String,
    "line": pl.UInt32,
    "end_line": pl.UInt32,
}
"""Where a value was that was replaced: lines of the file as it was read, from 1; 0 in a history, where a path has
several versions. For the private report alone: how many lines it took is of the value."""


@dataclass(frozen=True)
class RedactedSecret:
    """One secret that no file holds any more.

    value: its commonest form, for the attack; None where none was found. search_terms: those of the search for it.
    word: it was a whole word, in no other form, and was not searched for.
    """

    detected: DetectedSecret
    value: bytes | None = field(repr=False)
    search_terms: tuple[SearchTerm, ...] = field(repr=False)
    word: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class Redaction:
    """What redaction leaves: the corpus (to be closed), and the other secrets with their labels on it.

    secrets: those that were replaced. places: REPLACED, where they were. number, blob, start: of each placeholder
    and each secret in it, the secret's place in `secrets`, the content and where the placeholder begins in that;
    unique and sorted. slow: contents that were not searched to the end once more, and must be left out.
    """

    corpus: Corpus
    found: list[DetectedSecret]
    labels: LabelTable
    secrets: tuple[RedactedSecret, ...]
    places: pl.DataFrame
    number: np.ndarray
    blob: np.ndarray
    start: np.ndarray
    slow: list[int]

    @property
    def times(self) -> np.ndarray:
        """(len(secrets),) int64: in how many places of files a placeholder represents each. Secrets that overlap
        share a placeholder, which counts for each of them."""
        files = np.bincount(self.corpus.blob, minlength=len(self.corpus.contents))[self.blob]
        return np.bincount(self.number, weights=files, minlength=len(self.secrets)).astype(np.int64)


def redacted_numbers(config: HushConfig, found: Sequence[DetectedSecret]) -> frozenset[int]:
    """The secrets of entries with `protect: redact`; what was not scanned holds none to replace."""
    scanned = (n for n, one in enumerate(found) if one.provenance != TOO_SLOW)
    return frozenset(n for n in scanned if config.secrets[found[n].entry].protect == "redact")


def redact(
    config: HushConfig,
    corpus: Corpus,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    values: SearchedValues,
    work: Path | None,
) -> Redaction:
    """Replace every span of the secrets that are to be redacted.

    Args:
        labels, values: after the search for all values.
        work: a folder for the text of the new corpus, in a file that is unlinked at once.

    Raises:
        InputError: a value is found in the placeholder, or in text with it; the message holds no value.
    """
    chosen = redacted_numbers(config, found)
    spans = labels.spans()
    rows = np.isin(spans["found"], list(chosen)) & (spans["end"] > spans["start"])
    spans = {name: column[rows] for name, column in spans.items()}
    replaced = Replacements.of(spans["blob"], spans["start"], spans["end"])
    secrets = tuple(_secrets(config, corpus, found, sorted(chosen), spans, values))
    new = redacted_corpus(corpus, replaced, work)
    try:
        slow = _refuse_what_is_left(new, found, values, chosen)
        place = np.full(len(found), -1, dtype=np.int64)
        place[sorted(chosen)] = np.arange(len(chosen))
        at = replaced.range_at(spans["blob"], spans["start"])
        held = np.stack([place[spans["found"]], new.blob[spans["blob"]], replaced.begin[at]], axis=1)
        number, blob, start = np.unique(held.reshape(-1, 3), axis=0).T
        rest = [n for n in range(len(found)) if n not in chosen]
        numbers = np.full(len(found), -1, dtype=np.int64)
        numbers[rest] = np.arange(len(rest))
        left_out = [config.secrets[one.entry].protect == "drop" for one in found]
        moved = labels.moved(new, replaced, numbers, np.array(left_out, dtype=bool))
    except BaseException:
        new.corpus.close()
        raise
    places = _places(corpus, place[spans["found"]], spans)
    return Redaction(new.corpus, [found[n] for n in rest], moved, secrets, places, number, blob, start, slow)


def _places(corpus: Corpus, secret: np.ndarray, spans: dict[str, np.ndarray]) -> pl.DataFrame:
    """REPLACED: each span in every file that holds it, by the lines of the text as it was read."""
    line, end_line = (np.empty(len(secret), dtype=np.uint32) for _ in range(2))
    for blob in np.unique(spans["blob"]).tolist():
        here = np.flatnonzero(spans["blob"] == blob)
        breaks = np.flatnonzero(np.frombuffer(corpus.contents[blob], dtype=np.uint8) == ord("\n"))
        line[here] = 1 + np.searchsorted(breaks, spans["start"][here])
        end_line[here] = 1 + np.searchsorted(breaks, spans["end"][here] - 1)
    layout = corpus.layout
    rows = []
    for number in range(len(secret)):
        for file in layout.files_of_blob(int(spans["blob"][number])).tolist():
            tree, path = corpus.trees[corpus.tree[file]], corpus.paths.shown[corpus.path[file]]
            lines = (0, 0) if tree.mode == "history" else (int(line[number]), int(end_line[number]))
            rows.append((int(secret[number]), tree.source, path, *lines))
    return pl.DataFrame(rows, schema=REPLACED, orient="row").unique().sort(pl.all())


def _secrets(
    config: HushConfig,
    corpus: Corpus,
    found: Sequence[DetectedSecret],
    chosen: Sequence[int],
    spans: dict[str, np.ndarray],
    values: SearchedValues,
) -> list[RedactedSecret]:
    terms: dict[int, list[SearchTerm]] = {}
    for number, search_term in zip(values.found, values.search_terms, strict=True):
        terms.setdefault(number, []).append(search_term)
    order = np.lexsort((spans["start"], spans["blob"], spans["found"]))
    bounds = np.searchsorted(spans["found"][order], [chosen, np.array(chosen) + 1])
    secrets = []
    for number, first, last in zip(chosen, *bounds.tolist(), strict=True):
        sought = terms.get(number, [])
        rows = order[first:last]
        whole = rows[spans["value"][rows] == 1]
        shown = (spans[c][whole if len(whole) else rows[:1]].tolist() for c in ("blob", "start", "end"))
        texts = Counter(corpus.contents[blob][start:end] for blob, start, end in zip(*shown, strict=True))
        value = texts.most_common(1)[0][0] if texts else None
        if not len(whole) and sought:
            value = sought[0].value  # it is encoded only
        word = None
        if value is not None and not sought and config.secrets[found[number].entry].kind == "rare_words":
            word = min(words(value), default=None)
        secrets.append(RedactedSecret(found[number], value, tuple(sought), word))
    return secrets


def _refuse_what_is_left(
    new: RedactedCorpus, found: Sequence[DetectedSecret], values: SearchedValues, chosen: frozenset[int]
) -> list[int]:
    """Search again: a value that is part of the placeholder, or arises beside one, cannot be redacted.

    Also returns the contents of which this search was given up.
    """
    slow: list[int] = []
    if values.value_search is None:
        return slow
    search = values.value_search
    found_in: list[Hit] = list(search.find(PLACEHOLDER))
    for content in np.setdiff1d(new.changed, new.blob[values.slow]).tolist():  # the others are left out
        hits, _ = search.in_time(new.corpus.contents[content])
        if is_slow(hits):
            slow.append(content)
        else:
            found_in += (hit for hit in hits if hit.index >= 0)
    for hit in found_in:
        if (number := values.found[hit.index]) in chosen:
            raise InputError(
                f"secrets.{found[number].name}",
                f"cannot be redacted: it is found in {PLACEHOLDER.decode()} or in text with it",
                "take it out of the entry, or give it an entry of its own with protect: noise or drop",
            )
    return slow
