"""A clean view of a git repository: its objects, and nothing of its configuration.

A hostile `.git/config` makes even `git cat-file` run code (a promisor remote with an `ext::` URL). So git
never runs in the user's repository. It runs in a fresh bare repository whose `objects/info/alternates` points
at the source; refs are read here, from the source's files. Replace refs, grafts, hooks, filters, attributes
and commit-graphs of the source are thereby out of reach, and nothing is written to it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from hush_core.errors import InputError

_SHA = re.compile(r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$")
_ABBREVIATED = re.compile(r"^[0-9a-f]{4,63}$")
_REF = re.compile(r"^(?!/)(?!.*(?:\.\.|//|@\{|[\x00-\x20~^:?*\[\\\x7f]))(?!.*(?:/|\.lock)$).+$")
_SYMREF_DEPTH = 5
PIPE_BYTES = 1 << 20


def clean_environment() -> dict[str, str]:
    """The whole environment in which git runs: nothing of the caller's goes in but where git itself is."""
    git = shutil.which("git")
    if git is None:
        raise InputError("git", "is not installed", "install git 2.39 or later")
    return {
        "PATH": os.pathsep.join(dict.fromkeys([os.path.dirname(git), "/usr/bin", "/bin"])),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }


class CleanView:
    """A context manager: read one revision of one repository without trusting it.

    Args:
        path: a bare repository, or the root of a working tree with a `.git` folder.
        rev: branch, tag, full ref name, HEAD, or a full or abbreviated commit id.

    Attributes:
        commit: the full id of the commit that `rev` names (tags peeled).
        shallow: whether the source is a shallow clone, so that its history is cut off.

    Raises:
        InputError: no repository there, an unsafe object store, or no such revision; says how to mend it.
    """

    def __init__(self, path: Path, rev: str = "HEAD") -> None:
        self.path, self.rev = Path(path), rev
        self._source = _git_directory(self.path)
        self._objects = _checked_objects(self._source, self.path)
        self.shallow = _not_empty(self._source / "shallow")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.commit = ""

    def __enter__(self) -> CleanView:
        named = self._resolve()
        self._folder = tempfile.TemporaryDirectory(prefix="hush-view-")
        try:
            self._create("sha256" if named is not None and len(named) == 64 else "sha1")
            self.commit = self._peel(named or self.rev.lower())
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def command(self, *arguments: str) -> list[str]:
        """The full git command line in this view."""
        assert self._folder is not None, "enter the view first"
        return [
            "git",
            f"--git-dir={self._folder.name}",
            "--no-pager",
            "-c",
            "core.commitGraph=false",  # the source's commit-graph could lie about parents
            "-c",
            "protocol.allow=never",
            *arguments,
        ]

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of one git command in this view.

        Raises:
            InputError: git failed; in a view that means missing or damaged objects.
        """
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, env=clean_environment(), check=False
        )
        if done.returncode:
            raise self.damaged()
        return done.stdout

    def attempt(self, *arguments: str) -> bytes | None:
        """Standard output of one git command that may fail for a reason of the data; None where it does."""
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=clean_environment(),
            check=False,
        )
        return None if done.returncode else done.stdout

    def stream(self, *arguments: str, stdin: bytes = b"") -> Iterator[bytes]:
        """Standard output of one git command, in pieces; raises like `run`, at the end."""
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            with subprocess.Popen(
                self.command(*arguments),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=clean_environment(),
            ) as process:
                assert process.stdout is not None
                with contextlib.suppress(OSError, AttributeError):  # git works on while we write to disk
                    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
                while piece := process.stdout.read1(1 << 20):
                    yield piece
            if process.returncode:
                raise self.damaged()

    def damaged(self) -> InputError:
        """The refusal for objects that are not there (a partial clone) or cannot be read."""
        return InputError(
            str(self.path),
            f"objects of {self.rev} are missing or damaged (a partial clone?)",
            "give a full clone: git clone --no-filter, then git fsck",
        )

    def _create(self, object_format: str) -> None:
        assert self._folder is not None
        subprocess.run(
            [
                "git",
                "init",
                "-q",
                "--bare",
                "--template=",
                f"--object-format={object_format}",
                self._folder.name,
            ],
            env=clean_environment(),
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        info = Path(self._folder.name, "objects", "info")
        info.mkdir(exist_ok=True)
        (info / "alternates").write_bytes(os.fsencode(self._objects) + b"\n")
        if self.shallow:  # where the clone was cut: without it git takes the parents there for missing
            ids = (self._source / "shallow").read_text(encoding="ascii", errors="replace").split()
            cut = "".join(f"{i}\n" for i in ids if _SHA.match(i))
            Path(self._folder.name, "shallow").write_text(cut)

    def _peel(self, named: str) -> str:
        done = subprocess.run(
            self.command("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=clean_environment(),
            check=False,
        )
        commit = done.stdout.decode("ascii", "replace").strip()
        if done.returncode == 0 and _SHA.match(commit):
            return commit
        if named == self.rev.lower():
            raise _unknown(self.path, self.rev)
        raise self.damaged()

    def _resolve(self) -> str | None:
        """The id that the source's own files give for `rev`; None where it can only be an abbreviated id."""
        rev = self.rev
        if _SHA.match(rev.lower()):
            return rev.lower()
        if not _REF.match(rev):
            raise InputError(
                f"{self.path}: rev",
                "is not a plain name or id (expressions such as main~2 are not read)",
                "give a branch, a tag or a commit id",
            )
        packed = _packed_refs(self._source)
        candidates = ["HEAD"] if rev == "HEAD" else []
        candidates += [rev] if rev.startswith("refs/") else []
        candidates += [f"refs/{rev}", f"refs/tags/{rev}", f"refs/heads/{rev}", f"refs/remotes/{rev}"]
        candidates += [f"refs/remotes/{rev}/HEAD"]
        for name in candidates:
            found = _read_ref(self._source, name, packed)
            if found is not None:
                return found
        if _ABBREVIATED.match(rev.lower()):
            return None
        if (self._source / "reftable").is_dir():
            raise InputError(
                str(self.path),
                "keeps its refs in a reftable, which is not read",
                "give the full commit id as rev",
            )
        if rev == "HEAD" and (self._source / "HEAD").is_file():
            raise InputError(
                str(self.path), "has no commit yet (HEAD names a branch that does not exist)", "commit first"
            )
        raise _unknown(self.path, rev)


def _unknown(path: Path, rev: str) -> InputError:
    return InputError(
        str(path), f"has no revision {rev!r}", "give a branch, a tag or a commit id that it has"
    )


def _git_directory(path: Path) -> Path:
    if not path.exists():
        raise InputError(str(path), "does not exist", "give the path of a git repository")
    dot = path / ".git"
    if dot.is_symlink() or dot.is_file():
        raise InputError(
            str(path),
            "is a linked worktree or a submodule (.git is not a folder)",
            "give the main repository, or a clone of this one",
        )
    source = dot if dot.is_dir() else path
    if not (source / "HEAD").is_file() or not (source / "objects").is_dir():
        raise InputError(str(path), "is not a git repository", "give its root, or a bare repository")
    if (source / "commondir").exists():
        raise InputError(str(path), "is the folder of a linked worktree", "give the main repository")
    return source.resolve()


def _checked_objects(source: Path, path: Path) -> Path:
    """The object folder, once it is sure that it leads nowhere else."""
    objects = source / "objects"
    mend = "clone it afresh (git clone --no-local) and give the clone"
    if b"\n" in os.fsencode(objects):
        raise InputError(str(source.parent), "has a line break in its path", "move it elsewhere")
    if objects.is_symlink():
        raise InputError(str(path), "has a symbolic link for its objects folder", mend)
    pending = [objects]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    pending.append(Path(entry.path))
                elif not stat.S_ISREG(mode):
                    what = "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
                    raise InputError(str(path), f"has {what} inside objects/", mend)
    if _not_empty(objects / "info" / "alternates"):
        raise InputError(str(path), "borrows objects from another repository (alternates)", mend)
    return objects


def _not_empty(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _packed_refs(source: Path) -> dict[str, str]:
    file = source / "packed-refs"
    if not file.is_file() or file.is_symlink():
        return {}
    refs = {}
    for line in file.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        sha, _, name = line.partition(" ")
        if _SHA.match(sha) and name:
            refs[name] = sha
    return refs


def _read_ref(source: Path, name: str, packed: dict[str, str]) -> str | None:
    """Follow a ref and its symbolic refs to an id; links in the folder of refs are not followed."""
    for _ in range(_SYMREF_DEPTH):
        if not _REF.match(name) or not (name == "HEAD" or name.startswith("refs/")):
            return None
        content = _loose(source, name)
        if content is None:
            return packed.get(name)
        if _SHA.match(content):
            return content
        if not content.startswith("ref:"):
            return None
        name = content[4:].strip()
    return None


def _loose(source: Path, name: str) -> str | None:
    file = source
    for part in name.split("/"):
        file = file / part
        if file.is_symlink():
            return None
    if not file.is_file():
        return None
    return file.read_text(encoding="utf-8", errors="replace")[:4096].strip()
