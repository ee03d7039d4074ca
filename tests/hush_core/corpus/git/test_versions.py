"""Tree and history as a corpus: every entry is read or counted, nothing is read twice, and who changed what."""

import os
import stat

import numpy as np
import pytest
from trees import files_in, history_of, people_of, texts_of, tree_of, versions_of

from hush_core.corpus import BlobStore, CleanView
from hush_core.corpus.chunks import ChunkLayout, chunk_ranges
from hush_core.corpus.git.blobs import reachable_blobs
from hush_core.corpus.git.history import parse_mailmap
from hush_core.corpus.git.history_log import load_log, log_file, read_log, save_log
from hush_core.corpus.git.versions import warnings_of
from hush_core.corpus.paths import language_of, match_path, printable_path
from hush_core.errors import InputError


def versions(repo, rev: str = "HEAD", limit: int = 1 << 20):
    with CleanView(repo.path if hasattr(repo, "path") else repo, rev) as view:
        return versions_of(view.path, rev, limit), reachable_blobs(view)


def tangled(make_repo):
    """Merges, an octopus, a removal, a rename, a subtree, a link, a revert and a branch that is not reached."""
    repo = make_repo()
    repo.commit({"a": b"a1\n", "gone": b"removed text\n", "keep": b"k\n"})
    for branch in ("x", "y"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.commit({branch: branch.encode(), "a": b"a on " + branch.encode() + b"\n"})
    repo.git("checkout", "-q", "-b", "elsewhere", "main")
    repo.commit({"hidden": b"of another branch\n"})
    repo.git("checkout", "-q", "main")
    repo.git("rm", "-q", "gone")
    repo.commit({"z": b"z\n"})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "x", "y")
    repo.commit({"merged": b"only in the octopus\n", "a": b"a of the octopus\n"})
    repo.git("mv", "keep", "dir-keep")
    os.symlink("a", repo.path / "link")
    repo.commit({"big": b"b" * 500, "bin": b"\0", "a": b"a1\n"})
    return repo


def test_every_reachable_blob_stands_at_every_path_where_it_ever_stood(make_repo):
    repo = tangled(make_repo)
    tree, reachable = versions(repo, limit=400)
    got = {(raw, text) for raw, _, text in files_in(tree)}
    want = set()
    for commit in repo.git("rev-list", "HEAD").split():  # the slow way: every tree of every commit
        for line in repo.git("ls-tree", "-r", commit).splitlines():
            meta, _, path = line.partition("\t")
            mode, _, blob = meta.split()
            content = repo.git("cat-file", "blob", blob)
            if mode == "100644" and path not in ("big", "bin"):
                want.add((path.encode(), content.encode() + (b"" if path in ("x", "y") else b"\n")))
    assert got == want
    assert {b"only in the octopus\n", b"removed text\n"} <= {c for _, c in got}
    assert not any(b"another branch" in c for _, c in got)
    assert (b"dir-keep", b"k\n") in got and (b"keep", b"k\n") in got
    assert {k: v for k, v in tree.skipped.items() if v} == {"symlink": 1, "too_large": 1, "binary": 1}
    assert tree.facts == {"blobs_reachable": len(reachable), "blobs_covered": len(reachable)}
    assert len(reachable) == len({c for _, c in got}) + 3  # what was skipped


def test_a_log_read_in_two_parts_is_the_log_read_at_once(make_repo, tmp_path):
    repo = tangled(make_repo)
    file = log_file(tmp_path / "cache", b"k" * 32, repo.path)
    with CleanView(repo.path, repo.git("rev-parse", "main~1")) as view:
        old = read_log(view)
    save_log(file, old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(p.stat().st_mode) for p in (file.parent, file.parent.parent)} == {0o700}
    known = load_log(file)
    with CleanView(repo.path) as view:
        parts, once = read_log(view, known), read_log(view)
        assert read_log(view, parts) is parts
    with CleanView(repo.path, "elsewhere") as view:  # not a descendant: read from the start
        other, fresh = read_log(view, known), read_log(view)

    def rows(log):
        people = [log.groups[g] for g in log.group]
        changes = zip(log.change_commit, log.change_path, log.change_blob, log.change_kind, strict=True)
        named = {
            (log.commit[c], people[c], log.paths[p], log.blobs[b] if b >= 0 else b"", int(k))
            for c, p, b, k in changes
        }
        before = zip(log.before_change, log.before_blob, strict=True)
        return named, sorted((log.commit[log.change_commit[c]], log.blobs[b]) for c, b in before)

    assert rows(parts) == rows(once) != rows(old)
    assert parts.commit[: len(old.commit)] == old.commit
    assert rows(other) == rows(fresh)
    file.write_bytes(file.read_bytes()[:-40])
    assert load_log(file) is None
    assert load_log(tmp_path / "nothing") is None


def test_shallow_and_squashed_histories_are_warned_of(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    repo.commit({"a": b"2\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    tree, _ = versions(tmp_path / "shallow")
    assert [text for _, _, text in files_in(tree)] == [b"2\n"]
    (warning,) = warnings_of(tree.history)
    assert "shallow" in warning
    squashed = make_repo("squashed")
    squashed.commit({f"f{i}": b"%d\n" % i for i in range(30)})
    squashed.commit({"more": b"m\n"})
    (warning,) = warnings_of(versions(squashed)[0].history)
    assert "30 of 31 files" in warning
    assert warnings_of(versions(repo)[0].history) == []


@pytest.mark.parametrize("lost", ["a", "b"])
def test_missing_contents_are_refused(make_repo, lost):
    repo = make_repo()
    repo.commit({"a": b"old\n"})
    repo.commit({"a": b"new\n", "b": b"b\n"})
    blob = repo.git("rev-parse", f"HEAD~1:{lost}" if lost == "a" else "HEAD:b")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(InputError, match="missing or damaged"):
        versions(repo)


def test_git_writes_contents_to_the_spool_in_two_parts(make_repo, monkeypatch):
    from hush_core.corpus.git import blobs

    monkeypatch.setattr(blobs, "_WORTH_TWO", 1)
    repo = make_repo()
    texts = {f"f{i}": (b"%d\n" % i) * (i * 37) for i in range(1, 30)} | {"empty": b"", "zero": b"a\0b"}
    repo.commit(texts)
    with CleanView(repo.path) as view, BlobStore() as contents:
        sizes = blobs.sizes_in_pack_order(view, blobs.reachable_blobs(view))
        reasons = blobs.store_blobs(view, sizes, contents)
        assert sorted(contents[i] for i in range(len(contents))) == sorted(
            text for name, text in texts.items() if name != "zero"
        )
        assert list(reasons.values()) == ["binary"] and contents.number(next(iter(reasons))) is None
        assert blobs.store_blobs(view, {b: n for b, n in sizes.items() if b not in reasons}, contents) == {}
        wrong = dict.fromkeys([b"0" * 40], 3)
        with pytest.raises(InputError, match="missing or damaged"):
            blobs.store_blobs(view, wrong, contents)
    with CleanView(repo.path) as view, BlobStore() as contents, pytest.raises(InputError):
        blobs.store_blobs(view, {b: n + 1 for b, n in sizes.items()}, contents)


def people(repo) -> dict[bytes, set[str]]:
    return people_of(repo.path)


def touched(repo, *emails: str) -> set[bytes]:
    return history_of(repo.path).touched(emails)[0]


def test_content_that_exists_only_in_a_merge_has_its_author(make_repo):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    for branch in ("x", "y"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.commit({branch: b"1\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "x", "y")
    repo.commit({"evil": b"only here\n", "x": b"both\n"}, who="merger@x.org")
    assert "evil" not in repo.git("log", "--name-only", "--format=")  # what a careless reader gets
    assert repo.git("rev-list", "--parents", "-1", "HEAD").count(" ") == 3  # an octopus
    assert people(repo)[b"evil"] == {"merger@x.org"}
    assert people(repo)[b"x"] == {"merger@x.org", "dev@example.org"}


def test_trailers_and_mailmap_are_casefolded_and_mapped(make_repo):
    repo = make_repo()
    message = (
        "subject\n\nCo-Authored-By: Q <Quinn@OLD.org>\n\nin the middle\n\nco-authored-by: plain@x.org\n\ntail"
    )
    mailmap = (
        b"# people\nQ Real <quinn@corp.com> <quinn@old.org>\nH <work@corp.com> Someone <home@x.org> # c\n"
    )
    repo.commit({"a": b"1\n", ".mailmap": mailmap}, message=message, who="Home@X.org")
    assert people(repo)[b"a"] == {
        "home@x.org", "work@corp.com", "quinn@old.org", "quinn@corp.com", "plain@x.org",
    }  # fmt: skip
    assert parse_mailmap(b"Only Name <a@b.c>\nbroken\n") == {}


def test_renames_and_copies_keep_their_people(make_repo):
    repo = make_repo()
    repo.commit({"old.py": b"v1\n", "keep.py": b"other\n", "e1": b""}, who="ann@x.org")
    repo.commit({"old.py": b"v2\n"}, who="bob@x.org")
    repo.git("mv", "old.py", "mid.py")
    repo.commit(who="carl@x.org")
    repo.git("mv", "mid.py", "new.py")
    repo.commit({"e2": b""}, who="carl@x.org")
    repo.commit({"new.py": b"v3\n"}, who="dan@x.org")
    assert b"new.py" in touched(repo, "ann@*")  # two renames and two edits later
    assert b"new.py" in touched(repo, "BOB@X.org")
    assert b"keep.py" not in touched(repo, "bob@*", "carl@*", "dan@*")
    assert b"e2" not in touched(repo, "ann@*")  # the empty file makes no kinship
    assert touched(repo, "nobody@*") == set()


def test_odd_paths_and_messages_do_not_break_the_parser(make_repo):
    repo = make_repo()
    message = ":100644 100644 a b M\n\n\n" + "f" * 40 + "\x01"
    repo.commit({b":odd": b"1\n", b"\nline": b"2\n", b"caf\xe9": b"3\n"}, message=message)
    repo.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    assert history_of(repo.path).commits == 2
    assert set(people(repo)) == {b":odd", b"\nline", b"caf\xe9"}


def test_a_lying_commit_graph_is_not_believed(make_repo):
    repo = make_repo()
    repo.commit({"a": b"1\n"}, who="first@x.org")
    repo.commit({"b": b"1\n"})
    repo.git("commit-graph", "write", "--reachable")
    graph = repo.path / ".git" / "objects" / "info" / "commit-graph"
    content = bytearray(graph.read_bytes())
    at = content.index(bytes.fromhex(repo.git("rev-parse", "HEAD^{tree}"))) + 20
    graph.chmod(0o644)
    content[at : at + 4] = b"\x70\x00\x00\x00"  # the parent of HEAD becomes "none"
    graph.write_bytes(content)
    assert "first@x.org" not in repo.git("-c", "core.commitGraph=true", "log", "--format=%ae")
    assert people(repo)[b"a"] == {"first@x.org"}


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
    layout = ChunkLayout(np.zeros(1, np.int32), np.array([size]), 16)
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
