"""Winnowing: its guarantee, its indifference to whitespace, and what hostile content makes of it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.secrets.propagation import winnowing
from hush_core.secrets.propagation.winnowing import WHITESPACE, WINDOW, K, fingerprints

RUN = K + WINDOW - 1
few = st.sampled_from(b"ab\n ")
texts = st.lists(few, max_size=200).map(bytes) | st.binary(max_size=200)
runs = st.lists(st.sampled_from(b"abc(."), min_size=RUN, max_size=90).map(bytes) | st.binary(min_size=RUN)


def solid(content: bytes) -> bytes:
    return content.translate(None, WHITESPACE)


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(run=runs.filter(lambda r: len(solid(r)) >= RUN), around=st.tuples(texts, texts, texts, texts))
@example(run=b"a" * RUN, around=(b"b", b"a", b"", b"a" * 50))
@example(run=b"ab" * RUN, around=(b"ab" * 40, b"ab", b"b", b""))
def test_a_shared_run_shares_a_fingerprint_that_lies_inside_it(run, around):
    """The guarantee, in both documents, with other whitespace in the second."""
    first = around[0] + run + around[1]
    spread = b" \r\n".join(bytes([b]) for b in run)
    second = around[2] + spread + around[3]
    inside = []
    for content, start, end in (
        (first, len(around[0]), len(around[0]) + len(run)),
        (second, len(around[2]), len(around[2]) + len(spread)),
    ):
        prints = fingerprints(content)
        inside.append(set(prints.hashes[(prints.starts >= start) & (prints.ends <= end)].tolist()))
    assert inside[0] & inside[1]


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(content=texts, k=st.integers(1, 30), window=st.integers(1, 20))
def test_a_fingerprint_is_a_gram_of_k_bytes_at_its_place(content, k, window):
    prints = fingerprints(content, k, window)
    grams = [solid(content[a:b]) for a, b in zip(prints.starts, prints.ends, strict=True)]
    assert all(len(g) == k for g in grams)
    assert all(content[a] not in WHITESPACE and content[b - 1] not in WHITESPACE
               for a, b in zip(prints.starts, prints.ends, strict=True))  # fmt: skip
    assert (np.diff(prints.starts) > 0).all() and bool(grams) == (len(solid(content)) >= k)
    by_hash = dict(zip(prints.hashes.tolist(), grams, strict=True))
    assert len(by_hash) == len(set(grams)), "equal hash if and only if equal gram"
    assert all(by_hash[h] == g for h, g in zip(prints.hashes.tolist(), grams, strict=True))


@settings(derandomize=True, deadline=None, max_examples=examples(50))
@given(content=texts, window=st.integers(1, 20))
def test_windows_without_ties_keep_exactly_their_minima(content, window):
    """Against the definition, one window at a time, where no gram repeats (there nothing is thinned)."""
    data = solid(content)
    grams = [data[i : i + 8] for i in range(len(data) - 7)]
    if len(set(grams)) != len(grams):
        return
    rank = {g: int(fingerprints(g, 8).hashes[0]) for g in grams}
    size = max(1, min(window, len(grams)))
    wanted = (
        {min(grams[i : i + size], key=rank.get) for i in range(len(grams) - size + 1)} if grams else set()
    )
    prints = fingerprints(content, 8, window)
    assert {solid(content[a:b]) for a, b in zip(prints.starts, prints.ends, strict=True)} == wanted


pieces = st.tuples(st.binary(max_size=40), st.sampled_from([b"a", b"ab", b"0,", b"-=*"]), st.integers(0, 120))


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(parts=st.lists(pieces, min_size=1, max_size=4))
@example(parts=[(b"", b"a", 5000)])
def test_every_window_holds_a_fingerprint_also_where_grams_repeat(parts):
    content = solid(b"".join(noise + repeated * times for noise, repeated, times in parts))
    windows = len(content) - K + 1 - WINDOW + 1
    if windows >= 1:
        starts = fingerprints(content).starts
        begins = np.arange(windows)
        assert (np.searchsorted(starts, begins + WINDOW) > np.searchsorted(starts, begins)).all()


def test_blocks_leave_no_seam(monkeypatch):
    content = np.random.default_rng(5).integers(33, 126, 5000, np.uint8).tobytes() + b"-" * 500
    whole = fingerprints(content)
    for size in (1, 7, 16, 333):
        monkeypatch.setattr(winnowing, "_BLOCK", size)
        parts = fingerprints(content)
        assert (parts.hashes == whole.hashes).all() and (parts.starts == whole.starts).all()


def test_about_two_of_seventeen_grams_are_kept_and_no_more_where_one_repeats():
    noise = np.random.default_rng(1).integers(33, 126, 200_000, np.uint8).tobytes()
    assert len(fingerprints(noise)) == pytest.approx(len(noise) * 2 / 17, rel=0.02)
    for repeated in (b"a", b"ab", b"0, ", b"-=*"):
        prints = fingerprints(repeated * 50_000)
        assert len(prints) <= len(repeated) * 50_000 * 2 / WINDOW + 2


def test_no_collision_among_similar_grams():
    """Counters and single changed bytes: families on which a sum or a short polynomial would collide."""
    base = b"x" * K
    grams = {b"%024d" % i for i in range(5_000)} | {
        base[:i] + bytes([b]) + base[i + 1 :]
        for i in range(0, K, 5)
        for b in range(256)
        if b not in WHITESPACE
    }
    hashes = np.array([fingerprints(g).hashes[0] for g in sorted(grams)])
    assert len(np.unique(hashes)) == len(grams)
    upper = len(np.unique(hashes >> np.uint64(32)))  # windows are decided by these bits
    assert upper > len(grams) - 10


def test_the_hash_is_the_same_in_every_run():
    assert fingerprints(b"abcdefghijklmnopqrstuvwxyz").hashes.tolist() == [3762089873221858710]
