"""What nights on top of the model before cost in loss and noise, against nights begun anew, at one promise.

The commits of a real repository (hush's own history, unless --repository names another) are the nights: the last
--nights of its first parents, --stride apart, of which the folders --protected, --rest and --public are taken.
Every Python file of --protected is a secret of its own; --rest is trained on plainly. Two homes run the whole job
(`flows.train`) on each commit under `promise: {runs: NIGHTS}`: in one every run begins at the public start with
--rounds rounds, in the other the later ones go on from the model before with --later. Both train the same steps on
untagged text each night.

Prints by night: how many protected chunks are new, σ, the loss on held-out untagged text before and after the
certified rounds, the loss on tonight's protected text, and the bound of all runs nearest to its target.

    python lab/benchmarks/nightly_loss.py --out nightly_loss.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRY = '  - {{id: "{name}", kind: path, globs: ["{path}"], level: high, protect: noise}}'
CONFIG = """\
version: 1
repos: [{{path: repository, rev: {rev}}}]
levels: {{high: 1.0e-3}}
public: ["{public}/**"]
secrets:
{entries}
chunk_bytes: 256
weights: {{c: 0.5, without_secret: plain}}
promise: {{runs: {nights}}}
model: {{layers: 2, width: 64, heads: 2}}
pretrain: {{steps: 150, batch: 16}}
untagged: {{steps: 100, batch: 16, learning_rate: 1.0e-3, evaluate_every: 20}}
train: {{rounds: {rounds}, batch: 8, clip_norm: 0.5, learning_rate: 3.0e-4, checkpoint_every: 100{start}}}
audit: {{alternatives: 1}}
tracking: {{experiment: nightly, model: nightly}}
"""
MEASURED = 400
"""Protected chunks that a loss is measured on."""


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True, timeout=300
    )
    return done.stdout.decode(errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, default=ROOT)
    parser.add_argument("--protected", default="hush_core/history")
    parser.add_argument("--rest", default="hush_core/config")
    parser.add_argument("--public", default="docs")
    parser.add_argument("--nights", type=int, default=6)
    parser.add_argument("--stride", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--later", type=int, default=10)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.home:
        return one_home(given.home)
    with tempfile.TemporaryDirectory(prefix="hush-nightly-") as folder:
        work = Path(folder)
        commits = small_history(given, work / "repository")
        found = {}
        for way, start in (
            ("anew", ""),
            ("going on", f", start: champion, later_rounds: {given.later}"),
        ):
            home = work / way.replace(" ", "_")
            home.mkdir()
            for number, rev in enumerate(commits):
                text = CONFIG.format(
                    rev=rev,
                    entries=entries_at(work / "repository", rev, given.protected),
                    nights=given.nights,
                    rounds=given.rounds,
                    start=start,
                    public=given.public,
                )
                (work / f"{home.name}-{number}.yaml").write_text(text)
            others = ("PREFECT_", "MLFLOW_", "HUSH_")
            environment = {key: value for key, value in os.environ.items() if not key.startswith(others)}
            environment |= {"HUSH_HOME": str(home), "PYTHONPATH": str(ROOT)}
            child = subprocess.run(
                [sys.executable, __file__, "--home", str(home)], cwd=work, env=environment, capture_output=True,
                text=True,
            )  # fmt: skip
            if child.returncode:
                print(child.stderr[-4000:], file=sys.stderr)
                return 1
            found[way] = [
                json.loads(line[4:]) for line in child.stdout.splitlines() if line.startswith("RAN ")
            ]
            print(table(way, found[way]), flush=True)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1))
    return 0


def entries_at(repository: Path, rev: str, folder: str) -> str:
    """One entry of the config for each Python file of the folder then."""
    files = git(repository, "ls-tree", "-r", "--name-only", rev, f"{folder}/").split()
    python = [path for path in files if path.endswith(".py")]
    return "\n".join(ENTRY.format(name=path.replace("/", "."), path=path) for path in python)


def small_history(given: argparse.Namespace, into: Path) -> list[str]:
    """A repository whose commits hold the chosen folders as they were; its commits, the first one first."""
    nights = git(given.repository, "rev-list", "--first-parent", "HEAD").split()
    nights = nights[: given.stride * given.nights : given.stride][::-1]
    into.mkdir()
    git(into, "init", "-q", "-b", "main")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    made = []
    for rev in nights:
        git(into, "rm", "-q", "-r", "--ignore-unmatch", ".")
        for folder in (given.protected, given.rest, given.public):
            archive = subprocess.run(
                ["git", "-C", str(given.repository), "archive", rev, folder], capture_output=True, check=True
            )
            subprocess.run(["tar", "-x", "-C", str(into)], input=archive.stdout, check=True)
        git(into, "add", "-A")
        git(into, *who, "commit", "-q", "--allow-empty", "-m", rev)
        made.append(git(into, "rev-parse", "HEAD").strip())
    return made


def table(way: str, nights: list[dict]) -> str:
    lines = [f"{way}: night, new chunks, rounds, σ, held-out before and after, protected, all runs/target"]
    for n, night in enumerate(nights):
        sigma = "-" if night["sigma"] is None else f"{night['sigma']:.3f}"
        lines.append(
            f"  {n + 1:2} {night['new']:5} {night['rounds']:4} {sigma:>7} {night['before']:.3f} "
            f"{night['after']:.3f} {night['protected']:.3f} {night['worst']:.3g}"
        )
    return "\n".join(lines)


def one_home(home: Path) -> int:
    """All nights of one home, in one process."""
    from tasks.runtime.environment import prepare_environment

    prepare_environment()  # before Prefect is imported
    from flows.train import train
    from hush_core.training import load_model
    from tasks.runtime.versions import model_files

    seen: set[bytes] = set()
    for config in sorted(home.parent.glob(f"{home.name}-*.yaml")):
        report = train(str(config))
        texts = protected_text(Path(report.certificate_dir))
        new, seen = len(set(texts) - seen), seen | set(texts)
        with tempfile.TemporaryDirectory() as folder:
            model = load_model(model_files(report.model_uri, Path(folder)))
            bits = model.evaluate(sorted(texts)[:MEASURED], max_examples=MEASURED)
        row = {
            "new": new, "rounds": report.rounds_released, "sigma": report.noise_multiplier,
            "before": report.losses["without secrets"], "after": report.losses["protected"], "protected": bits,
            "worst": report.worst_of_all_runs,
            "start": report.losses.get("champion", report.losses.get("pretrained")),
        }  # fmt: skip
        print("RAN", json.dumps(row), flush=True)
    return 0


def protected_text(certificate: Path) -> list[bytes]:
    """The texts of tonight's tagged examples, from the home's own store: the table whose size the certificate
    names, made last."""
    import polars as pl

    from tasks.runtime.environment import home
    from tasks.runtime.store import Store

    edges = pl.read_parquet(certificate / "edges.parquet")["example_id"].unique()
    size = pl.read_parquet(certificate / "weights.parquet").height
    tables = sorted(Store(home().store).root.rglob("*.parquet"), key=lambda path: path.stat().st_mtime)
    for path in reversed(tables):
        names = pl.read_parquet_schema(path).keys()
        if {"example_id", "path", "text"} <= set(names) and (found := pl.read_parquet(path)).height == size:
            return found.filter(pl.col("example_id").is_in(edges.implode()))["text"].to_list()
    raise LookupError("the examples of the run are not in the store")


if __name__ == "__main__":
    raise SystemExit(main())
