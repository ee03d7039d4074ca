"""A clean view of a git repository: its objects, and nothing of its configuration.

A hostile `.git/config` makes even `git cat-file` run code (a promisor remote with an `ext::` URL). So git
never runs in the user's repository. It runs in a fresh bare repository whose `objects/info/alternates` points
at the source; refs are read here, from the source's files. Replace refs, grafts, hooks, filters, attributes
and commit-graphs of the source are thereby out of reach, and nothing is written to it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from hush_core.corpus.git import refs
from hush_core.corpus.git.process import PIPE_BYTES, GitFailed, clean_environment, pieces, whole, writing
from hush_core.corpus.paths import printable_path
from hush_core.errors import InputError

__all__ = ["CleanView", "clean_environment"]

LISTING_BYTES = 1 << 30
"""Most that `run` gives: the names of some ten million files. Trees may repeat one another, and a kilobyte of
them then names more files than any memory holds."""
SMALL_BYTES = 4 << 20
"""Largest CODEOWNERS or .mailmap; hosts take no larger ones, and every line of it costs time."""


class CleanView:
    """A context manager: read one revision of one repository without trusting it.

    Args:
        path: a bare repository, or the root of a working tree, a linked one too.
        rev: branch, tag, full ref name, HEAD, or a full or abbreviated commit id.

    Attributes:
        commit: the full id of the commit that `rev` names (tags peeled).
        shallow: whether the source is a shallow clone, so that its history is cut off.

    Raises:
        InputError: no repository there, an unsafe object store, or no such revision; says how to fix it.
    """

    def __init__(self, path: Path, rev: str = "HEAD") -> None:
        self.path, self.rev = Path(path), rev
        try:
            self._source = refs.git_directory(self.path)
            self._objects = refs.checked_objects(self._source, self.path)
            self._cuts = refs.shallow_cuts(self._source, self.path)
        except OSError as error:
            raise refs.unreadable_source(self.path, error) from None
        self.shallow = self._cuts is not None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.commit = ""

    def __enter__(self) -> CleanView:
        try:
            named = refs.resolve(self._source, self.path, self.rev)
        except OSError as error:
            raise refs.unreadable_source(self.path, error) from None
        self._folder = tempfile.TemporaryDirectory(prefix="hush-view-")
        try:
            self._create("sha256" if named is not None and len(named) == 64 else "sha1")
            self.commit = self._peel(named or self.rev.lower())
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def command(self, *arguments: str) -> list[str]:
        """The full git command line in this view."""
        assert self._folder is not None, "enter the view first"
        graph = "core.commitGraph=false"  # the source's commit-graph could lie about parents
        here = f"--git-dir={self._folder.name}"
        return ["git", here, "--no-pager", "-c", graph, "-c", "protocol.allow=never", *arguments]

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of one git command in this view, at most LISTING_BYTES of it.

        Raises:
            InputError: git failed (in a view that means missing or damaged objects), gave more, or hung.
        """
        try:
            return whole(self.command(*arguments), str(self.path), stdin, LISTING_BYTES)
        except GitFailed as failed:
            raise self.damaged(status=failed.status) from None

    def attempt(self, *arguments: str) -> bytes | None:
        """Standard output of one git command that may fail for a reason of the data; None where it does.

        Raises:
            InputError: as `run`, except that git may fail.
        """
        try:
            return whole(self.command(*arguments), str(self.path), b"", LISTING_BYTES)
        except GitFailed:
            return None

    def stream(self, *arguments: str, stdin: bytes = b"") -> Iterator[bytes]:
        """Standard output of one git command, in pieces; raises like `run`, at the end."""
        try:
            with contextlib.closing(pieces(self.command(*arguments), str(self.path), stdin)) as output:
                yield from output
        except GitFailed as failed:
            raise self.damaged(status=failed.status) from None

    @contextlib.contextmanager
    def beside(self, *arguments: str, most: int = LISTING_BYTES) -> Iterator[Callable[[], Iterator[bytes]]]:
        """One git command that works while its caller does something else, and ends with the context.

        What is yielded waits for it and gives its output in pieces; it raises like `run`.
        """
        with (
            tempfile.TemporaryFile() as out,
            writing(self.command(*arguments), str(self.path), out.fileno(), most) as wait,
        ):

            def output() -> Iterator[bytes]:
                try:
                    wait()
                except GitFailed as failed:
                    raise self.damaged(status=failed.status) from None
                out.seek(0)
                while piece := out.read(PIPE_BYTES):
                    yield piece

            yield output

    def small(self, blob: bytes, name: bytes) -> bytes:
        """The content of a blob that decides how others are read, such as CODEOWNERS.

        Raises:
            InputError: it is missing, no blob, or larger than SMALL_BYTES, which is known without reading it.
        """
        size = self.run("cat-file", "-s", blob.decode("ascii"))
        if int(size) > SMALL_BYTES:
            raise InputError(
                f"{self.path}: {os.fsdecode(name)}",
                f"is larger than {SMALL_BYTES >> 20} MiB, so whom it names cannot be read",
                "make it smaller, or remove it, in the revision that is read",
            )
        return self.run("cat-file", "blob", blob.decode("ascii"))

    def damaged(self, missing: Collection[bytes] = (), *, status: int = 1) -> InputError:
        """The refusal for objects that are not there (a partial clone) or cannot be read.

        `status`: how git ended; it overflows its own stack on folders that are nested tens of thousands deep.

        `missing`: blobs that are known not to be there; the message names the first path of the revision that holds
        one. Not its id, which is a hash of the text.
        """
        if status == -signal.SIGSEGV:
            return InputError(
                str(self.path),
                f"git itself crashes on the tree of {self.rev}: its folders are nested too deep for it",
                "give a revision without them (git filter-repo --path … --invert-paths); git fsck names the tree",
            )
        where, what = str(self.path), f"objects of {self.rev} are missing or damaged"
        hint = "give a full clone: git clone --no-filter, then git fsck"
        if missing:
            paths = self._paths_of(set(missing))
            where += f": {printable_path(paths[0])}" if paths else ""
            some = "that file's content" if paths else f"{len(missing)} contents that are in no file of it"
            more = f", and that of {len(paths) - 1} others" if len(paths) > 1 else ""
            what += f": {some}{more} (a partial clone, or a lost object?)"
            hint = "run git fetch --refetch, or give a full clone (git clone --no-filter); git fsck lists the lost"
        else:
            what += " (a partial clone? folders nested thousands deep?)"
        return InputError(where, what, hint)

    def _paths_of(self, blobs: set[bytes]) -> list[bytes]:
        listing = (self.attempt("ls-tree", "-r", "-z", self.commit) if self.commit else None) or b""
        rows = (entry.partition(b"\t") for entry in listing.split(b"\0"))
        return [path for head, _, path in rows if head.rpartition(b" ")[2] in blobs]

    def _create(self, object_format: str) -> None:
        assert self._folder is not None
        init = ["git", "init", "-q", "--bare", "--template=", f"--object-format={object_format}"]
        try:
            whole([*init, self._folder.name], str(self.path), b"", LISTING_BYTES)
        except GitFailed:
            what = "made no repository in the temporary folder"
            raise InputError("git", what, "see that TMPDIR is writable and has room") from None
        info = Path(self._folder.name, "objects", "info")
        info.mkdir(exist_ok=True)
        (info / "alternates").write_bytes(os.fsencode(self._objects) + b"\n")
        if self._cuts is not None:  # without it git takes the parents where the clone was cut for missing
            Path(self._folder.name, "shallow").write_text("".join(f"{i}\n" for i in self._cuts))

    def _peel(self, named: str) -> str:
        found = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
        commit = (found or b"").decode("ascii", "replace").strip()
        if refs.SHA.match(commit):
            return commit
        if named == self.rev.lower():
            raise refs.unknown(self.path, self.rev)
        raise self.damaged()
