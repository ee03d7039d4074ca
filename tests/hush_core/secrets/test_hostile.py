"""Repositories against the detectors: no code of theirs runs, their patterns and texts end."""

import hashlib
import os
import subprocess
import zlib

import pytest
from extracting import KEY, job, token
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.git import clean_view
from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.detectors import codeowners
from hush_core.secrets.detectors.codeowners import Codeowners
from hush_core.secrets.detectors.globs import Globs


def run(repo, secrets, cache=None, **keys):
    return extract(job([repo], secrets, folder=repo.path.parent, **keys), KEY, cache=cache)


def every_kind(folder) -> list[dict]:
    (folder / "names.txt").write_text("falcon-heavy\n")
    (folder / "patterns.txt").write_text("vk-[0-9]{6}\n")
    return [
        {"id": "path", "kind": "path", "globs": ["d/**"], "spread": {"imports": 2}},
        {"id": "owners", "kind": "codeowners", "teams": ["@acme/risk"]},
        *(
            {"id": f"by-{how}", "kind": "contributors", "emails": ["*@corp.com"], "attribute": how}
            for how in ("file", "commit", "blame")
        ),
        {"id": "creds", "kind": "credentials", "weak": "drop"},
        {"id": "names", "kind": "literals", "file": "names.txt", "bits": 20},
        {"id": "patterns", "kind": "patterns", "file": "patterns.txt", "bits": 20},
        {"id": "words", "kind": "rare_words", "document_frequency": [2, 3], "bits": 20},
        {"id": "gone", "kind": "removed", "paths": ["old/**"]},
    ]


def test_no_detector_runs_what_a_repository_configures(make_repo, tmp_path):
    repo = make_repo()
    trap = b"* filter=evil diff=evil merge=evil\n*.md export-subst\n"
    repo.commit(
        {"old/a.py": b"gone = 'text that was removed'\n" * 3, ".gitattributes": trap}, who="q@corp.com"
    )
    repo.git("rm", "-q", "-r", "old")
    repo.commit(
        {
            "d/core.py": f"T = '{token()}'\ndef falcon_core(v):\n    return v\n".encode(),
            "d/uses.py": b"from d.core import falcon_core\n# falcon-heavy vk-123456\n",
            "CODEOWNERS": b"* @acme/risk\n",
            ".gitmodules": b'[submodule "x"]\n path = x\n url = ext::sh -c true\n update = !touch marker\n',
            ".lfsconfig": b"[lfs]\n url = ext::sh\n",
        },
        who="q@corp.com",
    )
    marker, program = tmp_path / "marker", tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {marker}\nexit 1\n")
    program.chmod(0o755)
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in [
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ]:
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    (tmp_path / "included").write_text(
        f"[core]\n fsmonitor = {program}\n sshCommand = {program}\n pager = {program}\n"
        f" editor = {program}\n gitProxy = {program}\n[protocol]\n allow = always\n[core]\n"
        f" alternateRefsCommand = {program}\n hooksPath = {hooks}\n askPass = {program}\n"
        f'[filter "evil"]\n clean = {program}\n smudge = {program}\n process = {program}\n required = true\n'
        f'[diff]\n external = {program}\n[diff "evil"]\n textconv = {program}\n command = {program}\n'
        f'[merge "evil"]\n driver = {program}\n[blame]\n ignoreRevsFile = {program}\n'
        f"[log]\n showSignature = true\n[gpg]\n program = {program}\n[credential]\n helper = !{program}\n"
        f"[uploadpack]\n packObjectsHook = {program}\n[alias]\n log = !{program}\n blame = !{program}\n"
    )
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(
            f'[include]\n path = {tmp_path / "included"}\n[includeIf "gitdir:/"]\n path = {tmp_path / "included"}\n'
        )
        config.write(
            f'[remote "origin"]\n url = ext::{program} %S\n promisor = true\n[extensions]\n worktreeConfig = true\n'
        )
    (repo.path / ".git" / "config.worktree").write_text((tmp_path / "included").read_text())
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "attributes").write_bytes(trap)
    result = run(repo, every_kind(tmp_path))
    assert result.coverage["files_not_blamed"] == 0
    reached = {k for k, row in result.coverage["secrets"].items() if row["edges"]}
    assert reached >= {"path", "owners", "by-file", "by-commit", "by-blame", "creds", "names", "patterns"}
    run(repo, [s for s in every_kind(tmp_path) if s["id"] != "by-blame"], mode="history")
    assert not marker.exists()
    subprocess.run(["git", "-C", str(repo.path), "status"], capture_output=True)
    assert marker.exists()  # the trap is real


# --- patterns and rules out of a repository -----------------------------------------------------------------

EXPONENTIAL = "*a" * 40 + "*b"


@pytest.mark.parametrize(
    "pattern", [EXPONENTIAL, f"/d/{EXPONENTIAL}", "**/a" * 40 + "/b", "/a*" * 3 + "*a*" * 30]
)
def test_no_glob_takes_more_than_linear_time(pattern):
    long = "d/" + "a" * 100_000
    assert not Globs([pattern], "w").match(long)
    assert not Globs([pattern], "w").match("a/" * 20_000)
    assert Codeowners(f"{pattern} @x\n".encode()).owners(long) == set()


def test_lines_that_are_no_patterns_are_left_out_in_silence(capfd):
    lines = [
        "[z-a] @x", "[[:alpha:]]q @x", "[a-\\d] @x", "a\\", "[ @x", "\xff\xfe @x", "** @all", "x[ @x",
        "(?{ @x",
    ]  # fmt: skip
    owners = Codeowners("\n".join(lines).encode("latin-1"))
    assert owners.owners("any/file") == {"@all"}
    assert capfd.readouterr() == ("", "")
    with pytest.raises(InputError, match=r"w: the glob .* cannot be read"):
        Globs(["[[:letter:]]q"], "w")


def test_rules_of_as_many_folders_as_paths_are_no_product(monkeypatch):
    monkeypatch.setattr(codeowners, "MAX_COMPARISONS", 700_000)
    anchored = Codeowners(b"".join(b"/types/p%d/ @o%d\n" % (i, i) for i in range(9000)))
    for i in range(0, 9000, 3):  # as in a large repository
        assert anchored.owners(f"types/p{i}/index.d.ts") == {f"@o{i}"}


WORDS = st.sampled_from(["a", "b", "*", "**", "a*", "?", "a[bé]", "a\\*", ".", "é"])


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    rules=st.lists(
        st.tuples(st.booleans(), st.lists(WORDS, min_size=1, max_size=3), st.booleans()), max_size=8
    ),
    path=st.lists(st.sampled_from(["a", "b", "é", "ab"]), min_size=1, max_size=4),
)
def test_the_rules_found_by_folder_are_those_of_a_search_through_all(rules, path):
    patterns = ["/" * lead + "/".join(words) + "/" * folder for lead, words, folder in rules]
    text = "".join(f"{pattern} @o{i}\n" for i, pattern in enumerate(patterns))
    where, expected = "/".join(path), set()
    for i, pattern in enumerate(patterns):
        alone = Codeowners(f"{pattern} @o{i}\n".encode())
        alone._sections[0]._below = {"": [0]} if alone._sections[0]._rules else {}
        expected = set(alone.owners(where)) or expected
    assert Codeowners(text.encode()).owners(where) == expected


def test_a_huge_or_linked_codeowners(make_repo, monkeypatch):
    repo = make_repo()
    entry = {"id": "o", "kind": "codeowners", "teams": ["@acme/risk"]}
    repo.write({"a.py": b"x = 1\n", "other": b"* @acme/risk\n"})
    os.symlink("other", repo.path / "CODEOWNERS")
    repo.commit({})
    assert not len(run(repo, [entry]).edges), "a link is followed"
    os.unlink(repo.path / "CODEOWNERS")
    repo.commit({"CODEOWNERS": b"* @acme/risk\n" * 100})
    assert len(run(repo, [entry]).edges)
    monkeypatch.setattr(clean_view, "SMALL_BYTES", 1000)
    with pytest.raises(InputError, match="CODEOWNERS: is larger than"):
        run(repo, [entry])


# --- texts --------------------------------------------------------------------------------------------------

NASTY = {
    "spaces": b" " * 100_000,
    "one word": b"a" * 100_000,
    "at signs": b"a@" * 50_000,
    "quotes": b"\"'`" * 32_500,
    "assignments": b"password=" * 11_250,
    "tokens": b"ghp_" * 25_000,
    "armour": b"-----BEGIN RSA PRIVATE KEY-----\n" * 3_000,
    "dashes": b"-" * 100_000,
    "base64": b"QUFB" * 25_000,
    "escapes": b"\\" * 100_000,
    "urls": b"https://a:b@" * 8_250,
    "brackets": b"([{" * 32_500,
    "dots": b"a." * 50_000,
    "hex": b"0123456789abcdef" * 6_250,
    "carriage returns": b"\r" * 100_000,
    "breaks of Unicode": "\u2028\x85\x0b".encode() * 15_000,
}


def test_texts_made_to_be_slow_end_in_every_detector(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({f"d/{i}.py": text for i, text in enumerate(NASTY.values())}, who="q@corp.com")
    repo.commit({"CODEOWNERS": b"/d/ @acme/risk\n", "x.py": b"import d\n"})
    secrets = [
        {**s, "attribute": "commit"} if s["kind"] == "contributors" else s for s in every_kind(tmp_path)
    ]
    result = run(repo, [s for s in secrets if s["id"] not in ("by-file", "by-blame")], chunk_bytes=65536)
    assert result.coverage["secrets"]["path"]["edges"] >= len(NASTY)


def test_bytes_that_are_no_text_are_nowhere_a_crash(make_repo, tmp_path):
    repo = make_repo()
    odd = b"\xff\xfe\xc0\x80\xed\xa0\x80"
    repo.commit(
        {
            b"d/" + odd: b"x = 1\n",
            b"d/ok.py": f"T = '{token()}'\n".encode(),
            "CODEOWNERS": b"/d/ @acme/risk " + odd + b"@x\n" + odd + b" @acme/risk\n",
            ".mailmap": b"<q@corp.com> <dev@example.org>\n<" + odd + b"> <" + odd + b">\n" + odd,
            ".gitattributes": odd,
            ".gitmodules": odd,
            "d/latin.py": "caf\xe9 = 1\n".encode("latin-1"),
        },
        message="m",
    )
    result = run(repo, every_kind(tmp_path))
    edges = {k: row["edges"] for k, row in result.coverage["secrets"].items()}
    assert edges["owners"] >= 2 and edges["by-file"] >= 2 and edges["creds"] == 1
    assert result.coverage["repositories"]["repo"]["skipped"]["undecodable"] >= 1


def test_a_forged_content_cannot_borrow_the_scan_of_an_earlier_run(make_repo, tmp_path):
    """Scans are kept by object id; a content under a false id would never be looked at."""
    repo = make_repo()
    repo.commit({"a.py": b"harmless = 1\n", "b.py": f"T = '{token()}'\n".encode()})
    secrets = [{"id": "creds", "kind": "credentials"}]
    assert run(repo, secrets, cache=tmp_path / "cache").coverage["blobs_scanned"] == 2
    name = repo.git("rev-parse", "HEAD:a.py")
    content = f"U = '{token(1)}'\n".encode()
    assert hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() != name
    file = repo.path / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))
    with pytest.raises(InputError, match="missing or damaged"):
        run(repo, secrets, cache=tmp_path / "cache")
