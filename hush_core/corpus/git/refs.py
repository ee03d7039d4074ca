"""The files of a git repository that are read without git: refs, and what its object folder leads to.

All of them may be forged: none is followed through a symbolic link, waited for (a named pipe) or read beyond
a limit.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from hush_core.errors import InputError

SHA = re.compile(r"^(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
PACKED_REFS_BYTES = 256 << 20
SHALLOW_BYTES = 64 << 20

_ABBREVIATED = re.compile(r"^[0-9a-f]{4,63}\Z")
_REF = re.compile(r"^(?!/)(?!.*(?:\.\.|//|@\{|[\x00-\x20~^:?*\[\\\x7f]))(?!.*(?:/|\.lock)$).+\Z")
_REF_BYTES = 4096
_SYMREF_DEPTH = 5
_AFRESH = "clone it afresh (git clone --no-local) and give the clone"


def repository_around(folder: Path) -> Path | None:
    """The repository that holds the folder: the root of its work tree, or a bare repository."""
    here = folder.resolve()
    for each in (here, *here.parents):
        if os.path.lexists(each / ".git") or ((each / "HEAD").is_file() and (each / "objects").is_dir()):
            return each.parent if each.name == ".git" else each
    return None


def git_directory(path: Path) -> Path:
    """The folder with HEAD and objects/ of a bare repository, of a working tree's root, or of a linked worktree's
    main repository.

    Raises:
        InputError: no repository is there, or it belongs to another repository (a submodule).
    """
    if not path.exists():
        raise InputError(
            str(path), "does not exist", "correct `path:` under `repos`: the path of a git repository"
        )
    dot = path / ".git"
    linked = linked_worktree(path)
    if linked is None and (dot.is_symlink() or dot.is_file()):
        raise InputError(
            str(path),
            "is a submodule or a moved worktree (.git is not a folder, and names no repository that knows it)",
            "give the main repository, or a clone of this one",
        )
    source = linked.parent.parent if linked else dot if dot.is_dir() else path
    if not (source / "HEAD").is_file() or not (source / "objects").is_dir():
        raise InputError(str(path), "is not a git repository", "give its root, or a bare repository")
    if (source / "commondir").exists():
        raise InputError(str(path), "is the folder of a linked worktree", "give the main repository")
    return source.resolve()


def linked_worktree(path: Path) -> Path | None:
    """The folder with the HEAD of a linked worktree, in the main repository's `.git/worktrees`; None for others.

    A `.git` file may name any repository. Followed is one whose own files name this worktree in turn: its owner
    made it.
    """
    dot = path / ".git"
    forth = _plain(dot, _REF_BYTES) or b""
    if not forth.startswith(b"gitdir: ") or b"\0" in forth:
        return None
    folder = Path(os.path.realpath(path / os.fsdecode(forth[8:].rstrip(b"\r\n"))))
    back = _plain(folder / "gitdir", _REF_BYTES) or b""
    if folder.parent.name != "worktrees" or not back or b"\0" in back:
        return None
    known = os.path.realpath(folder / os.fsdecode(back.rstrip(b"\r\n")))
    return folder if known == os.path.realpath(dot) else None


def checked_objects(source: Path, path: Path) -> Path:
    """The object folder, once it is sure that it leads nowhere else.

    Raises:
        InputError: it holds a symbolic link, a special file, or names another folder (alternates).
    """
    objects = source / "objects"
    if b"\n" in os.fsencode(objects):
        raise InputError(str(source.parent), "has a line break in its path", "move it elsewhere")
    if objects.is_symlink():
        raise InputError(str(path), "has a symbolic link for its objects folder", _AFRESH)
    pending = [objects]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    pending.append(Path(entry.path))
                elif not stat.S_ISREG(mode):
                    what = "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
                    raise InputError(str(path), f"has {what} inside objects/", _AFRESH)
    alternates = objects / "info" / "alternates"
    if alternates.is_file() and alternates.stat().st_size:
        raise InputError(str(path), "borrows objects from another repository (alternates)", _AFRESH)
    return objects


def shallow_cuts(source: Path, path: Path) -> list[str] | None:
    """The commits at which a shallow clone was cut; None in a whole repository.

    Raises:
        InputError: the list is a symbolic link or too long.
    """
    content = _plain(source / "shallow", SHALLOW_BYTES + 1)
    if content is None:
        if os.path.lexists(source / "shallow"):
            raise InputError(str(path), "has a file `shallow` that is no plain file", _AFRESH)
        return None
    if not content:
        return None
    if len(content) > SHALLOW_BYTES:
        raise InputError(str(path), f"has a file `shallow` of over {SHALLOW_BYTES >> 20} MiB", _AFRESH)
    return [i for i in content.decode("ascii", "replace").split() if SHA.match(i)]


def resolve(source: Path, path: Path, rev: str) -> str | None:
    """The id that the source's own files give for `rev`; None if it can only be an abbreviated id.

    Raises:
        InputError: no such revision, or no plain name; says which names are read.
    """
    if SHA.match(rev.lower()):
        return rev.lower()
    if not _REF.match(rev):
        raise InputError(
            f"{path}: rev",
            "is not a plain name or id (expressions such as main~2 are not read)",
            "give a branch, a tag or a commit id",
        )
    packed, own = _packed_refs(source, path), linked_worktree(path) or source
    candidates = ["HEAD"] if rev == "HEAD" else []
    candidates += [rev] if rev.startswith("refs/") else []
    candidates += [f"refs/{rev}", f"refs/tags/{rev}", f"refs/heads/{rev}", f"refs/remotes/{rev}"]
    candidates += [f"refs/remotes/{rev}/HEAD"]
    for name in candidates:
        found = _read_ref(source, name, packed, own)
        if found is not None:
            return found
    if _ABBREVIATED.match(rev.lower()):
        return None
    if (source / "reftable").is_dir():
        what = "keeps its refs in a reftable, which is not read"
        raise InputError(str(path), what, "give the full commit id as rev")
    if rev == "HEAD" and (own / "HEAD").is_symlink():
        what = "has a symbolic link for its HEAD, which is not followed"
        raise InputError(str(path), what, "give a branch, a tag or a commit id as rev")
    if rev == "HEAD" and (own / "HEAD").is_file():
        what = "has no commit yet (HEAD names a branch that does not exist)"
        raise InputError(str(path), what, "commit first")
    raise unknown(path, rev)


def unknown(path: Path, rev: str) -> InputError:
    """The refusal for a revision that is not there."""
    what = f"has no revision {rev!r}"
    return InputError(str(path), what, "give a branch, a tag or a commit id that it has")


def unreadable_source(path: Path, error: OSError) -> InputError:
    """The refusal for a repository whose files the system does not let us read."""
    reason = error.strerror or "it cannot be read"
    return InputError(str(path), f"cannot be read ({reason})", "check its permissions and its disk")


def _packed_refs(source: Path, path: Path) -> bytes:
    content = _plain(source / "packed-refs", PACKED_REFS_BYTES + 1) or b""
    if len(content) > PACKED_REFS_BYTES:
        what = f"has a file packed-refs of over {PACKED_REFS_BYTES >> 20} MiB"
        raise InputError(str(path), what, "give the full commit id as rev")
    return b"\n" + content.replace(b"\r\n", b"\n") + b"\n"


def _packed(name: str, packed: bytes) -> str | None:
    """The id in the last line of packed-refs that gives one for exactly this name."""
    line = b" " + os.fsencode(name) + b"\n"
    at = len(packed)
    while (at := packed.rfind(line, 0, at)) >= 0:
        start = packed.rfind(b"\n", max(0, at - 65), at) + 1
        given = packed[start:at].decode("ascii", "replace") if start else ""
        if SHA.match(given):
            return given
        at += len(line) - 1
    return None


def _read_ref(source: Path, name: str, packed: bytes, own: Path) -> str | None:
    """Follow a ref and its symbolic refs to an id; links in the folder of refs are not followed. `own`: where HEAD
    is read."""
    for _ in range(_SYMREF_DEPTH):
        if not _REF.match(name) or not (name == "HEAD" or name.startswith("refs/")):
            return None
        content = _loose(own if name == "HEAD" else source, name)
        if content is None:
            return _packed(name, packed)
        if SHA.match(content):
            return content
        if not content.startswith("ref:"):
            return None
        name = content[4:].strip()
    return None


def _loose(source: Path, name: str) -> str | None:
    file = source
    for part in name.split("/")[:-1]:
        file = file / part
        if os.path.islink(file):
            return None
    content = _plain(file / name.split("/")[-1], _REF_BYTES)
    return None if content is None else content.decode("utf-8", "replace").strip()


def _plain(file: Path, most: int) -> bytes | None:
    """At most so many bytes of a plain file; None without one. Never waits, never follows a link."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EIO):
            raise
        return None  # not there, a link, a socket, or a name that no file can have
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as opened:
            return opened.read(min(most, found.st_size))
    finally:
        os.close(descriptor)
