"""What a release says: the changelog's section of a version, once it is sure that the tag names that version.

>>> python deploy/release.py v0.1.0 > notes.md      # in a shell, as .github/workflows/release.yml does
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(changelog: str, version: str) -> str:
    """The text below `## VERSION` or `## VERSION (DATE)`, up to the next heading of that rank.

    Raises:
        ValueError: there is no such heading, or nothing below it.
    """
    heading = re.compile(rf"^## {re.escape(version)}(?: \(\d{{4}}-\d{{2}}-\d{{2}}\))?$", re.M)
    if (found := heading.search(changelog)) is None:
        raise ValueError(
            f"CHANGELOG.md has no heading `## {version} (YYYY-MM-DD)`; rename `## Unreleased` to it"
        )
    text = re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.M)[0].strip()
    if not text:
        raise ValueError(f"CHANGELOG.md says nothing below `## {version}`; write what changed")
    return text + "\n"


def release(tag: str, root: Path = ROOT) -> str:
    """The notes of the version that the tag names.

    Raises:
        ValueError: the tag is not `v` and the version of pyproject.toml, or the changelog has no such section.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"the tag {tag} does not name version {version} of pyproject.toml; make them equal")
    return notes((root / "CHANGELOG.md").read_text("utf-8"), version)


if __name__ == "__main__":
    try:
        print(release(sys.argv[1]), end="")
    except ValueError as error:
        sys.exit(f"release: {error}")
