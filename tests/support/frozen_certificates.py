"""Certificates as commit d18e975 wrote them, before one accountant served one run and many: each must verify.

`frozen_certificates.tar.xz` holds one of each mechanism with and without a history of two earlier runs, and one of
280 secrets whose bounds are inherited: from binomials for this run, from groups for all runs. The git history has
what wrote them.
"""

import tarfile
from pathlib import Path

FILE = Path(__file__).with_suffix(".tar.xz")


def unpack(folder: Path) -> list[Path]:
    """The certificates' folders, each beside the `model` that they all certify."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    return sorted(path for path in folder.iterdir() if path.name != "model")
