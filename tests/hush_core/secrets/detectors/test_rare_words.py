"""Rare words against a plain count, what a word is, and borders of chunks."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.chunks import chunk_ranges
from hush_core.secrets.detectors import rare_words as module
from hush_core.secrets.detectors.rare_words import rare_words, whole_words, words

vocabulary = st.sampled_from(
    ["alpha", "Beta", "BETA", "naïve", "Straße", "STRASSE", "x1", "2024", "δέλτα", "a_b"]
)
collections = st.lists(st.lists(vocabulary, max_size=6).map(lambda w: ", ".join(w).encode()), max_size=30)


def plain(texts: list[bytes], low: int, high: int) -> list[tuple[bytes, list[int]]]:
    places: dict[bytes, list[int]] = defaultdict(list)
    for example, text in enumerate(texts):
        for word in {w.casefold() for w in text.decode().split(", ")}:
            if len(word) >= 3 and not word.isdigit():
                places[word.encode()].append(example)
    return sorted((w, ids) for w, ids in places.items() if low <= len(ids) <= high)


@pytest.mark.parametrize("buckets", [1, 2, 1 << 24])
@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(texts=collections, low=st.integers(1, 4), width=st.integers(0, 4))
def test_equals_a_plain_count_whatever_collides(buckets, texts, low, width):
    """With one bucket every word collides with every other: collisions may cost work, never a word."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BUCKETS", buckets)
        found = rare_words(texts, low, low + width)
    assert [(w, ids.tolist()) for w, ids in found] == plain(texts, low, low + width)
    assert all(ids.dtype == np.uint32 for _, ids in found)


def test_a_word_counts_once_an_example_and_both_ends_are_included():
    texts = [b"falcon falcon Falcon"] * 3 + [b"falcon osprey"] + [b"osprey kestrel"]
    assert [w for w, _ in rare_words(texts, 2, 4)] == [b"falcon", b"osprey"]
    assert [w for w, _ in rare_words(texts, 1, 1)] == [b"kestrel"]
    assert [w for w, _ in rare_words(texts, 5, 9)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab abc 12345 1_000 a12 ___", {"abc", "a12"}),
        ("snake_case camelCase kebab-case", {"snake_case", "camelcase", "kebab", "case"}),
        ("Na\u00efve nai\u0308ve NA\u00cfVE", {"na\u00efve"}),
        ("Stra\u00dfe STRASSE", {"strasse"}),
        ("\u0939\u093f\u0928\u094d\u0926\u0940 word", {"\u0939\u093f\u0928\u094d\u0926\u0940", "word"}),
        (
            "\u0394\u03ad\u03bb\u03c4\u03b1\u2014\u201cquoted\u201d",
            {"\u03b4\u03ad\u03bb\u03c4\u03b1", "quoted"},
        ),
        ("\u212aelvin", {"kelvin"}),
        ("\u0661\u0662\u0663\u0664 \u0301\u0301\u0301", set()),
        ("x" * 128 + " " + "y" * 129 + " " + "\u00e9" * 129, {"x" * 128}),
    ],
)
def test_what_a_word_is(text, expected):
    assert words(text.encode()) == {w.encode() for w in expected}


def test_ascii_and_unicode_texts_agree():
    text = b"The Quick_Brown fox2 2000 jumps; over_ _the LAZY.dog a1b"
    assert words(text) == words(text + " \u2026".encode())


def test_bytes_that_are_no_text_separate_words():
    assert words(b"alpha\xffbeta\x00gamma") == {b"alpha", b"beta", b"gamma"}


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    parts=st.lists(vocabulary | st.text(max_size=5), max_size=30),
    size=st.integers(1, 40),
)
def test_no_word_is_lost_at_a_border_of_chunks(parts, size):
    """Every word of the file is in every chunk that its bytes touch, and no piece of it is lost."""
    content = " ".join(parts).encode()
    chunks = [(a, b, words(whole_words(content, a, b))) for a, b in chunk_ranges(len(content), size)]
    assert set().union(*(w for _, _, w in chunks)) == words(content)
    at = 0
    for part in " ".join(parts).split(" "):
        end = at + len(part.encode())
        touched = [w for a, b, w in chunks if a < end and at < b]
        assert all(words(part.encode()) <= w for w in touched) or not part.isalnum()
        at = end + 1


def test_long_runs_are_no_words_on_either_side_of_a_border():
    content = b"key = " + b"a" * 3000 + b" end"
    assert [words(whole_words(content, a, b)) for a, b in chunk_ranges(len(content), 1000)] == [
        {b"key"},
        set(),
        set(),
        {b"end"},
    ]
    assert max(len(whole_words(content, a, b)) for a, b in chunk_ranges(len(content), 1000)) < 2100


def test_hostile_texts_end():
    marks = ("a" + "\u0301\u0316" * 300_000).encode()
    assert words(b"0" * 1_000_000) == set() and words(marks) == set()
    assert rare_words([marks, b"0_" * 300_000, b"\xff" * 100_000, b""], 1, 9) == []


def test_order_does_not_depend_on_the_hash_key():
    texts = [f"word{i % 50:02d} other{i % 7}".encode() for i in range(200)]
    found = rare_words(texts, 2, 40)
    assert [w for w, _ in found] == sorted(w for w, _ in found) and len(found) == 57
    assert all((np.diff(ids.astype(np.int64)) > 0).all() for _, ids in found)


def test_wrong_uses_are_refused():
    with pytest.raises(TypeError, match="twice"):
        rare_words(iter([b"a"]), 1, 2)
    for low, high in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match="low"):
            rare_words([], low, high)

    class Shrinking:
        times = 3

        def __iter__(self):
            self.times -= 1
            return iter([b"abc"] * self.times)

    with pytest.raises(ValueError, match="changed"):
        rare_words(Shrinking(), 1, 2)
