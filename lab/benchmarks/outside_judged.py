"""What the lines are that scanners report in a stranger's files without plantings: a sample, read and judged.

    python lab/benchmarks/outside_judged.py draw --mirror FOLDER --peer betterleaks=ENV --work WORK [--hosts third]
    python lab/benchmarks/outside_judged.py join --work WORK      # WORK/verdicts.txt: number, verdict, kind
    python lab/benchmarks/outside_judged.py [--hosts third]       # the table

`outside_recall.py` counts these lines as false, as nobody had labelled the hosts. `outside_judged.md` says how they
are judged, and was written first. `draw` writes WORK/sample.txt, in random order and without the tools' names, for
whoever judges, and WORK/key.json, which is opened by `join` alone. WORK holds values, what is kept does not.
"""

import argparse
import csv
import json
import random
import re
import tempfile
from collections import Counter
from pathlib import Path

import outside_peers
from outside_keys import key_lines
from outside_planting import git, host_files, plant, repository
from outside_recall import HOST_SETS, OURS, SEEDS, hush_found, reported_lines
from scipy.stats import beta

RESULTS = Path(__file__).with_name("results")
DRAWN = {OURS: 150, "betterleaks": 60}
VERDICTS = ("credential", "unclear", "public", "none")
SEED, AROUND = 16, 6


def clopper_pearson(hits: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, hits / of, for independent draws (Clopper and Pearson 1934)."""
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, of - hits + 1)) if hits else 0.0
    return low, float(beta.ppf(1 - tail, hits + 1, of - hits)) if hits < of else 1.0


def kept(which: str, ending: str) -> Path:
    """What is kept of the lines of these hosts: `csv`, a row a line; `json`, what it was drawn from."""
    return RESULTS / f"outside_judged{'' if which == 'first' else f'_{which}'}.{ending}"


def draw(mirror: Path, which: str, checkout: Path, peers: dict[str, Path], work: Path) -> None:
    """All seeds' lines that count as false, a sample of each tool's, and the files around them."""
    names, seeds = HOST_SETS[which]
    hosts = [mirror / name.replace("/", "+") / "repo" for name in names]
    texts: dict[str, str] = {}
    sizes: dict[str, float] = {}
    frame: dict[str, dict[str, set]] = {tool: {} for tool in (OURS, *peers)}
    marks: list[tuple[str, int, int]] = []
    for name in seeds:
        hosted = host_files(hosts, SEEDS[name])
        planted, _ = plant(hosted, SEEDS[name])
        clean = {path: text for path, text in hosted.items() if planted[path] == text}
        proven = set().union(*key_lines(clean))
        sizes[name] = sum(len(text.encode()) for text in clean.values()) / 1e6
        texts |= clean
        with tempfile.TemporaryDirectory() as folder:
            tree = repository(Path(folder) / "planted", planted)
            found = hush_found(tree, checkout)
            frame[OURS][name] = reported_lines(clean, found) - proven
            marks += [
                (p, *span) for how in ("tagged", "dropped") for p in clean for span in found[how].get(p, [])
            ]
            for peer, environment in peers.items():
                lines, _ = outside_peers.reported(peer, environment, tree)
                frame[peer][name] = {(path, line) for path, line in lines - proven if path in clean}
    sizes["both"] = sum(len(text.encode()) for text in texts.values()) / 1e6
    chance, sample = random.Random(SEED), {}
    for tool, found_by in frame.items():
        found_by["both"] = set().union(*found_by.values())
        for line in chance.sample(sorted(found_by["both"]), min(DRAWN[tool], len(found_by["both"]))):
            sample.setdefault(line, {})[tool] = [name for name in seeds if line in found_by[name]]
    order = sorted(sample)
    chance.shuffle(order)
    rows, pages = [], []
    for number, (path, line) in enumerate(order):
        host, inside = _origin(path, texts[path], hosts, names)
        before = sum(len(each.encode()) + 1 for each in texts[path].split("\n")[: line - 1])
        until = before + len(texts[path].split("\n")[line - 1].encode())
        marked = any(p == path and start < until and before < end for p, start, end in marks)
        rows.append({"host": names[host], "commit": git(hosts[host], "rev-parse", "HEAD").decode().strip(),
                     "path": inside, "line": line, "marked": "yes" if marked else "no",
                     **{tool: " ".join(sample[path, line].get(tool, [])) for tool in frame}})  # fmt: skip
        pages.append(f"##{number} {names[host]} {inside}:{line}\n{_around(texts[path], line)}\n")
    work.mkdir(parents=True, exist_ok=True)
    (work / "sample.txt").write_text("\n".join(pages))
    commit = git(checkout, "rev-parse", "--short", "HEAD").decode().strip()
    lines = {tool: {name: len(each) for name, each in by.items()} for tool, by in frame.items()}
    files = {tool: Counter(p for p, _ in by["both"]).most_common(3) for tool, by in frame.items()}
    facts = {"hosts": which, "commit": commit, "peers": outside_peers.versions(peers), "megabytes": sizes,
             "lines": lines, "files_with_most": files}  # fmt: skip
    (work / "key.json").write_text(json.dumps({"facts": facts, "rows": rows}))


def _origin(path: str, text: str, hosts: list[Path], names: tuple[str, ...]) -> tuple[int, str]:
    """The host (its number) and the path there of a file of the planted tree."""
    for number, name in reversed(list(enumerate(names))):
        inside = path.removeprefix(name.split("/")[-1] + "/") if number else path
        if (not number or inside != path) and git(hosts[number], "cat-file", "blob", f"HEAD:{inside}",
                                                  missing=True).decode("utf-8", "replace") == text:  # fmt: skip
            return number, inside
    raise ValueError(f"{path}: no host has it")


def _around(text: str, line: int) -> str:
    near = list(enumerate(text.split("\n"), 1))[max(0, line - 1 - AROUND) : line + AROUND]
    return "\n".join(f"{'>' if at == line else ' '} {words[:400]}" for at, words in near)


def join(work: Path) -> None:
    """Verdicts, written down blind, put beside the tools; what is kept holds no text of any file."""
    key = json.loads((work / "key.json").read_text())
    said = dict(re.findall(r"^(\d+) (.+)$", (work / "verdicts.txt").read_text(), re.M))
    which = key["facts"].get("hosts", "first")
    with kept(which, "csv").open("w", newline="") as out:
        rows = [{**row, "verdict": said[str(i)].split()[0], "kind": " ".join(said[str(i)].split()[1:])}
                for i, row in enumerate(key["rows"])]  # fmt: skip
        if wrong := {row["verdict"] for row in rows} - set(VERDICTS):
            raise SystemExit(f"no such verdict: {sorted(wrong)}")
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    kept(which, "json").write_text(json.dumps(key["facts"], indent=1) + "\n")


def shares(rows: list[dict], facts: dict, tool: str, part: str) -> dict:
    """Of one tool on one seed (or `both`): counts by verdict, and of lines that hold a credential, and that hold
    none (unclear ones included, and not), hits, share and interval; `rate`: reported lines a MB."""
    mine = [row for row in rows if row[tool] and (part == "both" or part in row[tool].split())]
    counts = Counter(row["verdict"] for row in mine)
    wrong = counts["public"] + counts["none"]
    hits = {"credential": counts["credential"], "strict": wrong + counts["unclear"], "mild": wrong}
    return {
        "rate": facts["lines"][tool][part] / facts["megabytes"][part], "read": len(mine), "counts": counts,
        "rest": Counter((row["verdict"], row["kind"]) for row in mine if row["verdict"] != "credential"),
        **{name: (n / len(mine), *clopper_pearson(n, len(mine))) for name, n in hits.items()},
    }  # fmt: skip


def table(rows: list[dict], facts: dict) -> str:
    """Markdown: a row a tool and seed, 95 % intervals in brackets; then what the rest is."""
    head = ["", "lines a MB", "read", "credential, %", *VERDICTS[1:], "no credential, a MB", "so for certain"]
    lines, rest = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)], []
    for tool in facts["lines"]:
        parts = list(facts["lines"][tool])
        for part in parts if len(parts) > 2 else parts[:1]:
            said = shares(rows, facts, tool, part)
            share = "{:.0f} ({:.0f}–{:.0f})".format(*(100 * x for x in said["credential"]))
            wrong = [[said["rate"] * x for x in said[name]] for name in ("strict", "mild")]
            wrong = ["{:.1f} ({:.1f}–{:.1f})".format(*three) for three in wrong]
            counts = [said["counts"][verdict] for verdict in VERDICTS[1:]]
            cells = [f"{tool}, {part}", f"{said['rate']:.1f}", said["read"], share, *counts, *wrong]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        kinds = (f"{n} {verdict}: {kind}" for (verdict, kind), n in said["rest"].most_common())
        rest.append(f"{tool}, the rest: {', '.join(kinds)}")
        true = [row["marked"] for row in rows if row[tool] and row["verdict"] == "credential"]
        rest.append(
            f"{tool}, credentials: {len(true)}; hush marks text of {true.count('yes')} of these lines"
        )
    return "\n".join([*lines, "", *rest])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", nargs="?", default="table", choices=["draw", "join", "table"])
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--hosts", choices=HOST_SETS, default="first", help="which hosts of the mirror")
    parser.add_argument("--hush", type=Path, default=Path(__file__).parents[2], help="the checkout")
    parser.add_argument("--peer", action="append", default=[], help="NAME=ENVIRONMENT")
    parser.add_argument("--work", type=Path, help="a folder of your own: it holds text of the hosts")
    given = parser.parse_args()
    if given.step == "draw":
        peers = {word.split("=", 1)[0]: Path(word.split("=", 1)[1]) for word in given.peer}
        draw(given.mirror, given.hosts, given.hush, peers, given.work)
    elif given.step == "join":
        join(given.work)
    else:
        facts = json.loads(kept(given.hosts, "json").read_text())
        print(table(list(csv.DictReader(kept(given.hosts, "csv").open())), facts))


if __name__ == "__main__":
    main()
