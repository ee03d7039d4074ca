"""History as a corpus: every blob that a revision reaches, at every path, and nothing read twice."""

import os
import stat

import pytest
from trees import files_in, versions_of

from hush_core.corpus import BlobStore, CleanView
from hush_core.corpus.git.blobs import reachable_blobs
from hush_core.corpus.git.history_log import load_log, log_file, read_log, save_log
from hush_core.corpus.git.versions import warnings_of
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
