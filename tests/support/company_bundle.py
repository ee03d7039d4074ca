"""A small repository as a git bundle: what `hush replicate company` takes in place of a company's."""

import subprocess
from pathlib import Path

from flows.demo.history import Commit, Person, write_repository

ROOT = Path(__file__).parents[2]


def write_bundle(folder: Path) -> Path:
    """`repository_made.bundle` in `folder`: 120 of hush's own modules by 60 authors, a lock file and an image. Not
    those of the detectors, which show what credentials look like."""
    modules = (path for path in (ROOT / "hush_core").rglob("*.py") if path.parent.name != "detectors")
    sources = sorted(modules, key=lambda path: path.stat().st_size)[-180:-60]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sources}
    people = [Person(f"P{n}", f"p{n}@example.com") for n in range(60)]
    ours = [dict(list(files.items())[n::60]) for n in range(60)]
    commits = [Commit(who, "Write", some) for who, some in zip(people, ours, strict=True)]
    commits.append(Commit(people[0], "Binary", {"logo.png": b"\x89PNG\0\0", "uv.lock": b"hash = 1\n" * 50}))
    write_repository(folder / "origin", commits)
    bundle = folder / "repository_made.bundle"
    command = ["git", "-C", str(folder / "origin"), "bundle", "create", "--quiet", str(bundle), "main"]
    subprocess.run(command, check=True, capture_output=True)
    return bundle
