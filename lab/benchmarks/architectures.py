"""Which architectures of transformers are clipped right? Each, tiny and random, against a float64 loop.

    python lab/benchmarks/architectures.py                      # all, four minutes of one core; writes the table
    python lab/benchmarks/architectures.py --only ctrl,mixtral  # some

Every type that AutoModelForCausalLM or AutoModelForMaskedLM knows is made with a tiny config, saved with a tiny
tokenizer, and opened as a user's folder is: with all parameters, with adapters where they go by default, and with
adapters on all linear layers. What passes the checks before the first release is compared with plain autograd,
one example at a time, in float64 (in float32 where the model's own code cannot run in float64): the clipped sum
and every norm. Where a refusal names what to do, that is done.

    right     within 1e-4 (norms) and 1e-3 (the whole sum)
    refused   before anything is released, with the message that a user reads
    wrong     passed the checks and is not right, or ended in a traceback, or a refusal recommends what is refused
              in its turn: the exit status is 1
    not made  no tiny config was found for it that its own code runs

results/architectures.md has a row for each by name, with the reason for each refusal.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from architecture_sweep import MODES, architectures, judge, make

TABLE = Path(__file__).parent / "results" / "architectures.md"
LIMIT = 120
"""Seconds for one architecture."""


def sweep_one(kind: str, name: str, objective: str, out: str) -> None:
    """In a process of its own: write the rows of one architecture."""
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as null, redirect_stderr(null):
        why = make(kind, name, objective, Path(folder))
        if why is not None:
            rows = [{"type": kind, "objective": objective, "result": "not made", "what": why}]
        else:
            rows = [judge(kind, objective, Path(folder), mode) for mode in MODES]
            whole, *adapted = rows
            if whole["result"] == "refused" and all(row["result"] != "right" for row in adapted):
                whole["note"] = "and no adapters either"
    Path(out).write_text(json.dumps([{"class": name, **row} for row in rows]))


def sweep(chosen: list[tuple[str, str, str]], limit: float) -> Iterator[list[dict]]:
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, objective in chosen:
            out = Path(folder) / f"{kind}-{objective}.json"
            process = fork.Process(target=sweep_one, args=(kind, str(name), objective, str(out)))
            process.start()
            process.join(limit)
            if process.is_alive():
                process.kill()
                process.join()
            if out.exists():
                yield json.loads(out.read_text())
            else:
                what = f"no result: exit status {process.exitcode} within {limit:g} s"
                yield [
                    {"type": kind, "class": name, "objective": objective, "result": "not made", "what": what}
                ]


def summary(rows: list[dict]) -> str:
    """A table by mode, as docs/training.md shows it."""
    lines = ["| | right | refused | wrong |", "|---|---|---|---|"]
    for mode in MODES:
        counts = Counter(row["result"] for row in rows if row.get("mode") == mode)
        lines.append(f"| {mode} | {counts['right']} | {counts['refused']} | {counts['wrong']} |")
    unmade = sum(row["result"] == "not made" for row in rows)
    over = sum(row.get("note") == "would have been right" for row in rows)
    made = len({(row["type"], row["objective"]) for row in rows}) - unmade
    return "\n".join([*lines, "", f"{made} made, {unmade} not; {over} refused that would have been right"])


def by_name(rows: list[dict]) -> str:
    """A row for each type and objective: how each mode came out, and each reason once."""
    lines = [f"| type | objective | {' | '.join(MODES)} | why not |", "|---" * (len(MODES) + 3) + "|"]
    whole: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        whole.setdefault((row["type"], row["objective"]), []).append(row)
    for (kind, objective), found in whole.items():
        results = {row.get("mode"): row["result"] for row in found}
        reasons = dict.fromkeys(reason(row) for row in found if row["result"] != "right")
        cells = [kind, objective, *(results.get(mode, "not made") for mode in MODES), "; ".join(reasons)]
        lines.append(f"| {' | '.join(cells)} |")
    head = (
        f"# Architectures\n\nBy `lab/benchmarks/architectures.py`, transformers {transformers.__version__}."
    )
    return "\n\n".join([head, summary(rows), "\n".join(lines)]) + "\n"


def reason(row: dict) -> str:
    """What a user reads, without what differs from run to run: a folder's name, the size of a difference."""
    where = "its folder" if row.get("where", "").startswith(tempfile.gettempdir()) else row.get("where", "")
    what = re.sub(r" differs by \S+ from", " differs from", row["what"])
    what = re.sub(r"lora_[AB]\.default\.weight", "its adapter", what.removesuffix(" (0.001 is allowed)"))
    return " ".join(
        f"{where}: {what}".removeprefix(": ").replace("base_model.model.", "").replace("|", "/").split()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="types, separated by commas")
    parser.add_argument("--out", type=Path, help="every row, as JSON")
    parser.add_argument(
        "--table", type=Path, default=TABLE, help="the table by name; not written with --only"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one architecture")
    args = parser.parse_args()
    torch.set_num_threads(1)
    wanted = set(filter(None, args.only.split(",")))
    chosen = [one for one in architectures() if not wanted or one[0] in wanted]
    rows: list[dict] = []
    for found in sweep(chosen, args.limit):
        rows += found
        for row in found:
            cells = [row["type"], row["objective"], row.get("mode", ""), row["result"], row.get("note", "")]
            cells += [row.get("where", ""), row.get("what", ""), f"{row.get('sum_error', math.nan):.1e}"]
            print(" | ".join(cells), flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n")
    if not wanted:
        args.table.write_text(by_name(rows))
    print(summary(rows))
    return int(any(row["result"] == "wrong" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
