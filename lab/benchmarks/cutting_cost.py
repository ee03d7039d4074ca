"""What borders that no secret moves cost, beside a plain grid of chunks: examples, edges, tagged text, time.

    python lab/benchmarks/cutting_cost.py

The demo's repository, and the interpreter's standard library with planted credentials and codenames (none in most
files, thirty in a few), each extracted by both. Then the layout alone of 290,000 contents, a twentieth of them with
spans, the two by turns. No value is printed.
"""

from __future__ import annotations

import random
import string
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from flows.demo.repository import build_demo_repository
from hush_core.config import load_config, parse_config
from hush_core.corpus import ChunkLayout
from hush_core.secrets import extract

KEY = b"k" * 32
FILES = 500


def planted_library(folder: Path, chunk_bytes: int):
    """The standard library's modules, one in five with secrets at random lines."""
    chance = random.Random(1)
    names = ["osprey-nebula", "basalt-heron", "quartz-lagoon"]
    (folder / "names.txt").write_text("\n".join(names))
    root = Path(sysconfig.get_path("stdlib"))
    for number, path in enumerate(sorted(root.glob("**/*.py"))[:FILES]):
        lines = path.read_bytes().splitlines(keepends=True)
        for _ in range(0 if number % 5 else 30 if number % 50 == 0 else 1):
            token = "ghp_" + "".join(chance.choices(string.ascii_letters + string.digits, k=36))
            line = f'TOKEN = "{token}"\n' if chance.random() < 0.5 else f"# see {chance.choice(names)}\n"
            lines.insert(chance.randrange(len(lines) + 1), line.encode())
        target = folder / "repo" / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"".join(lines))
    git = ["git", "-C", str(folder / "repo"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "m"]):
        subprocess.run([*git, *command], check=True)
    data = {
        "version": 1, "repos": [{"path": str(folder / "repo")}], "train": {"rounds": 1, "batch": 1},
        "chunk_bytes": chunk_bytes,
        "secrets": [
            {"id": "creds", "kind": "credentials", "level": 1e-3, "weak": "drop"},
            {"id": "names", "kind": "literals", "file": str(folder / "names.txt"), "bits": 20, "level": 1e-3},
        ],
    }  # fmt: skip
    return parse_config(data, where="benchmark", folder=folder)


def figures(config) -> dict[str, float]:
    found = extract(config, KEY)
    tagged = found.edges["example_id"].unique()
    size = found.examples["end"] - found.examples["start"]
    by_secret = found.edges.group_by("secret_id").len()["len"]
    whole = found.occurrences.select("secret_id", "example_id").n_unique()
    return {
        "examples": len(found.examples), "public": len(found.public), "tagged": len(tagged),
        "edges": len(found.edges), "largest secret": by_secret.max(), "values whole in one": whole,
        "tagged bytes": round(100 * size.gather(tagged).sum() / size.sum(), 2),
    }  # fmt: skip


def layouts() -> None:
    chance = np.random.default_rng(0)
    sizes = np.minimum(chance.lognormal(8.5, 1.2, 290_000).astype(np.int64) + 1, 1 << 20)
    blob = np.arange(len(sizes), dtype=np.int32)
    spans = np.sort(chance.choice(len(sizes), 14_500, replace=False)).repeat(3)
    start = (chance.random(len(spans)) * sizes[spans]).astype(np.int64)
    end = np.minimum(start + 40, sizes[spans])
    every: dict[str, list[float]] = {"plain": [], "around": []}
    for _ in range(5):
        for name, times in every.items():
            began = time.perf_counter()
            layout = ChunkLayout(blob, sizes, 2048)
            layout = layout if name == "plain" else layout.around(spans, start, end)
            layout.bytes_of(np.arange(layout.chunks))
            layout.chunks_of_pieces(layout.pieces_of_spans(spans, start, end)[0])
            times.append(time.perf_counter() - began)
    best = {name: min(times) for name, times in every.items()}
    print(f"layout of 290,000 contents: plain {best['plain']:.2f} s, around spans {best['around']:.2f} s")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = build_demo_repository(Path(folder) / "demo", full=True)
        jobs = {"demo, 256": load_config(demo.config)}
        for chunk in (512, 2048):
            (Path(folder) / str(chunk)).mkdir()
            jobs[f"library, {chunk}"] = planted_library(Path(folder) / str(chunk), chunk)
        for name, config in jobs.items():
            with mock.patch.object(ChunkLayout, "around", lambda self, *spans: self):
                plain = figures(config)
            around = figures(config)
            print(name)
            for key, value in plain.items():
                print(f"  {key:20} {value:>10} → {around[key]:>10}")
    layouts()


if __name__ == "__main__":
    main()
