"""The clean view runs nothing of the source's configuration and sees nothing but its true objects."""

import subprocess

import pytest
from trees import history_of, people_of
from trees import texts_of as read

from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import read_history
from hush_core.errors import InputError


def test_every_way_to_name_a_revision(make_repo):
    repo = make_repo()
    first = repo.commit({"a": b"1\n"})
    repo.git("tag", "-a", "v1", "-m", "annotated")
    repo.git("branch", "feature/x")
    second = repo.commit({"a": b"2\n"})
    for packed in (False, True):
        if packed:
            repo.git("pack-refs", "--all")
            repo.git("gc", "-q")
        for rev in ("v1", "refs/tags/v1", "feature/x", "heads/feature/x", first, first.upper(), first[:8]):
            with CleanView(repo.path, rev) as view:
                assert view.commit == first, rev
        for rev in ("HEAD", "main", "refs/heads/main", second[:7]):
            with CleanView(repo.path, rev) as view:
                assert view.commit == second, rev
    repo.git("checkout", "-q", "--detach", first)
    with CleanView(repo.path) as view:
        assert view.commit == first


def test_bare_and_sha256_repositories_and_remote_refs(make_repo, tmp_path):
    repo = make_repo()
    commit = repo.commit({"a": b"1\n"})
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "bare.git"))
    assert read(tmp_path / "bare.git", "main") == {"a": b"1\n"}
    repo.git("update-ref", "refs/remotes/origin/dev", commit)
    with CleanView(repo.path, "origin/dev") as view:
        assert view.commit == commit
    other = make_repo("wide", "--object-format=sha256")
    assert len(other.commit({"b": b"2\n"})) == 64
    assert read(other.path) == {"b": b"2\n"}


def test_a_missing_object_is_not_fetched_as_the_source_says(make_repo, tmp_path):
    """`tests/hush_core/secrets/test_hostile.py` has all other ways in which a configuration runs a program."""
    repo = make_repo()
    repo.commit({"a.txt": b"hello\n"}, who="p@q.org")
    marker, program = tmp_path / "marker", tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {marker}\nexit 1\n")
    program.chmod(0o755)
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(
            f'[remote "origin"]\n url = "ext::{program} %S"\n promisor = true\n partialclonefilter = blob:none\n'
            "[protocol]\n allow = always\n[extensions]\n partialClone = origin\n"
        )
    missing = make_repo("probe").git("hash-object", "--stdin", stdin=b"gone")
    assert read(repo.path)["a.txt"] == b"hello\n"
    with CleanView(repo.path) as view:
        assert read_history(view).commits == 1
        with pytest.raises(InputError, match="missing or damaged"):
            view.run("cat-file", "blob", missing)  # would be fetched through ext:: with the source's config
    for file in (repo.path / ".git" / "objects").glob("??/*"):
        file.unlink()
    with pytest.raises(InputError):
        read(repo.path)
    assert not marker.exists()
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("cat-file", "blob", missing)
    assert marker.exists()  # the trap is real: git run in the source falls into it


def test_the_callers_environment_does_not_reach_git(make_repo, monkeypatch):
    repo, other = make_repo(), make_repo("other")
    repo.commit({"a": b"right\n"})
    other.commit({"a": b"wrong\n"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git/objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "log.excludeDecoration")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "x")
    assert read(repo.path) == {"a": b"right\n"}


def test_the_users_own_git_configuration_is_not_read(make_repo, monkeypatch, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"right\n"}, who="p@q.org")
    by_config, by_variable = tmp_path / "by-config", tmp_path / "by-variable"
    (tmp_path / "hooks").mkdir()
    (tmp_path / ".gitconfig").write_text(
        f"[trace2]\n normalTarget = {by_config}\n[init]\n templateDir = {tmp_path / 'hooks'}\n"
        "[log]\n date = no-such-format\n[core]\n abbrev = 4\n quotePath = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE2", str(by_variable))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert read(repo.path) == {"a": b"right\n"}
    assert people_of(repo.path) == {b"a": {"p@q.org"}}
    assert not by_config.exists() and not by_variable.exists()
    subprocess.run(["git", "-C", str(repo.path), "status"], capture_output=True)
    assert by_variable.exists()  # the traps are real
    monkeypatch.delenv("GIT_TRACE2")
    subprocess.run(["git", "-C", str(repo.path), "status"], capture_output=True)
    assert by_config.exists()


def test_replace_refs_and_grafts_are_out_of_sight(make_repo):
    repo = make_repo()
    first = repo.commit({"a": b"real\n"}, who="first@x.org")
    blob = repo.git("rev-parse", "HEAD:a")
    fake = repo.git("hash-object", "-w", "--stdin", stdin=b"replaced\n")
    second = repo.commit({"b": b"b\n"}, who="second@x.org")
    repo.git("replace", blob, fake)
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "grafts").write_text(f"{second}\n")
    assert repo.git("cat-file", "blob", blob) == "replaced"  # what a careless reader gets
    assert read(repo.path) == {"a": b"real\n", "b": b"b\n"}
    assert people_of(repo.path)[b"a"] == {"first@x.org"}, first


def test_what_is_no_repository_is_refused_with_a_mend(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / ".git").write_text(f"gitdir: {repo.path / '.git'}\n")
    empty = make_repo("empty")
    (tmp_path / "plain").mkdir()
    cases = [
        (tmp_path / "nowhere", "HEAD", "does not exist"),
        (tmp_path / "plain", "HEAD", "not a git repository"),
        (tmp_path / "module", "HEAD", "submodule"),
        (repo.path / ".git" / "worktrees" / "linked", "HEAD", "worktree|not a git repository"),
        (empty.path, "HEAD", "no commit yet"),
        (repo.path, "nothing", "no revision"),
        (repo.path, "deadbeef", "no revision"),
        (repo.path, "main~1", "not a plain name"),
        (repo.path, "../../etc/passwd", "not a plain name"),
    ]
    for path, rev, message in cases:
        with pytest.raises(InputError, match=message) as error, CleanView(path, rev):
            pass
        assert error.value.hint
    gone = "1" * 40
    with pytest.raises(InputError, match=r"no revision|missing"), CleanView(repo.path, gone):
        pass


def test_a_linked_worktree_is_read_at_its_own_commit_and_knows_the_branches_of_its_repository(
    make_repo, tmp_path
):
    repo = make_repo()
    commits = [repo.commit({"a": b"1\n"}), repo.commit({"a": b"2\n"})]
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side", commits[0])
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "detached"), commits[0])
    for where, rev, commit in (
        ("linked", "HEAD", commits[0]), ("linked", "side", commits[0]), ("linked", "main", commits[1]),
        ("detached", "HEAD", commits[0]), (repo.path, "HEAD", commits[1]),
    ):  # fmt: skip
        with CleanView(tmp_path / where, rev) as view:
            assert view.commit == commit


def test_a_folder_that_names_a_repository_which_does_not_know_it_is_refused(make_repo, tmp_path):
    """Else whoever gives away a folder chooses which repository of its reader is scanned, and trained on."""
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    folder = tmp_path / "given"
    folder.mkdir()
    own = folder / "worktrees" / "one"
    own.mkdir(parents=True)
    (own / "gitdir").write_text(f"{folder / '.git'}\n")
    (own / "commondir").write_text(str(repo.path / ".git"))
    known = repo.path / ".git" / "worktrees" / "linked"
    for gitdir in (known, own, repo.path / ".git", tmp_path / "loop", "\0", ""):
        (folder / ".git").write_text(f"gitdir: {gitdir}\n")
        with pytest.raises(InputError, match="submodule or a moved worktree|not a git repository"):
            CleanView(folder)
    (folder / ".git").unlink()
    (folder / ".git").symlink_to(tmp_path / "linked" / ".git")
    with pytest.raises(InputError, match="submodule or a moved worktree"):
        CleanView(folder)


def test_symbolic_links_among_refs_are_not_followed(make_repo, tmp_path):
    repo = make_repo()
    commit = repo.commit({"a": b"1\n"})
    (tmp_path / "outside").write_text(commit)
    (repo.path / ".git" / "refs" / "heads" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="no revision"), CleanView(repo.path, "link"):
        pass


def test_a_partial_clone_is_refused(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"1\n", "b": b"2\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git(
        "clone", "-q", "--bare", "--filter=blob:none", f"file://{repo.path}", str(tmp_path / "partial.git")
    )
    with pytest.raises(InputError, match="missing or damaged") as error:
        read(tmp_path / "partial.git")
    assert "full clone" in error.value.hint


def test_nothing_is_written_to_the_source(make_repo):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in repo.path.rglob("*"))
    read(repo.path)
    history_of(repo.path)
    assert before == sorted((str(p), p.lstat().st_mtime_ns) for p in repo.path.rglob("*"))


def test_a_lost_blob_is_named_by_its_path(make_repo):
    """One object is gone: of which file, and what to do; not its id, which is a hash of the text."""
    repo = make_repo()
    repo.commit({"kept.py": b"kept\n", "deep/lost.py": b"a line that is lost\n"})
    blob = repo.git("rev-parse", "HEAD:deep/lost.py")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(InputError, match=r"repo: deep/lost\.py: .*missing or damaged") as error:
        read(repo.path)
    assert "fetch" in error.value.hint and blob[:7] not in str(error.value)
