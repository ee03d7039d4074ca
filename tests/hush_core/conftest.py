"""Real git repositories, built in tmp_path with git itself."""

import os
import subprocess
from pathlib import Path

import pytest


class Repo:
    """A repository under construction; every commit has a fixed date, author and committer."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", *arguments)

    def git(self, *arguments: str, stdin: bytes = b"", who: str = "dev@example.org") -> str:
        people = {
            f"GIT_{r}_{k}": v for r in ("AUTHOR", "COMMITTER") for k, v in (("NAME", "x"), ("EMAIL", who))
        }
        dates = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
        safe = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            input=stdin,
            capture_output=True,
            check=True,
            env={**people, **dates, **safe},
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, files: dict[str | bytes, bytes]) -> None:
        for name, content in files.items():
            file = os.path.join(os.fsencode(self.path), os.fsencode(name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "wb") as handle:
                handle.write(content)

    def commit(
        self, files: dict[str | bytes, bytes] | None = None, message: str = "m", who: str = "dev@example.org"
    ) -> str:
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, who=who)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def make_repo(tmp_path: Path):
    def make(name: str = "repo", *arguments: str) -> Repo:
        return Repo(tmp_path / name, *arguments)

    return make
