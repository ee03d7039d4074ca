"""Credentials planted by a stranger: what hush ties to a secret, beside the other scanners, in one run.

    python lab/benchmarks/outside_recall.py --mirror FOLDER [--hosts third] [--hush CHECKOUT] [--peer NAME=ENV] ...
    python lab/benchmarks/outside_recall.py --host CELERY --host OTHER ... [--hush CHECKOUT] [--peer NAME=ENV] ...

FOLDER holds the git directories of HOSTS (or THIRD_HOSTS) as OWNER+NAME/repo, as `fetch` lays them out.

Formats are the vendors' (`outside_formats.py`, `outside_variables.py`, `outside_files.py`), styles those of
real repositories (`outside_styles.py`, `outside_split.py`), hosts real files. Nobody who writes hush's rules had a
part in it, and whoever does must not read it: it is a hold-out only as long as nothing is tuned on it.

Strict for hush: found only if EVERY byte of the value, line breaks aside, lies in an example (64 bytes) that an
edge ties to a credential, or was dropped for a credential too weak; what is covered as well when the planted
lines are crossed out does not count. Mild for the others: found if ANY line of the planting is reported. Lines
reported in files without plantings are counted as false, for all alike, but for those of private keys that lie in
the hosts' own files, and of the certificates that are proven to be of those keys (`outside_keys.py`: a committed
key is a credential by its form, and its certificate determines it). What the others are: `outside_judged.py`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import outside_peers
from outside_keys import key_lines
from outside_planting import Planting, crossed_out, host_files, plant, repository

SEEDS = {"hold-out": 20261122, "second": 971, "third": 20261123}
HOSTS = (
    "celery/celery", "psf/requests", "redis/redis", "prometheus/prometheus", "pallets/flask",
    "protocolbuffers/protobuf", "square/okhttp", "composer/composer", "sinatra/sinatra", "BurntSushi/ripgrep",
    "Alamofire/Alamofire", "JamesNK/Newtonsoft.Json", "phoenixframework/phoenix", "expressjs/express",
    "terraform-aws-modules/terraform-aws-vpc", "spring-projects/spring-petclinic", "kubernetes/examples",
    "playframework/playframework", "mojolicious/mojo",
)  # fmt: skip
"""Chosen by name, one or two a language, before hush had read them; nobody who writes rules looks at their lines.
The nineteen behind the figures of before were others, which nobody had written down."""
THIRD_HOSTS = (
    "mitmproxy/mitmproxy", "traefik/traefik", "heartcombo/devise", "knex/knex", "ory/hydra",
    "nodemailer/nodemailer", "minio/mc", "pgjdbc/pgjdbc", "slimphp/Slim", "vapor/vapor", "serilog/serilog",
    "pallets/werkzeug", "seanmonstar/reqwest", "docker/awesome-compose", "argoproj/argocd-example-apps",
    "http-kit/http-kit", "PerlDancer/Dancer", "ianstormtaylor/superstruct",
)  # fmt: skip
"""Named on 2026-11-23, when lines of the first hosts had been read (`outside_judged.md`): rules mended after
that are measured on these, of which nobody had seen a line."""
HOST_SETS = {"first": (HOSTS, ("hold-out", "second")), "third": (THIRD_HOSTS, ("third",))}
"""Hosts, and the seeds with which they have been planted."""
OURS = "hush"
Ranges = Sequence[Sequence[int]]
ROWS: list[tuple[str, Callable[[Planting], bool]]] = [
    ("all but human passwords", lambda p: p.group != "chosen"),
    ("prefix or shape, one line", lambda p: p.group == "prefixed"),
    ("– in neutral names", lambda p: p.group == "prefixed" and p.neutral and p.style != "key file"),
    ("– in telling names", lambda p: p.group == "prefixed" and not p.neutral and p.style != "key file"),
    ("no prefix, in a variable", lambda p: p.group == "named"),
    ("– in telling names", lambda p: p.group == "named" and not p.neutral),
    ("– in neutral names", lambda p: p.group == "named" and p.neutral),
    ("– over 256 bytes", lambda p: p.group == "named" and len(p.value) > 256),
    ("tools' own files", lambda p: p.group == "files"),
    ("split, joined, folded", lambda p: p.group == "split"),
    ("human passwords", lambda p: p.group == "chosen"),
]


def covered(text: bytes, span: tuple[int, int], ranges: Ranges, crossed: Ranges) -> bool:
    """Every byte of `span` but line breaks lies in one of `ranges` and in none of `crossed`."""
    mine, theirs = _near(ranges, span), _near(crossed, span)
    return all(
        text[i] in b"\r\n" or (any(s <= i < e for s, e in mine) and not any(s <= i < e for s, e in theirs))
        for i in range(*span)
    )


def _near(ranges: Ranges, span: tuple[int, int]) -> Ranges:
    return [(start, end) for start, end in ranges if start < span[1] and span[0] < end]


def hush_found(repository_: Path, checkout: Path) -> dict:
    """`outside_hush.py` in a process of its own, on that checkout."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve()), "OMP_NUM_THREADS": "1",
                       "POLARS_MAX_THREADS": "1"}  # fmt: skip
        script = Path(__file__).with_name("outside_hush.py")
        subprocess.run([sys.executable, script, repository_, out], check=True, env=environment, cwd=folder)
        return json.loads(out.read_text())


def judged(files: dict[str, str], plantings: list[Planting], found: dict, crossed: dict) -> list[str]:
    """Of each planting: `tied`, `dropped` (in part at least, for a weak credential) or `missed`."""
    said = []
    for planting in plantings:
        text = files[planting.path].encode()
        whole = [kinds.get(planting.path, []) for kinds in (found["tagged"], found["dropped"])]
        out = [r for kind in ("tagged", "dropped") for r in crossed[kind].get(planting.path, [])]
        if all(covered(text, span, whole[0], out) for span in planting.spans):
            said.append("tied")
        elif all(covered(text, span, whole[0] + whole[1], out) for span in planting.spans):
            said.append("dropped")
        else:
            said.append("missed")
    return said


def reported_lines(files: dict[str, str], found: dict) -> outside_peers.Lines:
    """Lines where a value is whole in an example; where it runs over the end of one, the line of that end.

    Of an example without either its first line. Of a chunk that was left out the line of the weak value in it.
    """
    lines: outside_peers.Lines = set()
    for path, text in files.items():
        lines.update((path, line) for line in found["lines"].get(path, []))
        values = sorted(map(tuple, found["values"].get(path, [])))
        chunks = sorted(map(tuple, found["tagged"].get(path, [])))
        starts = [0, *accumulate(len(line.encode()) + 1 for line in text.split("\n"))]
        places, apart, last = list(values), [], 0
        for start, end in chunks:
            while last < len(values) and values[last][1] <= start:
                last += 1
            if last == len(values) or values[last][0] >= end:
                apart.append((start, end))
        ends, begins = {end for _, end in apart}, {start for start, _ in apart}
        places += [(at - 1, at + 1) for at in ends & begins]
        places += [(start, start + 1) for start, end in apart if start not in ends and end not in begins]
        for start, end in places:
            first, until = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
            lines.update((path, line) for line in range(first, until + 1))
    return lines


def wilson(hits: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    """A 95 % interval of a share (Wilson 1927)."""
    if not of:
        return 0.0, 1.0
    share, scale = hits / of, 1 + z * z / of
    middle = (share + z * z / (2 * of)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def measured(hosts: list[Path], peers: dict[str, Path], checkout: Path, seed: int) -> dict:
    """Everything that the table and the JSON say of one seed; no value in it."""
    hosted = host_files(hosts, seed)
    files, plantings = plant(hosted, seed)
    clean = {path: text for path, text in hosted.items() if files[path] == text}
    keys, certificates = key_lines(clean)
    megabytes = sum(len(text.encode()) for text in clean.values()) / 1e6
    hits: dict[str, list[bool]] = {}
    facts: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "planted", files)
        crossed_tree = repository(Path(folder) / "crossed", crossed_out(files, plantings))
        found, crossed = hush_found(tree, checkout), hush_found(crossed_tree, checkout)
        said = judged(files, plantings, found, crossed)
        hits[OURS] = [how != "missed" for how in said]
        tagged = sum(
            e - s for kind in ("tagged", "dropped") for p in clean for s, e in found[kind].get(p, [])
        )
        lines = reported_lines(clean, found)
        facts[OURS] = {
            "false_lines_a_megabyte": len(lines - keys - certificates) / megabytes,
            "lines_of_private_keys": len(lines & keys),
            "lines_of_their_certificates": len(lines & certificates),
            "seconds": found["seconds"],
            "dropped_only": said.count("dropped"),
            "tagged_share_of_clean_text": tagged / megabytes / 1e6,
            "secrets": found["secrets"],
        }
        for peer, environment in peers.items():
            begin = time.perf_counter()
            try:
                lines, seconds = outside_peers.reported(peer, environment, tree)
            except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError) as error:
                facts[peer] = {
                    "failed": f"{type(error).__name__}: {error}"[:300],
                    "seconds": time.perf_counter() - begin,
                }
                continue
            hits[peer] = [
                any((p.path, i) in lines for i in range(p.lines[0], p.lines[1] + 1)) for p in plantings
            ]
            false = sum(path in clean for path, _ in lines - keys - certificates)
            facts[peer] = {"false_lines_a_megabyte": false / megabytes, "seconds": seconds,
                           "lines_of_private_keys": len(lines & keys),
                           "lines_of_their_certificates": len(lines & certificates)}  # fmt: skip
    others = [hits[peer] for peer in hits if peer != OURS]
    if others:
        hits["any peer"] = [any(each) for each in zip(*others, strict=True)]
    return {
        "seed": seed, "plantings": len(plantings), "types": len({p.type for p in plantings}),
        "styles": len({p.style for p in plantings}), "files": len(files), "megabytes_without_plantings": megabytes,
        "private_keys_lines": len(keys), "their_certificates_lines": len(certificates),
        "rows": _rows(plantings, hits), "facts": facts, "never": _never(plantings, hits),
        "peers": outside_peers.versions(peers), "not_given": sorted(set(outside_peers.RUNS) - set(peers)),
    }  # fmt: skip


def _rows(plantings: list[Planting], hits: dict[str, list[bool]]) -> list[dict]:
    rows = []
    for title, test in ROWS:
        these = [i for i, planting in enumerate(plantings) if test(planting)]
        counts = {who: sum(found[i] for i in these) for who, found in hits.items()}
        rows.append({"row": title, "plantings": len(these),
                     "found": {who: {"count": n, "share": n / max(1, len(these)), "interval": wilson(n, len(these))}
                               for who, n in counts.items()}})  # fmt: skip
    return rows


def _never(plantings: list[Planting], hits: dict[str, list[bool]]) -> dict[str, list[str]]:
    """Types, by name, of which one finder never found any planting."""
    types = sorted({planting.type for planting in plantings})
    return {
        who: [
            name
            for name in types
            if not any(f for f, p in zip(found, plantings, strict=True) if p.type == name)
        ]
        for who, found in hits.items()
    }


def table(result: dict) -> str:
    """Markdown: shares in percent with 95 % intervals, then false lines a megabyte and seconds."""
    who = list(result["rows"][0]["found"])
    lines = ["| " + " | ".join(["", "plantings", *who]) + " |", "|" + "---|" * (len(who) + 2)]
    for row in result["rows"]:
        cells = [
            f"{100 * f['share']:.1f} ({100 * f['interval'][0]:.0f}–{100 * f['interval'][1]:.0f})"
            for f in row["found"].values()
        ]
        lines.append("| " + " | ".join([row["row"], str(row["plantings"]), *cells]) + " |")
    for title, key in (("false lines a MB", "false_lines_a_megabyte"), ("seconds", "seconds")):
        cells = [f"{result['facts'].get(name, {}).get(key, float('nan')):.1f}" for name in who]
        lines.append("| " + " | ".join([title, "", *cells]) + " |")
    return "\n".join(lines).replace("nan", "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--host", type=Path, action="append", default=[], help="a git directory; celery's first"
    )
    parser.add_argument("--mirror", type=Path, help="where the git directories of the hosts lie")
    parser.add_argument("--hosts", choices=HOST_SETS, default="first", help="which hosts of the mirror")
    parser.add_argument(
        "--hush", type=Path, default=Path(__file__).parents[2], help="the checkout that is measured"
    )
    parser.add_argument("--peer", action="append", default=[], help="NAME=ENVIRONMENT, see outside_peers.py")
    parser.add_argument("--seed", default="hold-out", help="hold-out, second, third, or a number")
    parser.add_argument(
        "--names", action="store_true", help="print the types never found; never to who writes rules"
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    peers = {name: Path(path) for name, path in (word.split("=", 1) for word in given.peer)}
    hosts = given.host + (
        [given.mirror / name.replace("/", "+") / "repo" for name in HOST_SETS[given.hosts][0]]
        if given.mirror
        else []
    )
    if missing := [str(host) for host in hosts if not host.is_dir()] or not hosts:
        parser.error(f"no such git directory: {missing}" if hosts else "give --mirror, or --host")
    result = measured(hosts, peers, given.hush, SEEDS.get(given.seed) or int(given.seed))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1))
    said = "{plantings} plantings, {types} types, {styles} styles, seed {seed}"
    print(said.format(**result))
    print(table(result))
    print("hush:", json.dumps(result["facts"][OURS]))
    print(
        "left out:",
        ", ".join(result["not_given"]) or "none",
        {k: v for k, v in result["facts"].items() if "failed" in v},
    )
    print("types never found:", {who: len(names) for who, names in result["never"].items()})
    if given.names:
        print(json.dumps(result["never"], indent=1))


if __name__ == "__main__":
    main()
