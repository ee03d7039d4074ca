"""Lines of a public repository in three parts, whole files each: what is trained on, calibrated with and tested."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from lab.replications.repository_bundle import clone, text_files

Lines = list[tuple[str, bytes]]
"""(path, line), stripped, none of them empty."""


def three_parts(bundle: Path, work: Path, seed: int) -> tuple[Lines, Lines, Lines]:
    """The lines of the head of a bundle's one branch; whole files go into one of three parts.

    Files are dealt from the longest to the shortest, three at a time in an order of chance, so that the parts have
    about as many lines each; within a part they stand in an order of chance.

    Raises:
        InputError: the bundle holds no history of one branch.
    """
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        repository = Path(folder) / "repository.git"
        head = clone(bundle, repository)
        files = {path: _lines(content) for path, content in text_files(repository, head).items()}
    chance = np.random.default_rng(seed)
    order = sorted(files, key=lambda path: (-len(files[path]), path))
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for begin in range(0, len(order), 3):
        for part, path in zip(chance.permutation(3), order[begin : begin + 3], strict=False):
            parts[part].append(path)
    first, second, third = (
        [(path, line) for at in chance.permutation(len(some)) for path in [some[at]] for line in files[path]]
        for some in parts
    )
    return first, second, third


def _lines(content: bytes) -> list[bytes]:
    return [line.strip() for line in content.splitlines() if line.strip()]
