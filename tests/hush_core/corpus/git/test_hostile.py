"""Repositories built to run code, to lead elsewhere, to hang or to fill memory and disk: each ends in one message.

Every object is forged with its bytes, as no git would write them. A hang is cut short and fails.
"""

import hashlib
import os
import signal
import subprocess
import tracemalloc
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest
from trees import files_in, history_of, people_of, texts_of, tree_of, versions_of

from hush_core.config import Repository
from hush_core.corpus import (
    CleanView,
    ReadOptions,
    blob_store,
    corpus,
    read_corpus,
    read_history,
)
from hush_core.corpus.git import clean_view, history_log
from hush_core.corpus.git import process as git_process
from hush_core.corpus.git import refs as git_source
from hush_core.corpus.git.blobs import read_blobs
from hush_core.errors import InputError

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture(autouse=True)
def never_hangs():
    class Hangs(BaseException):  # no OSError, which the code under test may catch
        pass

    def ring(number, frame):
        raise Hangs

    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def forge(repo, kind: str, content: bytes, name: str = "") -> str:
    """Write a loose object, under a false name if one is given."""
    raw = f"{kind} {len(content)}\0".encode() + content
    name = name or hashlib.sha1(raw).hexdigest()
    file = repo.path / ".git" / "objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(zlib.compress(raw))
    return name


def entry(name: str, sha: str, mode: str = "100644") -> bytes:
    return f"{mode} {name}\0".encode() + bytes.fromhex(sha)


def commit(
    repo, tree: str, headers: bytes = b"", message: bytes = b"m", author: bytes = b"x <x@x.org>"
) -> str:
    who = b"author %s 1 +0000\ncommitter x <x@x.org> 1 +0000\n" % author
    name = forge(repo, "commit", b"tree %s\n" % tree.encode() + headers + who + b"\n" + message)
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(name)
    return name


def files(repo, rev: str = "HEAD") -> dict[str, bytes]:
    return texts_of(repo.path, rev)


def history(repo):
    return history_of(repo.path)


# --- what leads elsewhere -----------------------------------------------------------------------------------


def _link(target):
    return lambda place: place.symlink_to(target)


def _alternates(text):
    def plant(objects: Path) -> None:
        (objects / "info").mkdir(exist_ok=True)
        (objects / "info" / "alternates").write_text(text)

    return plant


def _moved(pattern):
    """A link in place of what it leads to."""

    def plant(objects: Path) -> None:
        place = next(objects.parent.glob(pattern))
        place.rename(objects.parent / "elsewhere")
        place.symlink_to(objects.parent / "elsewhere")

    return plant


def _below(name, plant):
    def make(objects: Path) -> None:
        (objects / name).parent.mkdir(exist_ok=True)
        plant(objects / name)

    return make


@pytest.mark.parametrize(
    "plant",
    [
        _alternates("../../../other/.git/objects\n"),
        _alternates("# only a comment\n\n/nowhere\n"),
        _alternates('"/quoted\\057path"\n'),
        _below("info/alternates", _link("/dev/zero")),
        _below("info/alternates", os.mkfifo),
        _below("info/http-alternates", _link("/etc/passwd")),
        _below("pack/pack-1.idx", os.mkfifo),
        _below("ab/fifo", os.mkfifo),
        _below("new", _link("/")),
        _below("pack/loop", _link(".")),
        *map(_moved, ("objects", "objects/pack", "objects/??/*")),
    ],
)
def test_objects_that_lead_elsewhere_or_never_end_are_refused(make_repo, plant):
    repo, other = make_repo(), make_repo("other")
    repo.commit({"a": b"1\n"})
    other.commit({"b": b"2\n"})
    (repo.path / ".git" / "objects" / "pack").mkdir(exist_ok=True)
    plant(repo.path / ".git" / "objects")
    with pytest.raises(InputError, match=r"inside objects/|for its objects folder|alternates") as error:
        files(repo)
    assert "clone" in error.value.hint


@pytest.mark.parametrize("name", ["HEAD", "packed-refs", "refs/heads/main", "shallow"])
@pytest.mark.parametrize("plant", [os.mkfifo, _link("/dev/zero"), _link("/etc/passwd"), os.mkdir])
def test_named_pipes_devices_and_links_among_the_refs_are_not_read(make_repo, name, plant):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    place = repo.path / ".git" / name
    place.unlink(missing_ok=True)
    plant(place)
    if name == "packed-refs":
        assert files(repo) == {"a": b"1\n"}
        return
    with pytest.raises(InputError, match=r"not a git repository|symbolic link|no commit yet|no plain file"):
        files(repo)


def test_a_git_folder_that_is_a_link_is_refused(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to(repo.path / ".git")
    with pytest.raises(InputError, match="not a folder"):
        CleanView(tmp_path / "linked")


# --- names of repositories and revisions --------------------------------------------------------------------


def test_names_that_look_like_options_are_names(make_repo, tmp_path, monkeypatch):
    repo = make_repo("--upload-pack=touch marker")
    first = repo.commit({"a": b"1\n"})
    monkeypatch.chdir(tmp_path)
    names = ["-x", "--upload-pack=touch", "-c", "--output=marker", "ünïcode", "deadbeef", "a.b-c@d", "HEAD"]
    for packed in (False, True):
        for name in names:
            repo.git("update-ref", f"refs/heads/{name}", first)
        if packed:
            repo.git("pack-refs", "--all")
        for name in [*names, f"refs/heads/{names[1]}"]:
            with CleanView(Path("--upload-pack=touch marker"), name) as view:
                assert view.commit == first, name
                assert read_history(view).commits == 1
    assert {p.name for p in tmp_path.iterdir()} == {"--upload-pack=touch marker"}


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "rev",
    ["--upload-pack=x", "-", "--", "--all", "@", "@{u}", "HEAD~1", "HEAD^{tree}", ":/m", "main:a", "a b", "a\0b",
     "main\n", "../HEAD", "refs/heads/../../config", "/etc/passwd", "config", "x" * 5000, "x/" * 3000 + "x",
     "\udce9", "é" * 200, "refs/heads", "main/", "f" * 40 + "\n", ".", "objects/info"],
)  # fmt: skip
def test_a_revision_is_a_name_or_nothing(make_repo, rev):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    with pytest.raises(InputError, match=r"no revision|not a plain name") as error, CleanView(repo.path, rev):
        pass
    assert error.value.hint


@pytest.mark.parametrize(
    "content",
    [b"ref: refs/heads/" + b"x" * 300, b"ref: refs/heads/" + b"x" * 9000, b"ref: HEAD", b"ref: ../../../HEAD",
     b"ref: refs/heads/\xff\xfe", b"ref: refs/heads/a\0b", b"ref: /etc/passwd", b"\0" * 9000, b"f" * 39, b""],
)  # fmt: skip
def test_a_forged_head_names_nothing(make_repo, content):
    repo = make_repo()
    repo.commit({"a": b"1\n"})
    (repo.path / ".git" / "HEAD").write_bytes(content)
    with pytest.raises(InputError, match=r"no commit yet|no revision"):
        files(repo)
    assert files(repo, "main") == {"a": b"1\n"}


def test_lists_of_refs_without_end_are_not_read(make_repo, monkeypatch):
    repo = make_repo()
    first = repo.commit({"a": b"1\n"})
    with (repo.path / ".git" / "HEAD").open("ab") as head:
        head.truncate(1 << 40)  # sparse: a terabyte of nothing
    assert len(files(repo, "main")) == 1
    monkeypatch.setattr(git_source, "PACKED_REFS_BYTES", 1000)
    monkeypatch.setattr(git_source, "SHALLOW_BYTES", 1000)
    (repo.path / ".git" / "packed-refs").write_bytes(f"{first} refs/heads/x{'y' * 900}\n".encode() * 2)
    with pytest.raises(InputError, match=r"packed-refs of over") as error:
        files(repo, "main")
    assert "commit id" in error.value.hint and len(files(repo, first)) == 1
    (repo.path / ".git" / "shallow").write_bytes(f"{first}\n".encode() * 30)
    with pytest.raises(InputError, match=r"`shallow` of over"):
        files(repo, first)


def test_only_whole_lines_of_packed_refs_count(make_repo):
    repo = make_repo()
    first = repo.commit({"a": b"1\n"})
    second = repo.commit({"a": b"2\n"})
    lines = [
        f"# pack-refs {first} refs/heads/one",
        f"{first[:39]} refs/heads/one",
        f"x{first} refs/heads/one",
        f"{second} refs/heads/two",
        f"^{first}",
        f"{first} refs/heads/two.x",
        f"{first} x refs/heads/two",
        f"{first} refs/heads/last",
    ]
    for end in ("\n", "\r\n"):
        (repo.path / ".git" / "packed-refs").write_text(end.join(lines), newline="")
        for name, is_there in (("two", second), ("two.x", first), ("last", first)):
            with CleanView(repo.path, name) as view:
                assert view.commit == is_there
        with pytest.raises(InputError, match="no revision"), CleanView(repo.path, "one"):
            pass


def test_chains_and_loops_of_tags(make_repo):
    repo = make_repo()
    at = first = repo.commit({"a": b"1\n"})
    for i in range(300):
        kind = "commit" if i == 0 else "tag"
        at = forge(repo, "tag", f"object {at}\ntype {kind}\ntag t{i}\ntagger x <x@x> 1 +0000\n\nm\n".encode())
    with CleanView(repo.path, at) as view:
        assert view.commit == first
    names = ["a" * 40, "b" * 40]
    for one, other in (names, names[::-1]):
        forge(repo, "tag", f"object {other}\ntype tag\ntag l\ntagger x <x@x> 1 +0000\n\nm\n".encode(), one)
    blob = repo.git("rev-parse", "HEAD:a")
    (repo.path / ".git" / "refs" / "tags" / "loop").write_text(names[0])
    for rev in (names[0], "loop", blob, repo.git("rev-parse", "HEAD^{tree}")):
        with pytest.raises(InputError, match=r"no revision|missing or damaged"), CleanView(repo.path, rev):
            pass


# --- forged and damaged objects -----------------------------------------------------------------------------


def test_a_content_under_a_false_name_is_damage(make_repo):
    repo = make_repo()
    repo.commit({"a": b"harmless\n"})
    forge(repo, "blob", b"planted!\n", repo.git("rev-parse", "HEAD:a"))
    with pytest.raises(InputError, match="missing or damaged"):
        files(repo)
    wide = make_repo("wide", "--object-format=sha256")
    wide.commit({"a": b"right\n"})
    assert files(wide) == {"a": b"right\n"}


@pytest.mark.few(5)
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other kind", "huge header"])
@pytest.mark.parametrize("what", ["blob", "tree", "commit"])
def test_a_damaged_object_is_one_clear_refusal(make_repo, what, damage):
    repo = make_repo()
    repo.commit({"d/a": bytes(range(48, 120)) * 9, "b": b"b\n"})
    name = repo.git("rev-parse", {"blob": "HEAD:d/a", "tree": "HEAD:d", "commit": "HEAD"}[what])
    file = repo.path / ".git" / "objects" / name[:2] / name[2:]
    data = file.read_bytes()
    file.chmod(0o644)
    if damage == "flip":
        file.write_bytes(data[:-6] + bytes([data[-6] ^ 0x55]) + data[-5:])
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "other kind":
        forge(repo, "tag", b"object " + b"0" * 40, name)
    else:
        file.write_bytes(zlib.compress(b"%s 99999999999999\0x" % what.encode()))
    if (what, damage) == ("blob", "huge header"):  # more than any limit, so it is never read
        assert set(files(repo)) == {"b"} and _versions(repo).skipped["too_large"] == 1
        return
    for read in (files, history, _versions):
        with pytest.raises(InputError) as error:
            if read(repo) and (what, read) == ("blob", history):
                raise InputError("the log", "reads no blob", "-")
        assert error.value.hint


def _versions(repo):
    return versions_of(repo.path)


def test_a_pack_cut_short_while_it_is_read(make_repo):
    repo = make_repo()
    repo.commit({f"f{i}": os.urandom(3000).hex().encode() for i in range(60)})
    repo.git("gc", "-q")
    (pack,) = (repo.path / ".git" / "objects" / "pack").glob("*.pack")
    with CleanView(repo.path) as view:
        wanted = repo.git("ls-tree", "--object-only", "-r", "HEAD").encode().split()
        pack.chmod(0o644)
        os.truncate(pack, pack.stat().st_size // 2)
        with pytest.raises(InputError, match="missing or damaged"):
            list(read_blobs(view, wanted))


def test_odd_trees_are_read_or_refused_and_nothing_is_written(make_repo, tmp_path):
    repo = make_repo()
    blob = forge(repo, "blob", b"text\n")
    names = [".git", "..", ".", "a\\b", "C:", "con", "\u202egnp.exe", "-rf", "a\tb", "$(touch x)", "x\ny"]
    inner = forge(repo, "tree", b"".join(entry(n, blob) for n in names))
    odd = entry("..", inner, "40000") + entry("m", blob, "100600") + entry("old", blob, "100664")
    commit(repo, forge(repo, "tree", odd + entry("same", blob) + entry("same", blob)))
    before = {p for p in tmp_path.rglob("*") if ".git" not in p.parts}
    got = files(repo)
    assert len(got) == len(names) + 3 and set(got.values()) == {b"text\n"}
    assert before == {p for p in tmp_path.rglob("*") if ".git" not in p.parts}
    unnamed = [
        entry(name, blob, mode) for name, mode in (("", "100644"), ("a/b", "100644"), ("m", "1"), ("n", ""))
    ]
    for bad in (*unnamed, b"100644 a", b"x"):
        commit(repo, forge(repo, "tree", bad))
        try:
            assert set(files(repo).values()) <= {b"text\n"}
        except InputError as error:
            assert error.hint  # git itself refuses some of them


@pytest.mark.parametrize("deep", [10_000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_a_chain_of_folders(make_repo, deep):
    """Git lists it, refuses it (from 2.43 on), or overflows its stack (before): then the message says so."""
    repo = make_repo()
    tree = forge(repo, "tree", entry("leaf", forge(repo, "blob", b"deep\n")))
    for _ in range(deep):
        tree = forge(repo, "tree", entry("d", tree, "40000"))
    commit(repo, tree)
    listed = subprocess.run(
        ["git", "-C", repo.path, "ls-tree", "-r", "HEAD"], capture_output=True, check=False
    )
    try:
        (path,) = files(repo)
        assert path == "d/" * deep + "leaf"
    except InputError as error:  # git gives up on its own recursion
        crashes = listed.returncode == -signal.SIGSEGV
        assert listed.returncode and "nested" in str(error)
        assert ("nested too deep for it" in str(error)) == crashes == ("partial clone" not in str(error))


# --- limits on memory, output, time and disk ----------------------------------------------------------------


@contextmanager
def at_most(memory: int):
    """Python's own memory, at its peak."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory


def bomb(repo, leaf: bytes, levels: int = 12, width: int = 10) -> None:
    """width ** levels places out of a kilobyte of trees."""
    tree = forge(repo, "tree", leaf)
    for _ in range(levels):
        tree = forge(repo, "tree", b"".join(entry(f"d{i}", tree, "40000") for i in range(width)))
    commit(repo, tree)


def test_a_trillion_paths_are_refused_not_listed(make_repo, monkeypatch):
    repo = make_repo()
    bomb(repo, entry("f", forge(repo, "blob", b"text\n")))
    monkeypatch.setattr(clean_view, "LISTING_BYTES", 1 << 20)
    with at_most(64 << 20), pytest.raises(InputError, match="over 1 MiB") as error:
        files(repo)
    assert "fewer files" in error.value.hint
    monkeypatch.setattr(git_process, "MEMORY_BYTES", 32 << 20)  # git gathers all before it writes a line
    with at_most(64 << 20), pytest.raises(InputError, match="missing or damaged"):
        history(repo)
    monkeypatch.setattr(git_process, "MEMORY_BYTES", 1 << 30)
    monkeypatch.setattr(history_log, "LISTED_BYTES", 1 << 18)
    bomb(repo, entry("f", forge(repo, "blob", b"text\n")), levels=4)
    with at_most(64 << 20), pytest.raises(InputError, match="history that cannot be held"):
        history(repo)


@pytest.mark.slow
def test_trees_of_nothing_but_trees_keep_git_busy_until_the_deadline(make_repo, monkeypatch):
    repo = make_repo()
    forge(repo, "tree", b"")
    bomb(repo, entry("d", EMPTY_TREE, "40000"))
    monkeypatch.setattr(git_process, "QUIET_SECONDS", 0.5)
    before = _children()
    for read in (files, history):
        with pytest.raises(InputError, match="keeps git busy without a result") as error:
            read(repo)
        assert "fsck" in error.value.hint
    monkeypatch.setattr(git_process, "QUIET_SECONDS", 600.0)
    monkeypatch.setattr(git_process, "WAIT_SECONDS", 0.5)
    with pytest.raises(InputError, match="keeps git busy"):
        files(repo)
    assert _children() == before  # none is left running


def test_a_reader_that_stops_early_leaves_no_git_behind(make_repo):
    repo = make_repo()
    bomb(repo, entry("f", forge(repo, "blob", b"text\n")))
    before = _children()
    with CleanView(repo.path) as view:
        listing = view.stream("ls-tree", "-r", view.commit)
        assert next(listing)
        assert _children() > before
        listing.close()
        assert _children() == before


def test_git_beside_its_caller_ends_with_it_and_stays_within_its_limits(make_repo, monkeypatch):
    repo = make_repo()
    forge(repo, "tree", b"")
    bomb(repo, entry("d", EMPTY_TREE, "40000"))
    before = _children()
    monkeypatch.setattr(git_process, "QUIET_SECONDS", 0.5)
    with CleanView(repo.path) as view:
        with pytest.raises(ZeroDivisionError), view.beside("ls-tree", "-r", view.commit):
            assert len(_children() - before) == 1
            raise ZeroDivisionError  # the caller's own work is refused: nobody waits for git
        busy = pytest.raises(InputError, match="keeps git busy")
        with view.beside("ls-tree", "-r", view.commit) as listing, busy:
            list(listing())
        assert _children() == before
    bomb(repo, entry("f", forge(repo, "blob", b"text\n")))
    with (
        CleanView(repo.path) as view,
        view.beside("ls-tree", "-r", view.commit, most=1 << 16) as listing,
        pytest.raises(InputError, match="missing or damaged"),
    ):
        list(listing())
    assert _children() == before


def _children() -> set[str]:
    done = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    return {line for line in done.stdout.splitlines() if "git" in line}


@pytest.mark.few(1)
@pytest.mark.parametrize("packed", [False, True])
def test_a_huge_blob_is_counted_and_never_inflated(make_repo, monkeypatch, packed):
    repo = make_repo()
    base = b"".join(b"line %d\n" % i for i in range(1_000_000))
    repo.commit({"huge": base, "huger": base + base, "small": b"s\n"})
    if packed:
        repo.git("gc", "-q")
    stored = sum(p.stat().st_size for p in (repo.path / ".git" / "objects").rglob("*") if p.is_file())
    assert stored < len(base)
    monkeypatch.setattr(git_process, "ALLOCATION", "8m")
    with at_most(16 << 20):
        tree = tree_of(repo.path)
        assert _versions(repo).skipped["too_large"] == tree.skipped["too_large"] == 2
    assert [path for _, path, _ in files_in(tree)] == ["small"]


def test_a_small_blob_out_of_a_huge_one_is_refused_by_the_limit_on_memory(make_repo, monkeypatch):
    """A delta of a few bytes, whose base is the bomb."""
    repo = make_repo()
    base = b"".join(b"%08d\n" % i for i in range(1_000_000))
    repo.commit({"huge": base, **{f"small{i}": base[i * 99_999 :][:900_000] for i in range(6)}})
    repo.git("gc", "-q")
    (index,) = (repo.path / ".git" / "objects" / "pack").glob("*.idx")
    rows = [row.split() for row in repo.git("verify-pack", "-v", str(index)).splitlines()]
    huge = repo.git("rev-parse", "HEAD:huge")
    assert any(len(row) == 7 and row[6] == huge for row in rows)
    assert len(files(repo)) == 6
    monkeypatch.setattr(git_process, "ALLOCATION", "6m")
    with pytest.raises(InputError, match="missing or damaged"):
        files(repo)


def test_a_commit_that_inflates_beyond_the_limit_is_refused(make_repo, monkeypatch):
    repo = make_repo()
    commit(repo, forge(repo, "tree", b""), message=b"a" * (32 << 20))
    assert history(repo).commits == 1
    monkeypatch.setattr(git_process, "ALLOCATION", "8m")
    with pytest.raises(InputError, match="missing or damaged"):
        history(repo)


@pytest.mark.parametrize("name", ["CODEOWNERS", ".github/CODEOWNERS", ".mailmap"])
def test_files_that_steer_the_reading_have_a_limit(make_repo, monkeypatch, name):
    repo = make_repo()
    repo.commit({name: b"# \xff\xfe\n" * 1_000_000, "a": b"1\n"})
    monkeypatch.setattr(git_process, "ALLOCATION", "6m")
    with pytest.raises(InputError, match=rf"{name}: is larger than 4 MiB") as error:
        _versions(repo)
    assert error.value.hint


def test_other_files_of_git_have_none_as_nobody_reads_them(make_repo):
    repo = make_repo()
    repo.commit(
        {".gitmodules": b"[submodule]\n" * 400_000, ".gitattributes": b"* x\n" * 900_000, "a": b"1\n"}
    )
    assert tree_of(repo.path).skipped["too_large"] == 2


def test_text_that_outgrows_its_disk_or_all_bounds_is_refused(make_repo, monkeypatch):
    repo = make_repo()
    bomb(repo, entry("f", forge(repo, "blob", b"x" * 100)), levels=3)
    how = ReadOptions(chunk_bytes=16, max_file_bytes=1 << 20)
    repository = Repository(path=repo.path)
    read_corpus([repository], how, lambda *_: None).close()
    monkeypatch.setattr(corpus, "TEXT_BYTES", 99_999)
    with pytest.raises(InputError, match="7,000 examples") as error:
        read_corpus([repository], how, lambda *_: None)
    assert "chunk_bytes" in error.value.hint
    monkeypatch.setattr(blob_store, "SPARE_BYTES", 1 << 60)
    with pytest.raises(InputError, match="has no room") as error:
        read_corpus([repository], how, lambda *_: None)
    assert "make room under HUSH_HOME" in error.value.hint


# --- commits ------------------------------------------------------------------------------------------------


def people(repo) -> set[str]:
    return set().union(*people_of(repo.path).values())


def test_lines_of_a_million_bytes_in_a_commit(make_repo):
    repo = make_repo()
    tree = forge(repo, "tree", entry("a", forge(repo, "blob", b"1\n")))
    long = b"a" * 1_000_000
    for line in (long, long + b"@", b"@" + long, b"<" * 1_000_000, b" " * 1_000_000, b"a@b " * 250_000):
        commit(
            repo, tree, message=b"m\n\nCo-authored-by: Q <q@x.org>\n" + line + b"\nCo-authored-by: " + line
        )
        assert "q@x.org" in people(repo)
    commit(repo, tree, author=long + b" <" + long + b"@x.org>")
    assert (long + b"@x.org").decode() in people(repo)
    assert history(repo).commits_of(["*a@x.*"]).tolist() == [True]


@pytest.mark.parametrize(
    "message",
    [
        b"m\0\n:100644 100644 " + b"0" * 40 + b" " + b"1" * 40 + b" M\0evil\0",
        b"m\n\n\xff\xfe\xc0\x80\nCo-authored-by: \xff <q\xff@x.org>",
        b"+AAA-:000000 100644 a b A+AAA-evil+AAA-",
    ],
)
@pytest.mark.parametrize("encoding", [b"", b"encoding UTF-7\n", b"encoding UTF-16\n", b"encoding \xff\n"])
def test_no_message_can_forge_a_change(make_repo, message, encoding):
    repo = make_repo()
    tree = forge(repo, "tree", entry("a", forge(repo, "blob", b"1\n")))
    raw = b"tree %s\nauthor \xff\xfe <\xffa@X.org> 1 +0000\ncommitter x <x@x.org> 1 +0000\n" % tree.encode()
    name = forge(repo, "commit", raw + encoding + b"\n" + message)
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(name)
    read = history(repo)
    assert read.log.paths == [b"a"] and read.log.commit == [name.encode()]
    assert "x@x.org" in people(repo)


@pytest.mark.parametrize(
    "author", [b"", b"nobody", b"<>", b"a <b", b"a <b> <c@d.org>", b"a\x00b <c@d.org>", b">"]
)
def test_broken_author_lines_do_not_break_the_log(make_repo, author):
    repo = make_repo()
    commit(repo, forge(repo, "tree", entry("a", forge(repo, "blob", b"1\n"))), author=author)
    read = history(repo)
    assert read.commits == 1 and read.log.paths == [b"a"]


def test_an_octopus_of_five_hundred_parents(make_repo):
    repo = make_repo()
    blobs = [forge(repo, "blob", b"%d\n" % i) for i in range(2)]
    trees = [forge(repo, "tree", entry("a", b)) for b in blobs]
    parents = [commit(repo, trees[0], message=b"%d" % i) for i in range(500)]
    commit(
        repo, trees[1], headers=b"".join(b"parent %s\n" % p.encode() for p in parents), author=b"m <m@x.org>"
    )
    read = history(repo)
    assert read.commits == 501
    assert blobs[1].encode() in read.touched(["m@x.org"])[1]


@pytest.mark.slow
def test_one_address_with_many_names_costs_no_product(make_repo):
    """40,000 names for one address times 400 groups of people that have it would be gigabytes."""
    repo = make_repo()
    mailmap = b"".join(b"<n%d@x.org> <x@x.org>\n" % i for i in range(40_000)) + b"<real@x.org> <x@x.org>\n"
    tree = forge(repo, "tree", entry(".mailmap", forge(repo, "blob", mailmap + b"\xff <\xff> <x>\n")))
    parent = b""
    for i in range(400):
        parent = b"parent %s\n" % commit(repo, tree, headers=parent, author=b"a <a%d@x.org>" % i).encode()
    with at_most(100 << 20):
        assert history(repo).commits_of(["REAL@*"]).all()
