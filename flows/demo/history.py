"""What the demo's input is made of: a git repository written from values, and letters in prose.

People and dates are fixed, so equal input gives equal ids. The prose is real: paragraphs of Python's language
reference, which the standard library keeps for `help()`; the repository's code does not resemble it.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from hush_core.errors import InputError
from hush_core.files import whole_file

START = 1_735_725_600
"""1 January 2025, 10:00 UTC: the first commit; one a day after it."""
DAY = 86_400


@dataclass(frozen=True)
class Person:
    """An author, as git writes one down."""

    name: str
    email: str


@dataclass(frozen=True)
class Commit:
    """Files written by one person, on top of its branch (or of main, where the branch is new).

    `merges`: the branch whose tip becomes the second parent; the merge's own `files` come on top of both.
    """

    author: Person
    message: str
    files: dict[str, bytes] = field(repr=False)
    branch: str = "main"
    merges: str | None = None


def write_repository(path: Path, commits: list[Commit]) -> str:
    """Make a repository with a work tree at `path`; the full id of main's last commit.

    No configuration of this machine or user is read, and no hook can run. Raises InputError: there is no git, or it
    fails."""
    _git(path.parent, "init", "--quiet", "--initial-branch=main", "--template=", str(path))
    _git(path, "fast-import", "--quiet", "--done", stdin=_stream(commits))
    _git(path, "reset", "--quiet", "--hard", "main")
    return _git(path, "rev-parse", "main").decode().strip()


def _stream(commits: list[Commit]) -> bytes:
    """git fast-import's format: each commit with its files; a merge takes over the merged branch's files."""
    out = bytearray()
    tips: dict[str, int] = {}
    written: dict[str, dict[str, bytes]] = {}
    for mark, commit in enumerate(commits, start=1):
        parent = tips.get(commit.branch, tips.get("main"))
        if commit.branch not in tips:
            written[commit.branch] = {}
        files = dict(commit.files)
        if commit.merges:
            files = written[commit.merges] | files
        who = f"{commit.author.name} <{commit.author.email}> {START + DAY * mark} +0000"
        message = f"{commit.message}\n".encode()
        out += f"commit refs/heads/{commit.branch}\nmark :{mark}\nauthor {who}\ncommitter {who}\n".encode()
        out += b"data %d\n%s\n" % (len(message), message)
        if parent:
            out += f"from :{parent}\n".encode()
        if commit.merges:
            out += f"merge :{tips[commit.merges]}\n".encode()
        for path, content in sorted(files.items()):
            out += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)
        tips[commit.branch] = mark
        written[commit.branch] |= files
    return bytes(out + b"done\n")


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    git = shutil.which("git")
    if git is None:
        raise InputError("git", "is not installed", "install git 2.39 or newer")
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(folder),
        "LC_ALL": "C",
    }
    safe = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.autocrlf=false", "-c", "gc.auto=0")
    done = subprocess.run(
        [git, *safe, *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, timeout=120
    )
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        hint = "check the installation of git"
        raise InputError(f"git {arguments[0]}", reason[-1] if reason else "failed", hint)
    return done.stdout


SHORTEST = 100
"""Characters of a paragraph that is long enough for a letter."""
_APART = re.compile(r"\n\s*\n")


def write_letters(path: Path, seed: int) -> int:
    """Write a table of JSON lines, {"customer": …, "text": …}; how many customers it has. Raises InputError: this
    Python keeps no reference for `help()`."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        hint = "use a Python with all of its standard library"
        raise InputError("pydoc_data.topics", "is not installed", hint) from None
    paragraphs = {text.strip() for topic in topics.values() for text in _APART.split(topic)}
    letters = sorted(text for text in paragraphs if len(text) >= SHORTEST)
    random.Random(f"hush demo {seed} letters").shuffle(letters)
    rows = ({"customer": f"C-{number:04d}", "text": text} for number, text in enumerate(letters, start=1))
    with whole_file(path) as out:
        out.write("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    return len(letters)
