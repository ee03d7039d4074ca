"""The fifth and the sixth hold-out: credentials planted by reviewers who read no rule, in a run of all scanners.

    python lab/benchmarks/outside_blind.py --set sixth --mirror FOLDER --out FILE.json [--hush CHECKOUT]
        [--peer NAME=ENV] ...

NOT TO BE READ by anyone who writes or changes a rule of hush, nor the modules of styles and types: it is a
hold-out only as long as nothing is tuned on it. FOLDER holds the git directories of a set's hosts as `fetch` lays
them out (FOLDER/OWNER+NAME/repo). `--check` draws the plantings and tests that each stands in its text; it runs no
scanner.

Every style is planted COUNT times a seed (COUNT_MORE for chosen passwords and connections), in a random half of the
hosts' files; false positives are counted in every file without a planting. Judged as in `outside_recall.py`, strict
for hush and mild for the others. Where the credential stands encoded, only the bytes that encode it count; of a PEM
block its body, of an array its numbers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import outside_peers
from outside_blind_planting import SETS, Set, checked, hosts_text, plant
from outside_keys import key_lines
from outside_planting import Planting, crossed_out, repository
from outside_recall import OURS, hush_found, judged, reported_lines, wilson


def measured(of: Set, mirror: Path, finders: dict[str, Path], seed: int) -> dict:
    """Of one seed: each planting without its value, who of `finders` (hush by its checkout, peers by their
    environments) found it, false positives and CPU seconds."""
    hosted = hosts_text(of, mirror, seed)
    files, plantings = plant(of, hosted, seed)
    clean = {path: text for path, text in hosted.items() if files[path] == text}
    keys, certificates = key_lines(clean)
    hits, facts = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "planted", files)
        crossed = repository(Path(folder) / "crossed", crossed_out(files, plantings))
        for who, environment in finders.items():
            begin = _cpu()
            try:
                if who == OURS:
                    found, others = hush_found(tree, environment), hush_found(crossed, environment)
                    lines, said = reported_lines(clean, found), judged(files, plantings, found, others)
                    hits[who] = [how != "missed" for how in said]
                    warned = reported_lines(files, found["warned"])
                    facts[who] = {
                        "dropped_only": said.count("dropped"),
                        "secrets": found["secrets"],
                        "with_a_warning": sum(map(_marked(warned), plantings)),
                    }
                else:
                    lines, _ = outside_peers.reported(who, environment, tree)
                    hits[who] = list(map(_marked(lines), plantings))
                    facts[who] = {}
            except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError) as error:
                facts[who] = {"failed": f"{type(error).__name__}: {error}"[:300]}
                continue
            mine = {(path, line) for path, line in lines if path in clean}
            facts[who] |= {
                "false_positive_lines": len(mine - keys - certificates),
                "lines_with_key_blocks": len(mine),
                "cpu_seconds": round(_cpu() - begin, 1),
            }
            print(seed, who, sum(hits[who]), len(plantings), facts[who], flush=True)
    return {
        "seed": seed, "megabytes_without_plantings": sum(len(t.encode()) for t in clean.values()) / 1e6,
        "megabytes": sum(len(t.encode()) for t in files.values()) / 1e6, "facts": facts, "hits": hits,
        "plantings": [{"class": p.group, "style": p.style, "type": p.type, "family": p.value} for p in plantings],
    }  # fmt: skip


def _marked(lines: outside_peers.Lines) -> Callable[[Planting], bool]:
    """Whether one of a planting's lines is among `lines`."""
    return lambda p: any((p.path, i) in lines for i in range(p.lines[0], p.lines[1] + 1))


def _cpu() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def rows(results: list[dict], key: str) -> list[dict]:
    """Both seeds together: by `key` (class or family), recall of each finder, of the peers together and of any."""
    finders = [w for w in results[0]["hits"] if all(w in result["hits"] for result in results)]
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        for i, planting in enumerate(result["plantings"]):
            for row in ("all", planting[key]):
                found = {who: result["hits"][who][i] for who in finders}
                found["all peers"] = any(found[who] for who in finders if who != OURS)
                counts[row]["n"] += 1
                for who, hit in found.items():
                    counts[row][who] += hit
    return [
        {key: row, "plantings": c["n"],
         "found": {who: {"count": c[who], "interval": wilson(c[who], c["n"])} for who in [*finders, "all peers"]}}
        for row, c in counts.items()
    ]  # fmt: skip


def table(rows_: list[dict], key: str) -> str:
    """Markdown: recall in percent with 95 % Wilson intervals."""
    who = list(rows_[0]["found"])
    lines = ["| " + " | ".join([key, "n", *who]) + " |", "|" + "---|" * (len(who) + 2)]
    for row in rows_:
        cells = [
            f"{100 * f['count'] / row['plantings']:.1f} ({100 * low:.0f}–{100 * high:.0f})"
            for f in row["found"].values()
            for low, high in [f["interval"]]
        ]
        lines.append("| " + " | ".join([row[key], str(row["plantings"]), *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=SETS, default="sixth", help="which hold-out")
    parser.add_argument("--check", action="store_true", help="draw only, and say what is wrong")
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument(
        "--hush", type=Path, default=Path(__file__).parents[2], help="the checkout that is measured"
    )
    parser.add_argument("--peer", action="append", default=[], help="NAME=ENVIRONMENT, see outside_peers.py")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    peers = {name: Path(path) for name, path in (word.split("=", 1) for word in given.peer)}
    of = SETS[given.set]
    if given.check:
        wrong = [line for seed in of.seeds for line in checked(of, given.mirror, seed)]
        sys.exit("\n".join(wrong) or 0)
    if not given.out:
        parser.error("give --out")
    results = []
    for seed in of.seeds:
        results.append(measured(of, given.mirror, {OURS: given.hush, **peers}, seed))
        missed = sorted({
            (p["class"], p["style"]) for result in results
            for p, hit in zip(result["plantings"], result["hits"].get(OURS, []), strict=False) if not hit
        })  # fmt: skip
        by = {key: rows(results, key) for key in ("class", "family")}
        said = {"results": results, **by, "missed": missed, "peers": outside_peers.versions(peers)}
        given.out.write_text(json.dumps(said, ensure_ascii=False))
    print(*(table(by[key], key) for key in by), sep="\n\n")


if __name__ == "__main__":
    main()
