"""Does an example still hold a redacted value? Keyed fingerprints answer that, without the value.

    table = fingerprints(secrets, key)          # kept in the private store
    slips(examples, table, key)                 # (redacted_id, example_id) of every copy; none, if all is well

A row describes one spelling of a value by its length, by 32 bits of a keyed hash of its first eight bytes, and by
its HMAC-SHA256. The 32 bits let numpy scan a text fast; the HMAC decides. Texts are decoded as the value search
decodes them (`propagation/decoding.py`), so a copy in any encoding that it knows is seen. With the table but not
the key, nobody can try guesses; with both anyone can (the key is `keys/identity.key`, which names all secrets).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from hush_core.corpus import PLACEHOLDER
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.rare_words import whole_run, words
from hush_core.secrets.propagation.decoding import layers
from hush_core.secrets.propagation.layers import BLOCK, SQUEEZED, Layer
from hush_core.secrets.propagation.layouts import words as written_words
from hush_core.secrets.propagation.spellings import Spelling, spellings, stands_apart
from hush_core.secrets.propagation.value_search import MIN_DECODED
from hush_core.secrets.redaction import RedactedSecret

SCHEMA = {
    "redacted_id": pl.UInt32,
    "kind": pl.String,
    "length": pl.UInt32,
    "head": pl.UInt32,
    "mac": pl.Binary,
}
"""kind: WORD, or what `_kind` makes of a spelling. head: 0 for a word."""
EXACT, APART, FOLDED, WORD = "exact", "apart", "folded", "word"
SPLIT, WORDS = "split", "words"
HEAD = 8
_LOOK_UP_BITS = 20
BETWEEN = b"\0"
_TEXT_BYTES = 1 << 22
"""So much text is looked through at once."""


def fingerprints(secrets: Sequence[RedactedSecret], key: bytes) -> pl.DataFrame:
    """SCHEMA: a row a written form of each secret's value that the value search looks for; `redacted_id` counts the
    secrets given. One that is not searched for (a weak password that is a word) has none.

    Args:
        key: the identity key.
    """
    lock = _Lock(key)
    rows: dict[tuple[int, str, int, int, bytes], None] = {}
    for number, secret in enumerate(secrets):
        if secret.word is not None:
            rows[number, WORD, len(secret.word), 0, lock.mac(secret.word)] = None
        for term in secret.search_terms:
            for one in spellings(term.value, term.fragments, any_case=term.any_case, apart=term.apart):
                text, hashed = one.text, one.words or one.text
                if one.folded:
                    text, hashed = text.lower(), hashed.lower()
                rows[number, _kind(one), len(text), lock.head(text), lock.mac(hashed)] = None
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")


def _kind(one: Spelling) -> str:
    """How it is looked for: in which texts, and whether in either case."""
    kind = WORDS if one.words else SPLIT if one.squeezed else APART if one.apart else EXACT
    return f"{kind} {FOLDED}" if one.folded else kind


def slips(examples: pl.DataFrame, table: pl.DataFrame, key: bytes) -> pl.DataFrame:
    """(redacted_id, example_id), unique and sorted: which example's text holds which redacted value.

    Spellings are those of the value search, in all that the text decodes to. Of whole words those
    at an example's two ends are not looked at: they may be parts of longer ones. An example that takes longer than
    `deadline` allows has a row without a redacted_id.

    Args:
        examples: example_id and text (binary).
    """
    lock = _Lock(key)
    found: set[tuple[int, int]] = set()
    slow: list[tuple[None, int]] = []
    seekers = {
        kind: _Seeker(rows, lock)
        for (kind,), rows in table.filter(pl.col("kind") != WORD).partition_by("kind", as_dict=True).items()
    }
    of_word: dict[bytes, list[int]] = {}
    for number, mac in table.filter(pl.col("kind") == WORD).select("redacted_id", "mac").iter_rows():
        of_word.setdefault(mac, []).append(number)

    def look(batch: list[tuple[int, bytes]], share: float = 1.0) -> None:
        with deadline.limited(sum(len(text) for _, text in batch), share):
            found.update(_spelled(batch, seekers) if seekers else ())
            for example, text in batch if of_word else ():
                inner = whole_run(text.replace(PLACEHOLDER, b"_"))
                found.update((n, example) for w in words(inner) for n in of_word.get(lock.mac(w), ()))

    for batch in _batches(examples):
        try:
            look(batch)
        except deadline.TooSlow:
            for one in batch:
                try:
                    look([one], deadline.AGAIN)
                except deadline.TooSlow:
                    slow.append((None, one[0]))
    schema = {"redacted_id": pl.UInt32, "example_id": pl.UInt32}
    return pl.DataFrame([*slow, *sorted(found)], schema=schema, orient="row")


def _spelled(batch: list[tuple[int, bytes]], seekers: dict[str, _Seeker]) -> Iterator[tuple[int, int]]:
    """(redacted_id, example_id) of every example that holds one of the spellings.

    Raises:
        TooSlow: it takes longer than `deadline` allows.
    """
    decoded: list[tuple[int, Layer]] = []
    for example, text in batch:
        for layer in layers(text):
            deadline.check()
            decoded.append((example, layer))
    for kind, seeker in seekers.items():
        squeezed = kind.startswith((SPLIT, WORDS))
        mine = [one for one in decoded if (one[1].kind == SQUEEZED) == squeezed]
        yield from ((number, mine[row][0]) for number, row in seeker.find([m[1] for m in mine], kind))


def _batches(examples: pl.DataFrame) -> Iterator[list[tuple[int, bytes]]]:
    batch: list[tuple[int, bytes]] = []
    size = 0
    for row in examples.select("example_id", "text").iter_rows():
        batch.append(row)
        size += len(row[1])
        if size >= _TEXT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Lock:
    """The two keyed functions."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"hush redaction", hashlib.sha256)
        parts = np.frombuffer(hmac.digest(self._key, b"heads", hashlib.sha256)[:16], dtype="<u8")
        self._mask, self._factor = parts[0], parts[1] | np.uint64(1)

    def mac(self, form: bytes) -> bytes:
        return hmac.digest(self._key, b"form " + form, hashlib.sha256)

    def head(self, form: bytes) -> int:
        return int(self.heads(np.frombuffer(form, dtype=np.uint8), min(HEAD, len(form)))[0])

    def heads(self, text: np.ndarray, size: int) -> np.ndarray:
        """Of every `size` bytes of a text that follow one another, uint32."""
        windows = max(0, len(text) - size + 1)
        if size == HEAD:  # words of 1, 2, 4, 8 bytes
            word = text.astype(np.uint64)
            for step in (1, 2, 4):
                word = word[:-step] | (word[step:] << np.uint64(8 * step))
        else:
            word = np.zeros(windows, dtype=np.uint64)
            for place in range(size):
                word |= text[place : place + windows].astype(np.uint64) << np.uint64(8 * place)
        return (((word ^ self._mask) * self._factor) >> np.uint64(32)).astype(np.uint32)


class _Seeker:
    """Looks for fingerprints of one kind in texts."""

    def __init__(self, table: pl.DataFrame, lock: _Lock) -> None:
        self._lock = lock
        self._forms: dict[tuple[int, int], list[tuple[int, bytes, int]]] = {}
        for number, length, head, mac in table.select("redacted_id", "length", "head", "mac").iter_rows():
            self._forms.setdefault((min(HEAD, length), head), []).append((length, mac, number))

    def find(self, texts: Sequence[Layer], kind: str) -> Iterator[tuple[int, int]]:
        """(redacted_id, number of the text) of all spellings of this kind."""
        folded, as_words, apart = kind.endswith(FOLDED), kind.startswith(WORDS), kind.startswith(APART)
        whole = BETWEEN.join([layer.text for layer in texts])
        if folded:
            whole = whole.lower()
        starts = np.cumsum([0, *(len(layer.text) + len(BETWEEN) for layer in texts)])
        data = np.frombuffer(whole, dtype=np.uint8)
        for size in sorted({size for size, _ in self._forms}):
            heads = self._lock.heads(data, size)
            wanted = np.array([head for of, head in self._forms if of == size], dtype=np.uint32)
            # one look a place; a sort of all heads takes seconds
            likely = np.zeros(1 << _LOOK_UP_BITS, dtype=bool)
            likely[wanted >> (32 - _LOOK_UP_BITS)] = True
            places = np.flatnonzero(likely[heads >> (32 - _LOOK_UP_BITS)])
            for place in places[np.isin(heads[places], wanted)].tolist():
                deadline.check()
                row = int(np.searchsorted(starts, place, side="right")) - 1
                layer, start = texts[row], place - int(starts[row])
                for length, mac, number in self._forms[size, int(heads[place])]:
                    if start + length > len(layer.text) or (layer.kind == BLOCK and length < MIN_DECODED):
                        continue
                    if apart and not stands_apart(layer.text, start, start + length):
                        continue
                    if as_words:
                        hashed = layer.below.text[slice(*layer.back(start, start + length)[:2])]
                        hashed = written_words(hashed)
                        hashed = hashed.lower() if folded else hashed
                    else:
                        hashed = whole[place : place + length]
                    if self._lock.mac(hashed) == mac:
                        yield number, row
