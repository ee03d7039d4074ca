"""History mode, removed files, attribution by lines, and what the next run need not read again."""

import base64
import stat
from functools import partial

import pytest
from extracting import CREDENTIALS, KEY, held, job, token

from hush_core.errors import InputError
from hush_core.secrets import Extraction, examples, extract, scan_ahead
from hush_core.secrets.propagation import propagators
from hush_core.secrets.propagation.value_versions import VersionSearch

TOKENS = [token(seed) for seed in range(4)]
job = partial(job, chunk_bytes=16)
held = partial(held, columns=("path", "text"))


def test_a_credential_that_was_removed_is_found_in_history_only(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f't = "{TOKENS[0]}"\n'.encode(), "b.py": b"fine\n"})
    repo.commit({"a.py": b"t = read()\n", "b.py": f"# {TOKENS[1]} #\n".encode()})
    repo.git("mv", "b.py", "c.py")
    repo.commit({"d.py": b"d\n"}, message=f"never trained on: {TOKENS[2]}")
    tree = extract(job([repo], [CREDENTIALS], chunk_bytes=4096), KEY)
    assert {p for p, _ in held(tree)} == {"c.py"}
    result = extract(job([repo], [CREDENTIALS], "history", chunk_bytes=4096), KEY)
    assert {(p, TOKENS[0].encode() in t) for p, t in held(result)} == {
        ("a.py", True),
        ("b.py", False),
        ("c.py", False),
    }
    assert len(result.secrets) == 2
    assert sorted(result.examples["path"]) == ["a.py", "a.py", "b.py", "b.py", "c.py", "d.py"]
    assert not any(TOKENS[2].encode() in text for text in result.examples["text"])
    facts = result.coverage["repositories"]["repo"]
    assert (facts["mode"], facts["history_commits"]) == ("history", 3)
    assert facts["blobs_reachable"] == facts["blobs_covered"] == 5


def test_whole_files_of_old_are_held_at_every_path(make_repo):
    repo = make_repo()
    repo.commit({"eu/a.txt": b"version one\n", "CODEOWNERS": b"/old/ @acme/risk\n"})
    repo.commit({"eu/a.txt": b"version two\n", "old/x.txt": b"owned\n"})
    repo.git("rm", "-q", "-r", "eu", "old")
    repo.commit({"copy.txt": b"version one\n"})
    secrets = [
        {"id": "p", "kind": "path", "globs": ["eu/**"]},
        {"id": "o", "kind": "codeowners", "teams": ["@acme/risk"]},
    ]
    result = extract(job([repo], secrets, "history"), KEY)
    assert held(result, "p") == {
        ("eu/a.txt", b"version one\n"): "path",
        ("eu/a.txt", b"version two\n"): "path",
        ("copy.txt", b"version one\n"): "propagated:copy",
    }
    assert held(result, "o") == {("old/x.txt", b"owned\n"): "codeowners"}


def test_copies_of_removed_text_are_tagged(make_repo):
    repo, other = make_repo(), make_repo("other")
    algorithm = b"".join(b"step %02d of it!;\n" % i for i in range(6))  # 16 bytes a line: chunks are lines
    repo.commit({"old/algo.py": algorithm, "old/open.py": b"open\n", "new.py": b"clean\n"})
    repo.commit({"old/algo.py": algorithm.replace(b"03", b"33")})
    repo.git("rm", "-q", "old/algo.py", "old/open.py")
    repo.commit({"live.py": b"x" * 16 + algorithm[32:48] + b"y" * 16, "old/kept.py": b"kept\n"})
    other.commit({"vendored.py": algorithm, "tail.py": algorithm[16:] + b"!"})
    secret = {"id": "r", "kind": "removed", "paths": ["old/**", "!old/open.py"], "spread": {"copies": False}}
    result = extract(job([repo, other], [secret]), KEY)
    lines = [algorithm[i : i + 16] for i in range(0, 96, 16)]
    same = dict.fromkeys((("vendored.py", line) for line in lines), "removed")
    parts = dict.fromkeys(
        [("tail.py", line) for line in lines[1:]] + [("live.py", lines[2])], "propagated:copy"
    )
    assert held(result) == same | parts
    assert result.coverage["removed_files"] == 1
    past = extract(job([repo, other], [secret], "history"), KEY)
    assert ("old/algo.py", lines[3].replace(b"03", b"33")) in held(past)
    assert {r for (p, _), r in held(past).items() if p == "old/algo.py"} == {"removed"}
    assert not any(p in ("old/open.py", "old/kept.py") for p, _ in held(past))


def test_removed_files_and_contributors_need_the_whole_history(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    repo.commit({"a": b"2\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    for entry in ({"kind": "removed", "paths": ["a"]}, {"kind": "contributors", "emails": ["*"]}):
        with pytest.raises(InputError, match="shallow") as refused:
            extract(job([tmp_path / "shallow"], [{"id": "r", **entry}]), KEY)
        assert "unshallow" in refused.value.hint
    path = {"id": "p", "kind": "path", "globs": ["a"]}
    assert len(extract(job([tmp_path / "shallow"], [path]), KEY).edges) == 1
    result = extract(job([tmp_path / "shallow"], [path], "history"), KEY)
    assert "shallow" in result.coverage["repositories"]["shallow"]["warnings"][0]


def people(attribute: str) -> dict:
    return {"id": "c", "kind": "contributors", "emails": ["*@corp.com"], "attribute": attribute}


def lines_of(result: Extraction) -> set[tuple[str, bytes]]:
    return {(p, t) for p, t in held(result)}


@pytest.fixture
def shared(make_repo):
    """One file by two people, with chunks of one line each."""
    repo = make_repo()
    line = "line {:02d} by {:4}\n".format
    repo.commit({"a.txt": "".join(line(i, "dev") for i in range(6)).encode(), "b.txt": b"nobody's\n"})
    mine = [line(i, "corp" if i in (1, 4) else "dev") for i in range(6)]
    repo.commit({"a.txt": "".join(mine).encode()}, who="Q@Corp.com")
    mine[4] = line(4, "dev2")
    repo.commit({"a.txt": "".join(mine).encode(), "b.txt": b"{\n}\n\n"})
    repo.commit({"b.txt": b"{\n}\n\n\n"}, who="q@corp.com")
    return repo


def test_attribution_by_file_commit_and_blame(shared):
    repo, mine = shared, b"line 01 by corp\n"
    assert len({t for p, t in lines_of(extract(job([repo], [people("file")]), KEY)) if p == "a.txt"}) == 6
    for attribute in ("commit", "blame"):
        got = {t for p, t in lines_of(extract(job([repo], [people(attribute)]), KEY)) if p == "a.txt"}
        assert got == {mine}, attribute
    blamed = lines_of(extract(job([repo], [people("blame")]), KEY))
    by_commit = lines_of(extract(job([repo], [people("commit")]), KEY))
    assert not any(p == "b.txt" for p, _ in blamed | by_commit)  # a blank line is no one's


def test_commit_attribution_in_history_takes_their_versions_whole(shared):
    result = extract(job([shared], [people("commit")], "history", chunk_bytes=4096), KEY)
    versions = {t for p, t in lines_of(result) if p == "a.txt"}
    assert len(versions) == 2  # the one they made, and the later one where a line of theirs still stands
    assert all(b"corp" in t for t in versions)
    with pytest.raises(InputError, match="mode: tree"):
        extract(job([shared], [people("blame")], "history"), KEY)


def test_blame_goes_through_renames_with_edits_merges_and_co_authors(make_repo):
    repo = make_repo()
    text = [f"line {i:02d} of x   \n" for i in range(8)]
    repo.commit({"old.txt": "".join(text).encode()}, message="m\n\nCo-authored-by: Q <q@CORP.com>")
    repo.git("mv", "old.txt", "new.txt")
    text[7] = "edited by dev. \n"
    repo.commit({"new.txt": "".join(text).encode()})
    for branch in ("x", "y"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.commit({branch: branch.encode() * 16})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "x", "y")
    repo.commit({"evil.txt": b"only in octopus\n"}, who="m@corp.com")
    got = lines_of(extract(job([repo], [people("blame")]), KEY))
    assert {t for p, t in got if p == "new.txt"} == {line.encode() for line in text[:7]}
    assert ("evil.txt", b"only in octopus\n") in got
    assert not any(p in ("x", "y") for p, _ in got)


def test_what_git_cannot_blame_is_taken_whole(make_repo):
    repo = make_repo()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"escaped text....and more of it..")
    raw = b"100644 escape.txt\0" + bytes.fromhex(blob)
    inner = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    raw = b"40000 ..\0" + bytes.fromhex(inner)
    outer = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    repo.git("update-ref", "refs/heads/main", repo.git("commit-tree", outer, "-m", "odd", who="q@corp.com"))
    result = extract(job([repo], [people("blame")]), KEY)
    assert len(held(result)) == 2
    assert result.coverage["files_not_blamed"] == 1


def test_the_next_run_reads_only_what_is_new(make_repo, tmp_path):
    repo = make_repo()
    secrets = [CREDENTIALS, people("file")]
    repo.commit({f"d/{i}.py": f'a = "{TOKENS[i % 2]}" # {i}\n'.encode() for i in range(9)}, who="q@corp.com")
    cache = tmp_path / "cache"

    def run(**keys) -> Extraction:
        return extract(job([repo], secrets, chunk_bytes=512), KEY, **keys)

    first = run(cache=cache)
    assert (first.coverage["blobs_scanned"], first.coverage["blobs_reused"]) == (9, 0)
    repo.commit(
        {"d/new.py": f'b = "{TOKENS[2]}"\n'.encode(), "d/copy.py": f'a = "{TOKENS[0]}" # 0\n'.encode()}
    )
    second, alone = run(cache=cache), run()
    assert (second.coverage["blobs_scanned"], second.coverage["blobs_reused"]) == (1, 9)
    assert alone.coverage["blobs_scanned"] == 10
    facts = second.coverage["repositories"]["repo"]
    assert (facts["history_commits"], facts["commits_reused"]) == (2, 1)
    for name in ("examples", "secrets", "edges", "occurrences"):
        assert getattr(second, name).equals(getattr(alone, name)), name
    third = run(cache=cache)
    assert (third.coverage["blobs_scanned"], third.coverage["blobs_reused"]) == (0, 10)
    kept = [cache, *cache.rglob("*")]
    assert {stat.S_IMODE(p.stat().st_mode) for p in kept if p.is_dir()} == {0o700}
    assert {stat.S_IMODE(p.stat().st_mode) for p in kept if p.is_file()} == {0o600}
    blob = repo.git("rev-parse", "HEAD:d/new.py")
    scans = b"".join(p.read_bytes() for p in (cache / "scans").iterdir())
    everything = scans + b"".join(p.read_bytes() for p in (cache / "history").iterdir())
    assert not any(token.encode() in everything for token in TOKENS)
    assert bytes.fromhex(blob) not in scans and blob.encode() not in scans
    other = extract(job([repo], secrets, chunk_bytes=512), b"q" * 32, cache=cache)
    assert other.coverage["blobs_scanned"] == 10  # names of contents are keyed
    for file in (cache / "scans").iterdir():
        file.write_bytes(b"damaged")
    assert run(cache=cache).coverage["blobs_scanned"] == 10


def test_a_night_without_a_new_value_searches_the_new_contents_alone(make_repo, tmp_path, monkeypatch):
    """And finds what a search of everything finds; a new value is searched for everywhere."""
    searched = []

    class Counting(VersionSearch):
        def __call__(self, content):
            searched.append(content)
            return super().__call__(content)

        def follow(self, texts, *versions):
            searched.extend(texts)
            return super().follow(texts, *versions)

    monkeypatch.setattr(propagators, "VersionSearch", Counting)
    monkeypatch.setattr(propagators, "KEPT", 2)
    repo, cache = make_repo(), tmp_path / "cache"
    repo.commit({f"d/{i}.py": f'a = "{TOKENS[i % 2]}" # {i}\n'.encode() for i in range(9)})
    config = job([repo], [CREDENTIALS], chunk_bytes=512)
    extract(config, KEY, cache=cache)
    copy = base64.b64encode(f"see {TOKENS[0]} there".encode())
    for value, count in ((copy, 1), (b"nothing", 1), (b'b = "' + TOKENS[2].encode() + b'"', 12)):
        repo.commit({f"d/{value[:7].decode()}.txt": value + b"\n"})
        searched.clear()
        found, alone = (extract(config, KEY, cache=kept) for kept in (cache, None))
        assert len(searched) == count + len(alone.examples["path"].unique())
        for name in ("examples", "secrets", "edges", "occurrences"):
            assert getattr(found, name).equals(getattr(alone, name)), name
    repo.commit({"d/last.py": f'c = "{TOKENS[3]}"\n'.encode()})
    extract(config, KEY, cache=cache)
    assert len(list((cache / "values").glob("*.parquet"))) == 2, "those of the last searches"
    kept = b"".join(path.read_bytes() for path in (cache / "values").iterdir())
    assert not any(token.encode() in kept for token in TOKENS)


def test_what_was_scanned_ahead_is_not_scanned_again(make_repo, tmp_path):
    """As on a cluster, whose workers scan a repository each before the extraction."""
    repo = make_repo()
    repo.commit({f"d/{i}.py": f'a = "{TOKENS[i % 2]}" # {i}\n'.encode() for i in range(9)})
    config, cache = job([repo], [CREDENTIALS], chunk_bytes=512), tmp_path / "cache"
    limits = {"chunk_bytes": config.chunk_bytes, "max_file_bytes": config.max_file_bytes}
    new = scan_ahead(config.repos[0], ["credentials"], KEY, lambda *step: None, cache=cache, **limits)
    assert new == 9
    after = extract(config, KEY, cache=cache)
    assert (after.coverage["blobs_scanned"], after.coverage["blobs_reused"]) == (0, 9)


def test_values_inside_base64_come_back_from_the_cache(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a.txt": b"data: " + base64.b64encode(f'token = "{TOKENS[0]}"'.encode()) + b"\n"})
    runs = [extract(job([repo], [CREDENTIALS], chunk_bytes=512), KEY, cache=tmp_path / "c") for _ in range(2)]
    assert runs[1].coverage["blobs_reused"] == 1
    assert len(runs[0].secrets) == 1
    for name in ("secrets", "edges", "occurrences"):
        assert getattr(runs[0], name).equals(getattr(runs[1], name))


def test_large_text_is_mapped_and_equal(make_repo, monkeypatch, tmp_path):
    repo = make_repo()
    repo.commit({f"f{i}": bytes(97 + (i * j) % 26 for j in range(300)) for i in range(20)})
    config = job([repo], [{"id": "p", "kind": "path", "globs": ["f1*"]}])
    plain = extract(config, KEY)
    monkeypatch.setattr(examples, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(examples, "_STEP", 64)
    monkeypatch.setattr(examples, "_STRETCH", 50)
    mapped = extract(config, KEY, work=tmp_path)
    assert mapped.examples.n_chunks() == 1
    assert mapped.examples.equals(plain.examples) and mapped.edges.equals(plain.edges)
    assert mapped.examples.schema == plain.examples.schema
    assert list(tmp_path.iterdir()) == [repo.path]
