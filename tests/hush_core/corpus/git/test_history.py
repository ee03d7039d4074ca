"""Who changed what: merges, trailers, .mailmap, renames; a reader that misses one of them fails here."""

from trees import history_of, people_of

from hush_core.corpus.git.history import parse_mailmap


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
