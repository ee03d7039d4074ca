"""Fingerprints of a document by winnowing: two documents that share a passage share a fingerprint.

Of the hashes of all k-grams of the content without its whitespace, each window of `window` neighbouring ones keeps
its smallest (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003, §3). What is kept depends only on the window's
own bytes. This gives the guarantee: a run of k + window - 1 bytes (whitespace aside) in two documents gives both a
fingerprint of the same hash, and in each of them it is inside the run. Whitespace does not count, so new
indentation and new line breaks leave the fingerprints as they are.
"""

from dataclasses import dataclass, field

import numpy as np

K = 24
"""Bytes of a gram: shorter passages are taken for chance."""
WINDOW = 16
"""Neighbouring grams of which at least one is kept: about 2 of 17 are."""
WHITESPACE = b" \t\n\r\v\f"

_BLOCK = 1 << 15  # grams hashed at a time: the arrays of a block stay in the cache
_SOLID = ~np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(WHITESPACE, np.uint8))
# Fixed random words, so that two runs agree and no short family of strings collides by construction. Nobody
# outside the process sees a hash, so there is no key. `random_raw` is the generator's stable stream.
_WORDS = np.random.PCG64(0x6875_7368).random_raw(256 + 64)
_BYTE = _WORDS[:256]
_ODD = _WORDS[256:] | np.uint64(1)
_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, repr=False)
class Fingerprints:
    """The kept grams of one document, in the order in which they are.

    hashes: uint64 (f,); 64 bits of a fixed hash, the same in every run.
    starts, ends: int64 (f,); gram i is bytes [starts[i], ends[i]) of the content, with whitespace inside it.
    """

    hashes: np.ndarray = field(repr=False)
    starts: np.ndarray = field(repr=False)
    ends: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.hashes)


def fingerprints(content: bytes, k: int = K, window: int = WINDOW) -> Fingerprints:
    """The winnowed fingerprints of a document; time and memory are linear in its size.

    Args:
        content: any bytes.
        k: bytes of a gram, whitespace aside; 1 to 4096.
        window: how many neighbouring grams share one fingerprint; 1 to 4096.

    Returns:
        No fingerprint where fewer than k bytes are not whitespace; one where there is less than a window.
        Where one hash repeats (a rule of dashes, a table of zeros) at most two in `window` bytes are kept.
    """
    data = np.frombuffer(content.translate(None, WHITESPACE), np.uint8)
    grams = len(data) - k + 1
    if grams < 1:
        return Fingerprints(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))
    window = min(window, grams)
    windows = grams - window + 1
    kept, hashes = [], []
    for first in range(0, windows, _BLOCK):
        last = min(first + _BLOCK, windows)
        block = _gram_hashes(data[first : last + window + k - 2], k)
        chosen = _smallest(block, window)
        kept.append(chosen + first)
        hashes.append(block[chosen])
    places, values = np.concatenate(kept), np.concatenate(hashes)
    fresh = np.append(True, places[1:] != places[:-1])  # two blocks may end and begin with the same gram
    places, values = _thinned(places[fresh], values[fresh], window)
    solid = np.flatnonzero(_SOLID[np.frombuffer(content, np.uint8)])
    return Fingerprints(values, solid[places], solid[places + k - 1] + 1)


def _gram_hashes(data: np.ndarray, k: int) -> np.ndarray:
    """64-bit hashes of all k-grams of `data`, uint64 (len(data) - k + 1,), by doubling their length.

    A gram of length a + b is hashed from its first a and its last b bytes: multiply, fold the high bits
    down, add. The fold makes it no polynomial, so there are no sums of bytes that cancel.
    """
    power, size, result, done = _BYTE[data], 1, None, 0
    for bit in range(k.bit_length()):
        if k >> bit & 1:
            result = power if result is None else _joined(result, power[done:], 2 * bit)
            done += size
        if 2 * size <= k:
            power = _joined(power, power[size:], 2 * bit + 1)
            size *= 2
    assert result is not None
    result = result[: len(data) - k + 1] * _ODD[-1]
    result ^= result >> _SHIFT
    result *= _ODD[-2]
    result ^= result >> _HALF
    return result


def _joined(head: np.ndarray, tail: np.ndarray, step: int) -> np.ndarray:
    n = min(len(head), len(tail))
    joined = head[:n] * _ODD[step]
    joined ^= joined >> _SHIFT
    joined += tail[:n]
    return joined


def _smallest(hashes: np.ndarray, window: int) -> np.ndarray:
    """Which grams are the smallest of some window: ascending, int64. Ties go to the right.

    Hash and place share one word, so one sliding minimum gives both. Only the upper 32 bits of the hash
    decide: still a function of the window's bytes alone.
    """
    n = len(hashes)
    low = (hashes & ~_LOW) | (_LOW - np.arange(n, dtype=np.uint64))
    size = 1
    while 2 * size <= window:
        low = np.minimum(low[:-size], low[size:])
        size *= 2
    if size < window:
        rest = window - size
        low = np.minimum(low[:-rest], low[rest:])
    places = (_LOW - (low & _LOW)).astype(np.int64)
    return places[np.append(True, places[1:] != places[:-1])]


def _thinned(places: np.ndarray, hashes: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Of neighbours with one hash only the first and the last in each stretch of `window` grams.

    A window that kept one of them still holds one: a stretch cannot reach beyond a window on both sides.
    Without this a run of one byte would keep every gram.
    """
    stretch = places // window
    same = (hashes[1:] == hashes[:-1]) & (stretch[1:] == stretch[:-1])
    inner = np.append(False, same) & np.append(same, False)
    return places[~inner], hashes[~inner]
