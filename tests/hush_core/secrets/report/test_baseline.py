"""A baseline tells nothing, holds still while code moves, and shows what really changed."""

import json
import os
import stat

import polars as pl
import pytest
from extracting import CREDENTIALS, KEY, job, token
from frames import frame_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.report.baseline import (
    baseline_of_items,
    changes,
    count_by_entry,
    items_of,
    read_baseline,
    write_baseline,
)

OTHER = b"o" * 32


def extraction(repo, mode="tree", chunk=64, more=(), key=KEY):
    return extract(job([repo], [CREDENTIALS, *more], mode, chunk_bytes=chunk), key)


def baseline_of(secrets, edges, examples, key):
    return baseline_of_items(items_of(secrets, edges, examples, key), key)


def baseline(found, key=KEY):
    return baseline_of(found.secrets, found.edges, found.examples, key)


def frames(pairs):
    """(name, source, path) → the three frames, one example a pair."""
    names = sorted({name for name, _, _ in pairs})
    secrets = frame_of(secret_id=range(len(names)), name=names, kind=["path"] * len(names))
    examples = pl.DataFrame(
        [(i, s, p) for i, (_, s, p) in enumerate(pairs)],
        schema={"example_id": pl.UInt32, "source": pl.String, "path": pl.String},
        orient="row",
    )
    edges = pl.DataFrame(
        [(i, names.index(n)) for i, (n, _, _) in enumerate(pairs)],
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
        orient="row",
    )
    return secrets, edges, examples


def test_it_holds_still_under_line_moves_chunk_borders_and_modes(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f'T = "{token(1)}"\n'.encode(), "b.py": b"x = 1\n" * 40})
    first = baseline(extraction(repo))
    assert len(first["items"]) == 1
    assert baseline(extraction(repo, mode="history")) == baseline(extraction(repo, chunk=4096)) == first
    repo.commit({"a.py": b"# moved\n" * 50 + f'T = "{token(1)}"\n'.encode()})
    assert baseline(extraction(repo)) == first
    assert baseline(extraction(repo, mode="history")) == first


def test_what_is_new_and_what_is_gone(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f'T = "{token(1)}"\n'.encode(), "b.py": f'T = "{token(2)}"\n'.encode()})
    old = baseline(extraction(repo))
    repo.git("mv", "a.py", "moved.py")
    repo.commit({"c.py": f'T = "{token(2)}"\n'.encode()})
    found = extraction(repo)
    new = baseline(found)
    changed = changes(old, new)
    assert [len(part) for part in (changed.new, changed.gone, changed.same)] == [2, 1, 1]
    items = items_of(found.secrets, found.edges, found.examples, KEY)
    assert set(items.filter(pl.col("token").is_in(list(changed.new)))["path"]) == {"moved.py", "c.py"}
    assert changes(old, old).same == tuple(old["items"])
    assert count_by_entry(changed.gone, ["other", "creds"], KEY) == {"other": 0, "creds": 1, None: 0}
    assert count_by_entry(changed.gone, ["other"], KEY) == {"other": 0, None: 1}
    assert count_by_entry(changed.gone, ["creds"], OTHER) == {"creds": 0, None: 1}


def test_lines_of_a_literal_file_and_rules_may_be_renamed():
    before = baseline_of(*frames([("codenames/3:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    after = baseline_of(*frames([("codenames/17:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert before == after
    other = baseline_of(*frames([("codenames/3:0123456789ac", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert len(changes(before, other).new) == 1
    another_entry = baseline_of(*frames([("words/3:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert len(changes(before, another_entry).new) == 1


def test_the_file_tells_nothing_without_the_key(make_repo, tmp_path):
    repo = make_repo("acme-secret-repo")
    repo.commit({"trading/eu/alpha.py": f'T = "{token(1)}"\n'.encode()})
    alpha = [{"id": "alpha", "kind": "path", "globs": ["trading/**"], "level": 1e-3}]
    found = extraction(repo, more=alpha)
    one, two = baseline(found), baseline(extraction(repo, more=alpha, key=OTHER), OTHER)
    assert len(one["items"]) == len(two["items"]) == 2 and one["key"] != two["key"]
    for part in (slice(0, 64), slice(64, 80)):  # alpha has one name under both keys
        assert not {t[part] for t in one["items"]} & {t[part] for t in two["items"]}
    text = json.dumps(one)
    digest = found.secrets["name"].filter(found.secrets["kind"] == "credentials")[0].rpartition(":")[2]
    for told in (token(1), "creds", "alpha", "trading", "acme", digest, found.examples["revision"][0]):
        assert told not in text
    # nothing that two items share shows: not the secret, the entry or the file
    tokens = baseline_of(*frames([("e/a:0123456789ab", "r", str(i)) for i in range(50)]), KEY)["items"]
    assert len({t[:64] for t in tokens}) == len({t[64:] for t in tokens}) == 50


def test_it_is_written_whole_private_and_read_back(tmp_path):
    made = baseline_of(*frames([("alpha", "r", "b")]), KEY)
    file = tmp_path / "baseline.json"
    write_baseline(file, {"format": "older"})
    write_baseline(file, made)
    assert read_baseline(file, KEY) == made
    assert os.listdir(tmp_path) == ["baseline.json"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(TypeError):  # what cannot be written leaves the old file
        write_baseline(file, {"x": object()})
    assert read_baseline(file, KEY) == made
    with pytest.raises(OSError):
        write_baseline(tmp_path / "no" / "baseline.json", made)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is no baseline"),
        (b'{"format": "hush baseline", "version": 2}', "another version"),
        (b'{"format": "hush baseline", "version": 1, "key": "k", "items": []}', "damaged"),
        (b'{"format": "hush baseline", "version": 1, "items": ["x"]}', "damaged"),
        (b'{"format": "hush baseline", "version": 1, "items": {"x": 1}, "key": null}', "damaged"),
    ],
)
def test_what_is_no_baseline_is_one_clear_refusal(tmp_path, content, says):
    file = tmp_path / "b.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_baseline(file, KEY)


def test_a_wrong_key_or_no_file_is_one_clear_refusal(tmp_path):
    made = baseline_of(*frames([("alpha", "r", "b")]), OTHER)
    write_baseline(tmp_path / "b.json", made)
    with pytest.raises(InputError, match="another identity key"):
        read_baseline(tmp_path / "b.json", KEY)
    with pytest.raises(InputError, match="another identity key"):
        changes(made, baseline_of(*frames([("alpha", "r", "b")]), KEY))
    with pytest.raises(InputError, match="No such file"):
        read_baseline(tmp_path / "none.json", KEY)


words = st.text(alphabet='ab/:\n\x1f"0', min_size=1, max_size=6)
pairs = st.lists(st.tuples(words, words, words), max_size=12)


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(pairs, pairs, st.randoms(use_true_random=False))
def test_changes_are_set_algebra_over_places(before, after, shuffle):
    old, new = baseline_of(*frames(before), KEY), baseline_of(*frames(after), KEY)
    changed = changes(old, new)
    assert len(changed.new) == len(set(after) - set(before))
    assert len(changed.gone) == len(set(before) - set(after))
    assert len(changed.same) == len(set(before) & set(after))
    assert changes(new, old).new == changed.gone
    mixed = [*after, *after[:3]]
    shuffle.shuffle(mixed)
    assert baseline_of(*frames(mixed), KEY) == new
