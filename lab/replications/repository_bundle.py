"""A public repository as a git bundle of one branch: cloned, and its text files read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hush_core.errors import InputError


def clone(bundle: Path, target: Path) -> str:
    """A bare clone of the bundle's one branch at `target`; the id of its last commit.

    Raises:
        InputError: it holds no history of one branch.
    """
    git(target.parent, "clone", "--quiet", "--bare", str(bundle.resolve()), str(target))
    heads = git(target, "for-each-ref", "--format=%(objectname)", "refs/heads").decode().split()
    if len(set(heads)) != 1:
        raise InputError(bundle.name, f"holds {len(heads)} branches", "bundle one: git bundle create F main")
    return heads[0]


def text_files(repository: Path, rev: str) -> dict[str, bytes]:
    """What is trained on: text, and no lock file (those are hashes of public packages)."""
    files = {}
    for path in paths(repository, rev):
        content = git(repository, "cat-file", "blob", f"{rev}:{path}")
        if content and b"\0" not in content and not path.endswith(".lock"):
            files[path] = content
    return files


def paths(repository: Path, rev: str) -> list[str]:
    """Of the files of a commit."""
    lines = git(repository, "ls-tree", "-r", "-z", rev).decode().split("\0")
    return [line.split("\t", 1)[1] for line in lines if line.startswith("100")]


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What git writes, with no configuration of this machine or user and no hook.

    Raises:
        InputError: it fails.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(folder), "LC_ALL": "C",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-c", f"core.hooksPath={os.devnull}", *arguments],
        cwd=folder, env=environment, input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(
            f"git {arguments[0]}", said[-1] if said else "failed", "give a repository with its history"
        )
    return done.stdout
