"""How often the history takes one secret's text for another's, or misses it, on the commits of a real repository.

--nights commits of the first parents, spread over the whole history; each is "tonight" for the one before it.

- *Found again*: every file of half of the paths is a secret of its own then, and tonight under another name and
  with one line break before it: how many are found by their text as it was cut, and by passages; once of those
  that nobody edited meanwhile, once of all.
- *Taken for another*: every file of the other half is a secret of its own tonight: how many are found in texts
  that only the first half's files were tagged for, and how many of these git calls renamed or copied from one of
  them. Then once more where nothing is used untagged, so that licences count.
- *Let go*: hush's own graph of the last --graphs commits, --stride apart; files that match --protected are one
  secret, with importers and near copies, and the rest is used without noise: nights on which text that was
  protected the night before is used untagged, by its files.

    python lab/benchmarks/history_matching.py --repository flask.git \\
        --protected 'src/flask/json/**' 'src/flask/cli.py'
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.config import HushConfig
from hush_core.history import RunHistory, RunText
from hush_core.history.matching import texts_tagged
from hush_core.history.passages import found_again, passages_of
from hush_core.history.record import RunRecord
from hush_core.secrets.extraction import extract

KEY, CHUNK = b"k" * 32, 2048
JOB = {
    "version": 1, "levels": {"high": 1e-3}, "train": {"rounds": 9, "batch": 4}, "chunk_bytes": CHUNK,
    "weights": {"without_secret": "plain"},
}  # fmt: skip


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True, timeout=600
    ).stdout


def files_of(repository: Path, commit: str) -> dict[str, bytes]:
    """Its text files of at most a MB."""
    found = {}
    for line in git(repository, "ls-tree", "-r", "-z", "-l", commit).split(b"\0")[:-1]:
        (mode, kind, blob, size), path = line.split(b"\t")[0].split(), line.split(b"\t", 1)[1]
        if kind == b"blob" and mode != b"120000" and 0 < int(size) <= 1 << 20:
            data = git(repository, "cat-file", "blob", blob.decode())
            if b"\0" not in data:
                found[path.decode(errors="replace")] = data
    return found


def run_of(secrets: Mapping[str, bytes], others: Mapping[str, bytes]) -> RunText:
    """Each of `secrets` is one of its own; `others` are used without noise."""
    texts, edges = [], []
    for number, content in enumerate(secrets.values()):
        for at in range(0, len(content), CHUNK):
            edges.append((len(texts), number))
            texts.append(content[at : at + CHUNK])
    bare = [content[at : at + CHUNK] for content in others.values() for at in range(0, len(content), CHUNK)]
    rows = [(n, "path", name, 1e-6, 1e-3) for n, name in enumerate(secrets)]
    return RunText(
        texts, np.full(len(texts), 0.1),
        pl.DataFrame(edges, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row"),
        pl.DataFrame(rows, schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row"),
        2.0, 9, "settings", without_noise=bare,
    )  # fmt: skip


def noted(text: RunText) -> RunRecord:
    with tempfile.TemporaryDirectory() as folder:
        history = RunHistory(Path(folder), key=KEY, identity="i")
        history.note("run", text)
        return RunRecord.read(Path(folder) / "history" / "run", "i")


def found_by(record: RunRecord, now: RunText) -> tuple[set[int], set[int]]:
    """Secrets of now that are found in texts that the run tagged: as they were cut then, and by passages."""
    tagged = record.texts.filter(record.is_tagged).select("hash").unique()
    exact = texts_tagged(now, KEY).join(tagged, on="hash")["secret_id"]
    passages = passages_of(now, KEY)[0]
    return set(exact.to_list()), set(found_again(record, passages, "secret_id")["secret_id"].to_list())


def first_half(path: str) -> bool:
    return hashlib.sha256(path.encode()).digest()[0] < 128


def moved(repository: Path, before: str, now: str) -> set[str]:
    """Paths that git calls renamed or copied, in any part of 30 %, from a path of the first half."""
    output = git(
        repository, "diff", "--name-status", "-z", "-M30", "-C30", "--find-copies-harder", "-l0", before, now
    )
    words, found = iter(output.decode(errors="replace").split("\0")), set()
    for status in words:
        if status[:1] in ("R", "C"):
            source, target = next(words), next(words)
            if first_half(source):
                found.add(target)
        elif status:
            next(words)
    return found


def compare(repository: Path, commits: list[str]) -> dict[str, int]:
    counts = dict.fromkeys(
        ("unedited", "unedited_as_cut", "unedited_by_passages", "again", "again_as_cut", "again_by_passages",
         "others", "taken_as_cut", "taken_by_passages", "taken_moved", "taken_without_untagged",
         "taken_without_untagged_as_cut"), 0
    )  # fmt: skip
    for before, now in itertools.pairwise(commits):
        then, files = files_of(repository, before), files_of(repository, now)
        halves = [{p: c for p, c in then.items() if first_half(p) == half} for half in (True, False)]
        record, alone = noted(run_of(*halves)), noted(run_of(halves[0], {}))
        same = {path: b"\n" + content for path, content in files.items() if path in halves[0]}
        cut, again = found_by(record, run_of(same, {}))
        old = {n for n, path in enumerate(same) if files[path] == then[path]}
        counts["unedited"] += len(old)
        counts["unedited_as_cut"] += len(cut & old)
        counts["unedited_by_passages"] += len((cut | again) & old)
        counts["again"] += len(same)
        counts["again_as_cut"] += len(cut)
        counts["again_by_passages"] += len(cut | again)
        others = {path: content for path, content in files.items() if not first_half(path)}
        cut, taken = found_by(record, run_of(others, {}))
        names, renamed = list(others), moved(repository, before, now)
        counts["others"] += len(others)
        counts["taken_as_cut"] += len(cut)
        counts["taken_by_passages"] += len(taken | cut)
        counts["taken_moved"] += sum(names[n] in renamed for n in taken | cut)
        for n in sorted(taken | cut):
            print(f"  {now[:10]} {names[n]}{' (moved)' if names[n] in renamed else ''}", flush=True)
        cut, taken = found_by(alone, run_of(others, {}))
        counts["taken_without_untagged"] += len(taken | cut)
        counts["taken_without_untagged_as_cut"] += len(cut)
    return counts


def graphs(repository: Path, commits: list[str], protected: list[str], work: Path) -> list[dict]:
    """By night: the files of which text is let go, as cut or by passages."""
    found = []
    (work / "cache").mkdir(mode=0o700)
    for number, commit in enumerate(commits):
        entry = {"id": "alpha", "kind": "path", "globs": protected, "level": "high", "may_be_empty": True}
        source = {"path": str(repository), "rev": commit, "name": "repository"}
        job = HushConfig.model_validate(JOB | {"repos": [source], "secrets": [entry]})
        graph = extract(job, KEY, cache=work / "cache")
        texts, tagged = graph.examples["text"].to_list(), np.zeros(graph.examples.height, dtype=bool)
        tagged[graph.edges["example_id"].to_numpy()] = True
        plain = [text for text, one in zip(texts, tagged, strict=True) if not one]
        secrets = graph.secrets.sort("secret_id")
        text = RunText(texts, np.where(tagged, 0.1, 0.0), graph.edges, secrets, 2.0, 9, "s",
                       without_noise=plain, plain=~tagged)  # fmt: skip
        run = f"{number:064x}"
        if number:
            last = RunHistory(work / "one", key=KEY, identity="i")
            gone = last.earlier(run, text).now_untagged
            paths = graph.examples["path"].gather(gone["example"]).unique().sort().to_list()
            found.append({"commit": commit[:10], "tagged": int(tagged.sum()), "now_untagged": paths})
            print(f"  {found[-1]}", flush=True)
            subprocess.run(["rm", "-r", str(work / "one")], check=True)
        witness = RunHistory(work / "one", key=KEY, identity="i").note(run, text)
        witness.write_bytes(b"a round\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--stride", type=int, default=5)
    parser.add_argument("--protected", nargs="+", default=["**/cli.py"])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    commits = git(asked.repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    places = np.linspace(len(commits) // 5, len(commits) - 1, asked.nights).astype(int)
    report = {"repository": asked.repository.resolve().parent.name, "commits": len(commits)}
    report |= compare(asked.repository, [commits[n] for n in places])
    print(json.dumps(report, indent=1), flush=True)
    last = commits[-asked.graphs * asked.stride :: asked.stride]
    with tempfile.TemporaryDirectory() as work:
        report["nights"] = graphs(asked.repository, last, asked.protected, Path(work))
    if asked.out:
        asked.out.write_text(json.dumps(report, indent=1) + os.linesep)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
