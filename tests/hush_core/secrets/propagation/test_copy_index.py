"""Copied code: pasted and edited functions of the standard library, the promise for verbatim runs, the holes."""

import ast
import random
import re
import sysconfig
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.secrets.propagation import copy_index as copies
from hush_core.secrets.propagation import winnowing
from hush_core.secrets.propagation.copy_index import CopyIndex, HashTable, distinct
from hush_core.secrets.propagation.winnowing import WHITESPACE, WINDOW, K, fingerprints

LIBRARY = Path(sysconfig.get_paths()["stdlib"])

NOT_CORPUS = {"site-packages", "test", "tests", "idle_test", "lib2to3"}

TAGGED = "asyncio"


def solid(content: bytes) -> bytes:
    return content.translate(None, WHITESPACE)


@pytest.fixture(scope="module")
def library() -> dict[str, bytes]:
    """The interpreter's own modules, one content each."""
    files = (f for f in sorted(LIBRARY.rglob("*.py")) if NOT_CORPUS.isdisjoint(f.relative_to(LIBRARY).parts))
    by_content = {
        f.read_bytes(): str(f.relative_to(LIBRARY)) for f in files if 0 < f.stat().st_size < 1 << 20
    }
    return {name: content for content, name in by_content.items()}


@pytest.fixture(scope="module")
def untagged(library) -> dict[str, bytes]:
    return {name: content for name, content in library.items() if not name.startswith(f"{TAGGED}/")}


@pytest.fixture(scope="module")
def index(library, untagged) -> CopyIndex:
    tagged = [(7, content) for name, content in library.items() if name not in untagged]
    return CopyIndex.build(tagged, untagged.values())


def functions(content: bytes) -> list[str]:
    """The functions of a module that a person would paste: 10 to 60 lines, 300 bytes or more of text."""
    text = content.decode()
    lines = text.splitlines(keepends=True)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [textwrap.dedent("".join(lines[n.lineno - 1 : n.end_lineno])) for n in nodes]
    return [f for f in found if 10 <= f.count("\n") <= 60 and len(solid(f.encode())) >= 300]


def indented(function: str, other: str) -> str:
    return textwrap.indent(function.replace("    ", "\t"), "\t\t")


def with_crlf(function: str, other: str) -> str:
    return function.replace("\n", "\r\n")


def commented(function: str, other: str) -> str:
    lines = [line for line in function.splitlines(keepends=True) if not line.strip().startswith("#")]
    return "".join(
        f"{line}    # step {i} of the plan\n" if i % 4 == 1 else line for i, line in enumerate(lines)
    )


def renamed(function: str, other: str) -> str:
    """Two of its own names, wherever they stand."""
    names = dict.fromkeys(re.findall(r"\b(\w{3,}) = ", function) + re.findall(r"\bdef (\w+)", function))
    for name in list(names)[:2]:
        function = re.sub(rf"\b{name}\b", f"fresh_{len(name)}", function)
    return function


def in_a_class(function: str, other: str) -> str:
    return "class Wrapped(Base):\n    ready = False\n\n" + textwrap.indent(function, "    ")


def reordered(function: str, other: str) -> str:
    return f"{other}\n\n{function}"


EDITS = (indented, with_crlf, commented, renamed, in_a_class, reordered)


def pastes(library, untagged, pasted_functions: int):
    """(name of the edit, host with a pasted function, where the pasted text stands in it)."""
    pick = random.Random(3)
    tagged = [content for name, content in sorted(library.items()) if name not in untagged]
    pool = [f for content in tagged for f in functions(content)]
    hosts = sorted(name for name, content in untagged.items() if len(content) > 4000)
    for function in pick.sample(pool, pasted_functions):
        for edit in EDITS:
            other = pick.choice([f for f in pool if f != function])
            host = untagged[pick.choice(hosts)]
            text = edit(function, other).encode()
            at = host.index(b"\n", len(host) // 2) + 1
            # of two neighbours the second one is sought: the first must not stand in for it
            begin = at + (len(other.encode()) + 2 if edit is reordered else 0)
            yield edit.__name__, host[:at] + text + b"\n" + host[at:], begin, at + len(text)


@pytest.mark.slow
def test_all_of_120_pasted_functions_are_found(library, untagged, index):
    missed, covered = [], []
    for edit, content, start, end in pastes(library, untagged, 20):
        found = [c for c in index.find(content) if c.start < end and start < c.end]
        assert all(c.index == 7 and c.start < c.end for c in found)
        share = len(set().union(*(range(max(c.start, start), min(c.end, end)) for c in found))) / (
            end - start
        )
        covered.append(share)
        if not found:
            missed.append(edit)
    assert len(covered) == 120 and missed == []
    assert np.mean(covered) > 0.9, "and it is the pasted text that is marked"


def test_unrelated_code_is_left_alone(untagged, index):
    """What little is marked is text that truly stands in both: the library copies from itself."""
    marked = {name: list(index.find(content)) for name, content in untagged.items()}
    size = sum(len(content) for content in untagged.values())
    assert sum(c.end - c.start for found in marked.values() for c in found) < 0.01 * size
    unrelated = [
        n for n in untagged if n.startswith(("encodings/", "json/", "curses/", "sqlite3/", "wsgiref/"))
    ]
    assert len(unrelated) > 100
    assert sum(bool(marked[n]) for n in unrelated) <= 2


words = st.integers(0, 10**9).map(lambda n: b"w%x " % (n * 2654435761 % 2**32))


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(
    parts=st.lists(words, min_size=60, max_size=90, unique=True),
    cut=st.integers(0, 200),
    around=st.lists(words, max_size=200).map(b"".join),
)
def test_every_verbatim_run_of_87_bytes_is_found(parts, cut, around):
    """The promise of CopyIndex, at its shortest, among other text on both sides."""
    document = b"".join(parts)
    data = solid(document)
    run = data[cut % (len(data) - 87) :][:87]
    if len(np.unique(fingerprints(run, window=1).hashes)) < 64:
        return
    content = around + b"\n" + b" ".join(run[i : i + 3] for i in range(0, 87, 3)) + b"\n" + around[::-1]
    start, end = len(around) + 1, len(around) + 1 + 87 + 28
    found = list(CopyIndex.build([(0, document)]).find(content))
    assert any(c.start <= start and end <= c.end for c in found)


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(parts=st.lists(words, min_size=2, max_size=14, unique=True), padding=st.binary(max_size=200))
@example(parts=[b"import os, sys, re, json, abc, ast, io, dis"], padding=b"x" * 100)
def test_short_tagged_documents_are_found_whole(parts, padding):
    document = b"".join(parts)
    index = CopyIndex.build([(3, document)])
    found = list(index.find(padding + b"\n\n" + document + b"\n\n" + padding))
    start, end = len(padding) + 2, len(padding) + 2 + len(document.rstrip())
    if len(solid(document)) < 39:
        assert index.too_short == {3: 1}
    else:
        assert index.too_short == {}
        assert any(c.start <= start and end <= c.end for c in found)


def test_chance_matches_beside_a_copy_do_not_hide_it(library, index):
    """A dense stretch among far-apart single matches: over the whole cluster containment would be low."""
    function = functions(library[f"{TAGGED}/queues.py"])[0].encode()
    tagged = library[f"{TAGGED}/base_events.py"]
    noise = random.Random(8)
    scraps = []
    for i in range(40):
        at = 900 * i % (len(tagged) - 100)
        scraps.append(tagged[at : at + 30] + bytes(noise.choices(range(97, 123), k=60)))
    content = b"\n".join([*scraps[:20], function, *scraps[20:]])
    start = content.index(function)
    assert any(c.start < start + len(function) and start < c.end for c in index.find(content))


def test_matches_far_apart_are_no_copy(library, index):
    """Single shared grams, each within reach of the next, but never four among sixteen."""
    prints = fingerprints(library[f"{TAGGED}/base_events.py"])
    smallest = [i for i in np.argsort(prints.hashes)[:200] if prints.hashes[i] in index._hashes.hashes][:30]
    grams = [solid(library[f"{TAGGED}/base_events.py"][prints.starts[i] : prints.ends[i]]) for i in smallest]
    noise = random.Random(4)
    content = b"".join(g + bytes(noise.choices(range(97, 123), k=40)) for g in grams)
    assert np.isin(fingerprints(content).hashes, index._hashes.hashes).sum() >= 25
    assert list(index.find(content)) == []


def test_a_short_document_keeps_its_worth_beside_a_long_one_that_holds_it():
    long = b"".join(b"rate_%d = curve(%d)\n" % (i * 31, i * i) for i in range(50))
    short = solid(long)[200:239]
    host = b"x = 1\n" * 9 + short + b"\nend"
    assert len(fingerprints(short)) < copies.SHARED
    assert list(CopyIndex.build([(0, long)]).find(host)) == []
    for order in ([(0, long), (0, short)], [(0, short), (0, long)]):
        assert len(list(CopyIndex.build(order).find(host))) == 1


def test_common_lines_between_do_not_part_a_copy():
    """Common fingerprints count neither for nor against."""
    common = b"".join(b"    # every module of this project says these words %d\n" % i for i in range(3))
    secret = [b"threshold_%x = level * 0x%x\n" % (i**3, i**5) for i in range(4, 14)]
    tagged = common.join(secret)
    index = CopyIndex.build([(0, tagged)], [common + b"a", common + b"b", common + b"c"], common=2)
    content = common.join(line for i, line in enumerate(secret) if i % 2) + b"pass\n"
    found = list(index.find(content))
    assert len(found) == 1 and found[0].start == 0 and found[0].end > len(content) - 60


def test_two_pastes_in_one_file_are_two_regions(index, library):
    function = functions(library[f"{TAGGED}/queues.py"])[0].encode()
    filler = b"\n".join(b"value_%d = compute(%d)" % (i * 7919, i) for i in range(200)) + b"\n"
    content = filler + function + filler + function + filler
    assert [c.index for c in index.find(content)] == [7, 7]


def test_common_text_is_dropped_and_counted():
    header = b"".join(
        b"# Clause %d: you may use this file under the terms of the licence.\n" % i for i in range(9)
    )
    code = b"".join(b"    total_%d = price_of(basket_%d) * %d\n" % (i, i * i, i * 31) for i in range(30))
    other = [header + b"def other_%d():\n    return %d\n" % (i, i) for i in range(6)]
    sought = CopyIndex.build([(0, header + code), (1, code)], other, common=5)
    dropped = len(np.unique(fingerprints(header).hashes))
    assert list(sought.dropped_common) == [0] and dropped * 0.9 <= sought.dropped_common[0] <= dropped
    assert sought.kept[1] == len(np.unique(fingerprints(code).hashes))
    assert list(sought.find(other[0])) == []
    assert {c.index for c in sought.find(other[0] + code)} == {0, 1}
    kept = CopyIndex.build([(0, header + code), (1, code)], other, common=6)
    assert kept.dropped_common == {} and [c.index for c in kept.find(other[0])] == [0]


def test_each_secret_is_told_apart(library):
    names = [f"{TAGGED}/{n}.py" for n in ("queues", "locks", "streams")]
    index = CopyIndex.build(enumerate(library[n] for n in names))
    for number, name in enumerate(names):
        function = functions(library[name])[0].encode()
        assert {c.index for c in index.find(b"x = 1\n" * 50 + function)} == {number}


def test_merging_in_parts_gives_the_same_index(library, monkeypatch):
    tagged = [(i % 3, library[n]) for i, n in enumerate(sorted(library)) if i < 20]
    whole = CopyIndex.build(tagged)
    monkeypatch.setattr(copies, "_PENDING", 10)
    parts = CopyIndex.build(tagged)
    assert whole.kept == parts.kept
    assert np.array_equal(whole._hashes.hashes, parts._hashes.hashes)
    for name in ("_first", "_owners", "_worth"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.parametrize("content", [b"", b"\xff\x00" * 5000, b"-" * 100_000, b"\n" * 1000])
def test_odd_contents(index, content):
    assert list(index.find(content)) == []
    alone = CopyIndex.build([(0, content)])
    assert all(0 <= c.start < c.end <= len(content) for c in alone.find(content))


def test_nothing_tagged_finds_nothing():
    assert list(CopyIndex.build([], [b"x" * 99]).find(b"x" * 99)) == []


def test_repr_holds_no_fingerprint(index):
    assert re.fullmatch(
        r"CopyIndex\(kept=\{7: \d+\}, dropped_common=\{7: \d+\}, too_short=\{\}\)", repr(index)
    )


# upper bits from a few values, so that buckets overflow and the search by halves takes part
CLOSE = st.integers(0, 3).flatmap(lambda top: st.integers(0, 40).map(lambda low: top << 62 | low))

HASHES = st.lists(st.one_of(CLOSE, st.integers(0, 2**64 - 1)), max_size=200)


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(HASHES, HASHES)
@example(list(range(64)), [3, 63, 64, 2**63])  # one bucket holds all
def test_it_finds_what_a_set_would(inside, asked):
    table, needles = HashTable.of(np.array(inside, np.uint64)), np.array(asked + inside[:50], np.uint64)
    at, which = table.find(needles)
    assert which.tolist() == [i for i, h in enumerate(needles.tolist()) if h in set(inside)]
    assert np.array_equal(table.hashes[at], needles[which])
    assert table.hashes.tolist() == sorted(set(inside)) == distinct(np.array(inside, np.uint64)).tolist()


RUN = K + WINDOW - 1

few = st.sampled_from(b"ab\n ")

texts = st.lists(few, max_size=200).map(bytes) | st.binary(max_size=200)

runs = st.lists(st.sampled_from(b"abc(."), min_size=RUN, max_size=90).map(bytes) | st.binary(min_size=RUN)


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
