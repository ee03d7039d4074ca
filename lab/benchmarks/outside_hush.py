"""What a checkout of hush ties to a credential in one repository: byte ranges by path, as JSON.

Run as a process of its own with that checkout first on PYTHONPATH (`outside_recall.py --hush PATH` does):

    python lab/benchmarks/outside_hush.py REPOSITORY OUT.json

tagged: examples with an edge to a credential. dropped: text left out for a credential too weak to protect.
lines: on which line each of those is in each chunk that was left out, as the report has it. values: where a
credential's value is whole. warned: `tagged`, `lines` and `values` of what SARIF lists as a warning, so without
random values that no name announces and recognised copies; of what was left out, the copies too. Examples of 64
bytes, no public files, `weak: drop`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

CHUNK = 64
KEY = b"a stranger's key" * 2
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
levels: {{critical: 1.0e-4}}
secrets:
  - {{id: creds, kind: credentials, level: critical, weak: drop}}
chunk_bytes: {chunk}
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 2, batch: 4}}
train: {{rounds: 4, batch: 6}}
"""


def found(repository: Path, chunk: int = CHUNK) -> dict:
    """Ranges by path: {"tagged": {path: [[start, end], ...]}, "dropped": ..., "values": ...}; counts, time."""
    from hush_core.config import load_config
    from hush_core.secrets import extract
    from hush_core.secrets.priors import RANDOM_TOKEN

    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.yaml"
        job.write_text(CONFIG.format(repository=repository.resolve(), chunk=chunk))
        config = load_config(job)
        begin = time.perf_counter()
        got = extract(config, KEY)
        seconds = time.perf_counter() - begin
    if got.redacted.height:  # then examples no longer hold what the repository does, and ranges say nothing
        raise SystemExit("text was redacted: this benchmark measures hush's tags and what it drops")
    credentials = got.secrets.filter(pl.col("kind") == "credentials")
    examples = got.examples.with_columns(pl.col("example_id").cast(pl.UInt32))
    edges = got.edges.join(credentials.select("secret_id", "provenance"), on="secret_id")
    dropped = got.dropped.filter(pl.col("kind") == "credentials")
    shown = ~pl.col("provenance").str.ends_with(RANDOM_TOKEN) & ~pl.col("reason").str.starts_with(
        "propagated"
    )
    everything = _places(examples, edges, got.occurrences, dropped)
    named = dropped.filter(~pl.col("name").str.contains(RANDOM_TOKEN, literal=True))
    return everything | {
        "warned": _places(examples, edges.filter(shown), got.occurrences, named),
        "dropped": _ranges(dropped), "seconds": seconds, "examples": examples.height, "secrets": credentials.height,
        "tagged_examples": edges["example_id"].n_unique(), "dropped_chunks": dropped.height,
        "bytes": int((examples["end"] - examples["start"]).sum()),
    }  # fmt: skip


def _places(
    examples: pl.DataFrame, edges: pl.DataFrame, occurrences: pl.DataFrame, dropped: pl.DataFrame
) -> dict:
    tagged = examples.join(edges.select("example_id").unique(), on="example_id", how="semi")
    lines: dict[str, list[int]] = {}
    for path, line in dropped.select("path", "line").unique().sort("path", "line").iter_rows():
        lines.setdefault(path, []).append(line)
    whole = occurrences.join(edges, on=["secret_id", "example_id"], how="semi").join(
        examples.select("example_id", "path", at="start"), on="example_id"
    )
    values = whole.select("path", start=pl.col("at") + pl.col("start"), end=pl.col("at") + pl.col("end"))
    return {"tagged": _ranges(tagged), "values": _ranges(values), "lines": lines}


def _ranges(rows: pl.DataFrame) -> dict[str, list[list[int]]]:
    ranges: dict[str, list[list[int]]] = {}
    for path, start, end in rows.select("path", "start", "end").sort("path", "start").iter_rows():
        ranges.setdefault(path, []).append([start, end])
    return ranges


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(found(Path(sys.argv[1]))))
