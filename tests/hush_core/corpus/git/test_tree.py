"""Every entry of the tree is either read or counted under a reason."""

from __future__ import annotations

import os

import numpy as np
import pytest
from trees import files_in, texts_of, tree_of

from hush_core.corpus.chunks import Layout, chunk_ranges
from hush_core.corpus.paths import language_of, match_path, printable_path


def test_what_cannot_be_scanned_is_dropped_and_counted(make_repo):
    repo, inner = make_repo(), make_repo("inner")
    commit = inner.commit({"x": b"x"})
    repo.write(
        {
            "plain.py": b"print(1)\n",
            "empty.py": b"",
            "bom.py": b"\xef\xbb\xbfx = 1\n",
            "le.txt": "secret\n".encode("utf-16"),
            "be.txt": b"\xfe\xff" + "secret\n".encode("utf-16-be"),
            "image.bin": b"\x89PNG\0\0",
            "latin.txt": "caf\xe9\n".encode("latin-1"),
            "big.txt": b"a" * 5001,
            "edge.txt": b"a" * 5000,
            "weights.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:"
            + b"0" * 64
            + b"\nsize 9\n",
        }
    )
    os.symlink("/etc/passwd", repo.path / "link")
    repo.git("add", "-A")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendored")
    repo.git("commit", "-q", "-m", "all")
    tree = tree_of(repo.path, most=5000)
    assert [path for _, path, _ in files_in(tree)] == ["bom.py", "edge.txt", "empty.py", "plain.py"]
    assert dict(tree.skipped) == {
        "symlink": 1, "submodule": 1, "too_large": 1, "lfs_pointer": 1, "utf16": 2, "binary": 1,
        "undecodable": 1,
    }  # fmt: skip
    assert sorted(tree.skipped.names)[:2] == [("binary", "image.bin"), ("lfs_pointer", "weights.bin")]
    assert ("submodule", "vendored") in tree.skipped.names and ("too_large", "big.txt") in tree.skipped.names
    assert len(tree.skipped.names) == tree.skipped.total()
    listed = len(repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
    assert len(tree.blob) + tree.skipped.total() == listed


def test_odd_paths_are_printable_distinct_and_still_matched(make_repo):
    repo = make_repo()
    odd = [
        b"caf\xe9.py",
        b"caf\\xe9.py",
        b"a\nb.py",
        b"tab\there.py",
        "é.py".encode(),
        b'q"uote.py',
        b" lead.py",
    ]
    repo.commit({b"dir/" + name: b"%d\n" % i for i, name in enumerate(odd)})
    found = files_in(tree_of(repo.path))
    assert {raw: text for raw, _, text in found} == {b"dir/" + n: b"%d\n" % i for i, n in enumerate(odd)}
    assert len({path for _, path, _ in found}) == len(odd)
    assert all(path.isprintable() and path.encode() for _, path, _ in found)
    assert printable_path(b"a\\b\xff") == "a\\x5cb\\xff"
    assert match_path(b"d/a\n\xff") == "d/a\ufffd\ufffd"


def test_many_blobs_stream_in_order(make_repo):
    repo = make_repo()
    files = {f"d{i % 7}/f{i:03}": (b"%d\n" % i) * (1 + 997 * (i % 11)) for i in range(300)}
    repo.commit(files)
    assert texts_of(repo.path) == files


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 160, 161])
def test_chunks_tile_the_file_and_overlap_agrees_with_brute_force(size):
    ranges = list(chunk_ranges(size, 16))
    layout = Layout(np.zeros(1, np.int32), np.array([size]), 16)
    assert b"".join(bytes(range(256))[a:b] for a, b in ranges) == bytes(range(256))[:size]
    for start in range(size):
        for end in range(start + 1, min(size, start + 40) + 1):
            want = [i for i, (a, b) in enumerate(ranges) if a < end and start < b]
            got, counts = layout.pieces_of_spans(np.array([0]), np.array([start]), np.array([end]))
            assert got.tolist() == want and counts.tolist() == [len(want)]


def test_languages():
    assert [language_of(p) for p in ("a/b.PY", "Dockerfile", "x", "a.tar.gz")] == [
        "python",
        "docker",
        "other",
        "other",
    ]
