"""What people wrote: `file` holds `commit` holds `blame`, through renames with edits, splits, copies and merges."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from extracting import job as job_of
from histories import PEOPLE, write_history

from hush_core.corpus.git import attribution
from hush_core.secrets import extract
from hush_core.secrets.detectors import contributors

ATTRIBUTES = ("file", "commit", "blame")


def job(
    path: Path, people: tuple[str, ...] = PEOPLE, attributes: tuple[str, ...] = ATTRIBUTES, mode: str = "tree"
):
    names = {who: who[:3].replace("??[", "all").replace("an*", "two") for who in people}
    secrets = [
        {"id": f"{name}-{a}", "kind": "contributors", "emails": [who], "attribute": a}
        for who, name in names.items()
        for a in attributes
    ]
    return job_of([path], secrets, mode, chunk_bytes=16)


def tagged(result) -> dict[str, set[tuple[str, int]]]:
    """Entry → (path, byte) of all that is tagged with it."""
    found = defaultdict(set)
    rows = result.edges.join(result.examples, on="example_id").join(result.secrets, on="secret_id")
    for name, path, start, end in rows.select("name", "path", "start", "end").iter_rows():
        found[name] |= {(path, at) for at in range(start, end)}
    return found


def git(path: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(path), *arguments], capture_output=True, check=True).stdout


def truth(path: Path, who: str, *options: str) -> set[tuple[str, int]]:
    """(path, byte) of the telling lines that git's own blame gives to a person."""
    found = set()
    for name in git(path, "ls-tree", "-r", "--name-only", "main").decode().split():
        content, at = git(path, "show", f"main:{name}"), 0
        mails = re.findall(
            rb"(?m)^author-mail <(.*)>$", git(path, "blame", "--line-porcelain", *options, "main", "--", name)
        )
        for line, mail in zip(content.splitlines(keepends=True), mails, strict=True):
            if mail.decode() == who and re.search(rb"[A-Za-z0-9]", line):
                found |= {(name, i) for i in range(at, at + len(line.rstrip()))}
            at += len(line)
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_file_holds_commit_holds_blame(make_repo, seed):
    path = write_history(make_repo(), seed)
    found = tagged(extract(job(path), b"k" * 32))
    for who in PEOPLE:
        by_file, by_commit, by_blame = (found[f"{who[:3]}-{a}"] for a in ATTRIBUTES)
        assert by_file >= by_commit >= by_blame
        assert by_blame >= truth(path, who)
        assert by_file >= truth(path, who, "-w", "-M", "-C", "-C")
        assert len(by_file) > len(by_blame) > 0


@pytest.mark.parametrize("seed", range(2))
def test_in_history_mode_file_holds_commit(make_repo, seed):
    path = write_history(make_repo(), seed, commits=30)
    rows = extract(job(path, attributes=("file", "commit"), mode="history"), b"k" * 32)
    held = defaultdict(set)
    edges = rows.edges.join(rows.secrets, on="secret_id")
    for name, example in edges.select("name", "example_id").iter_rows():
        held[name].add(example)
    for who in PEOPLE:
        assert held[f"{who[:3]}-file"] >= held[f"{who[:3]}-commit"] > set()


def test_a_file_renamed_with_an_edit_keeps_its_author(make_repo):
    """180 lines by one person, `git mv` and one line by another, in one commit; then again, mostly rewritten."""
    repo = make_repo()
    lines = [f"pricing step {i}: adjust by {i * i}\n" for i in range(180)]
    repo.commit(
        {"pricing.py": "".join(lines).encode(), "other.py": b"nothing of theirs in here\n"}, who="ann@x.org"
    )
    repo.commit({"other.py": b"no line of hers is left\n"}, who="bob@x.org")
    repo.git("mv", "pricing.py", "quotes.py")
    lines[90] = "one line by bob\n"
    repo.commit({"quotes.py": "".join(lines).encode()}, who="bob@x.org")
    repo.git("mv", "quotes.py", "desk.py")
    lines[40:] = [f"rewritten by bob {i}\n" for i in range(100)]
    repo.commit({"desk.py": "".join(lines).encode(), "new.py": b"a new file by bob alone\n"}, who="bob@x.org")
    found = tagged(extract(job(repo.path, ("ann@x.org",)), b"k" * 32))
    assert {p for p, _ in found["ann-file"]} == {"desk.py", "other.py"}
    assert len({at for p, at in found["ann-commit"] if p == "desk.py"}) >= len("".join(lines[:40]))


def test_a_line_that_moved_into_an_old_file_makes_it_theirs(make_repo):
    repo = make_repo()
    own = [f"the formula of step {i} is {i} times seven\n" for i in range(4)]
    repo.commit({"a.py": ("def f():\n" + "".join(own)).encode()}, who="ann@x.org")
    repo.commit({"b.py": b"import os\nprint(os.name)\n", "c.py": b"import os\nreturn None\n"})
    repo.commit({"a.py": b"def f():\n", "b.py": ("import os\n" + "".join(own[1:3])).encode()})
    found = tagged(extract(job(repo.path, ("ann@x.org",), ("file", "commit")), b"k" * 32))
    assert {p for p, _ in found["ann-file"]} == {"a.py", "b.py"}
    assert found["ann-file"] >= found["ann-commit"]


def test_a_line_in_common_makes_no_public_file_theirs_but_a_change_at_its_path_does(make_repo):
    repo = make_repo()
    line = b"quux = frob(77)\n"  # too short for a near copy
    repo.commit(
        {"lib/old.py": line, "lib/new.py": b"import os\n", "c.py": b"x = 1\n" + line}, who="bob@x.org"
    )
    repo.commit({"a.py": b"import re\n" + line, "lib/new.py": b"import os\n# by ann\n"}, who="ann@x.org")
    for public, theirs in (
        ((), {"a.py", "c.py", "lib/old.py", "lib/new.py"}),
        (("lib/**",), {"a.py", "c.py", "lib/new.py"}),
    ):
        config = job(repo.path, ("ann@x.org",), ("file",)).model_copy(update={"public": public})
        assert {p for p, _ in tagged(extract(config, b"k" * 32))["ann-file"]} == theirs


def test_files_are_blamed_once_for_all_entries(make_repo, monkeypatch):
    path = write_history(make_repo(), 1, commits=20)
    asked = []
    true = attribution.blame
    monkeypatch.setattr(contributors, "blame", lambda view, name: asked.append(name) or true(view, name))
    found = tagged(extract(job(path, (*PEOPLE, "??[!q]*@x.org", "an*"), ("blame",)), b"k" * 32))
    assert asked and len(asked) == len(set(asked))
    assert found["all-blame"] == set().union(*(found[f"{who[:3]}-blame"] for who in PEOPLE))


def test_what_is_no_text_or_too_large_is_taken_whole(make_repo):
    repo = make_repo()
    repo.commit(
        {"blob.dat": b"mine\0" + b"line by ann\n" * 5, "big.txt": b"line by ann, too\n" * 90_000},
        who="ann@x.org",
    )
    repo.commit(
        {"blob.dat": b"text by now: line by ann\n" * 3, "big.txt": b"cut by dev\n", "c": b"no one's line\n"}
    )
    found = tagged(extract(job(repo.path, ("ann@x.org",), ("file", "commit")), b"k" * 32))
    assert {p for p, _ in found["ann-commit"]} == {"blob.dat", "big.txt"}
    assert found["ann-file"] >= found["ann-commit"]


def test_the_reading_of_a_history_says_how_far_it_is_by_commits(make_repo):
    said = []
    extract(job(write_history(make_repo(), 3), attributes=("file",)), b"k" * 32, lambda *at: said.append(at))
    read = [(done, total) for stage, done, total in said if stage == "history"]
    ends = [place for place, (done, total) in enumerate(read) if done == total]
    assert len(ends) == len(PEOPLE) and read[0] == (0, read[0][1])
    assert any(0 < done < total for done, total in read), "it moves"
    for first, last in zip([0, *(end + 1 for end in ends)], ends, strict=False):
        assert read[first : last + 1] == sorted(read[first : last + 1])
