"""Detector `rare_words`: every word that is in few examples, but not in too few, is a secret of its own.

This is the paper's experiment (words in about 50 to 100 abstracts each, `../papers/hush.txt` §4). What a word
is: a longest run of Unicode letters, digits, underscores and combining marks, casefolded and in NFC, so that
`Naïve`, `NAÏVE` and its decomposed spelling are one word. `snake_case` and `camelCase` are one word each.

Left out, by choice: words under three characters, words without any letter (numbers are not names: give
those that matter as literals or patterns), and words over 128 characters (encoded blobs). Scripts without
blanks give whole phrases as words.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from hush_core.config import RareWordsSecret
from hush_core.corpus import PLACEHOLDER, ChunkLayout, Corpus
from hush_core.corpus.chunks import chunk_ranges
from hush_core.secrets.detectors.base import Detector, Finding, Span
from hush_core.secrets.detectors.context import DetectorContext

MIN_CHARACTERS = 3
MAX_CHARACTERS = 128

_BUCKETS = 1 << 24  # two rows of uint32: 128 MiB at most, touched as words come in
_ASCII = re.compile(rb"[a-z0-9_]+")
_CUT = 4 * (MAX_CHARACTERS + 1)  # UTF-8 bytes after which a cut word is surely too long to be one
_WORD_BYTES = frozenset((string.ascii_letters + string.digits + "_").encode() + bytes(range(128, 256)))
_ONE_WORD_BYTE = {bytes([byte]) for byte in _WORD_BYTES}


def rare_words(texts: Iterable[bytes], low: int, high: int) -> list[tuple[bytes, np.ndarray]]:
    """Every word that is in at least `low` and at most `high` of the examples, and in which ones.

    Exact and the same in every run. Two passes over the texts: the first counts hashes of words in a table of
    fixed size, where a word can only come out too frequent; the second counts exactly those that reach `low`
    there. Memory is that table, the result, and the words more frequent than `high`.

    Args:
        texts: UTF-8, one per example, in the order of their ids; read twice, so no one-shot iterator. For
            examples cut out of files use `whole_words`, or a word that a border cuts is in neither example.
            Bytes that are no UTF-8 separate words.
        low, high: the range of document frequencies, both included; 1 <= low <= high.

    Returns:
        (word in UTF-8, ascending example ids uint32), sorted by word. The word is the secret's value: it must
        reach no log, name or artifact.

    Raises:
        ValueError: an empty range, or the second pass gave another number of texts than the first.
        TypeError: `texts` can be read only once.
    """
    if not 1 <= low <= high:
        raise ValueError("low and high must satisfy 1 <= low <= high")
    if iter(texts) is texts:
        raise TypeError("texts are read twice: give a sequence, not an iterator")
    counts = np.zeros((2, _BUCKETS), np.uint32)
    examples = 0
    for text in texts:
        examples += 1
        for row, bucket in zip(counts, _buckets(list(words(text))), strict=True):
            row[bucket] += 1  # words of one example in one bucket count once: still no word comes out short
    places: dict[bytes, array[int] | None] = {}
    again = 0
    for example, text in enumerate(texts):
        again += 1
        found = list(words(text))
        first, second = _buckets(found)
        for i in np.flatnonzero((counts[0][first] >= low) & (counts[1][second] >= low)).tolist():
            ids = places.setdefault(found[i], array("I"))
            if ids is None:
                continue
            ids.append(example)
            if len(ids) > high:
                places[found[i]] = None
    if again != examples:
        raise ValueError("the texts changed between the two passes")
    chosen = sorted((word, ids) for word, ids in places.items() if ids is not None and len(ids) >= low)
    return [(word, np.array(ids, np.uint32)) for word, ids in chosen]


def words(text: bytes) -> set[bytes]:
    """The different words of one text, as the module's docstring defines them, in UTF-8."""
    if text.isascii():
        return {w for w in _ASCII.findall(text.lower()) if _counts(w) and w.strip(b"0123456789_")}
    found = set()
    for word in set(_unicode().findall(text.decode("utf-8", "replace").casefold())):
        if _counts(word):
            whole = unicodedata.normalize("NFC", word)  # one short word at a time: its cost is not linear
            if len(whole) >= MIN_CHARACTERS and any(c.isalpha() for c in whole):
                found.add(whole.encode("utf-8"))
    return found


def whole_words(content: bytes, start: int, end: int) -> bytes:
    """Bytes [start, end) of a file, and the rest of the words that the two borders cut.

    >>> whole_words(b"a secret codename here", 4, 12)
    b'secret codename'
    """
    left, right = start, end
    if start < end and content[start] in _WORD_BYTES:
        while left > max(0, start - _CUT) and content[left - 1] in _WORD_BYTES:
            left -= 1
    if start < end and content[end - 1] in _WORD_BYTES:
        while right < min(len(content), end + _CUT) and content[right] in _WORD_BYTES:
            right += 1
    return content[left:right]


def whole_run(text: bytes) -> bytes:
    """A text without the words at its two ends, of which it may hold a part only.

    >>> whole_run(b"ret a codename he")
    b' a codename '
    """
    left, right = 0, len(text)
    while left < right and text[left] in _WORD_BYTES:
        left += 1
    while right > left and text[right - 1] in _WORD_BYTES:
        right -= 1
    return text[left:right]


@dataclass(frozen=True)
class _Chunks:
    """The examples as texts, in the order of their numbers, words at the borders whole; read as often as asked."""

    corpus: Corpus
    context: DetectorContext

    def __iter__(self) -> Iterator[bytes]:
        step, files = self.corpus.chunk_bytes, self.corpus.blob.tolist()
        for done, blob in enumerate(files):
            if done % 512 == 0:
                self.context.progress("detect", done, len(files))
            content = _without_placeholders(self.corpus.contents[blob])
            for start, end in chunk_ranges(len(content), step):
                yield whole_words(content, start, end)
        self.context.progress("detect", len(files), len(files))


def detect(corpus: Corpus, entry: RareWordsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret a word that is in as many examples as the entry asks for, in the order of their keyed names: the
    order of the words would disclose something of them.

    A chunk with the same bytes holds the same whole words; a word that a border cuts is in both chunks.
    """
    low, high = entry.document_frequency
    layout, starts = corpus.layout, corpus.contents.starts
    found = rare_words(_Chunks(corpus, context), low, high)
    for name, word, chunks in sorted((context.identify(word), word, chunks) for word, chunks in found):
        spans = _spans(corpus, layout, starts, word, chunks.astype(np.int64))
        yield Finding(name=name, spans=spans, copies=False)


DETECTOR = Detector("rare_words", RareWordsSecret, detect, reads_redacted=True)


def _spans(
    corpus: Corpus, layout: ChunkLayout, starts: np.ndarray, word: bytes, chunks: np.ndarray
) -> Iterator[Span]:
    """Where a word is in its chunks, in any spelling; the attack looks for it where it is spelt as it is named.

    Not the whole chunk: that is on the plain grid, and would move with every other secret's value. It is taken
    only if the word is not found in it.
    """
    blobs, first, last = layout.bytes_of_pieces(np.unique(layout.piece_of(chunks)))
    for blob, start, end in zip(blobs.tolist(), first.tolist(), last.tolist(), strict=True):
        offset, left = int(starts[blob]), max(0, start - _CUT)
        right = min(int(layout.sizes[blob]), end + _CUT)
        text = _without_placeholders(corpus.contents.read(offset + left, offset + right))
        places = [(left + a, left + b) for a, b in _places(text, word) if left + a < end and left + b > start]
        for a, b in places:
            yield Span(blob, a, b, value=text[a - left : b - left] == word)
        if not places:
            yield Span(blob, start, end)


def _places(text: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    """Where `word` is in the text as a whole word, however it is spelt."""
    if text.isascii():
        lower = text.lower()
        place = lower.find(word)
        while place >= 0:
            end = place + len(word)
            if lower[place - 1 : place] not in _ONE_WORD_BYTE and lower[end : end + 1] not in _ONE_WORD_BYTE:
                yield place, end
            place = lower.find(word, end)
        return
    string, name = text.decode("utf-8", "surrogateescape"), word.decode("utf-8")
    for match in _unicode().finditer(string):
        if _counts(match[0]) and unicodedata.normalize("NFC", match[0].casefold()) == name:
            start = len(string[: match.start()].encode("utf-8", "surrogateescape"))
            yield start, start + len(match[0].encode("utf-8", "surrogateescape"))


def _without_placeholders(text: bytes) -> bytes:
    """What redaction put there is nobody's word."""
    return text.replace(PLACEHOLDER, b" " * len(PLACEHOLDER))


def _counts(word: bytes | str) -> bool:
    return MIN_CHARACTERS <= len(word) <= MAX_CHARACTERS


def _buckets(found: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Two buckets a word, from its 64-bit hash. Python's has a new key in every run: nobody can aim at it."""
    hashes = np.fromiter(map(hash, found), np.int64, len(found)).view(np.uint64)
    mask = np.uint64(_BUCKETS - 1)
    return (hashes & mask).astype(np.int64), ((hashes >> np.uint64(32)) & mask).astype(np.int64)


@cache
def _unicode() -> re.Pattern[str]:
    r"""Runs of \w and combining marks, which Python's \w leaves out."""
    marks = [c for c in range(0x300, sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "M"]
    return re.compile(rf"[\w{''.join(map(chr, marks))}]+")
