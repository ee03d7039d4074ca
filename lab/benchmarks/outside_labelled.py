"""Real files with labels of others: leaky-repo's counts of risk lines, and CredData's labelled lines.

    python lab/benchmarks/outside_labelled.py [--creddata GIT --mirror FOLDER] [--leaky GIT] [--part tune]
        [--hush CHECKOUT] [--peer NAME=ENV] ... [--out FILE.json]

CredData (Samsung/CredData) names a commit, a file, lines and columns of each label. Of every repository that
`fetch` has brought (FOLDER/OWNER+NAME/repo) the labelled files are read as they are: nobody's values are replaced.
Labels `T` are credentials, `F` and `X` are not. Files are split by a hash of their name: `tune` for those who write
rules, `hold-out` for nobody. Nothing of either set is ever committed to ours.

A label is found by others if one of its lines is reported. By hush: `found` if a byte of the value lies in an
example that an edge ties to a credential, or that is left out for one too weak; `whole` if every byte does.
`without_ids` leaves out labels of the category UUID, which are ids of objects. `reasons`: what hush's filters take
the values for that it does not find.

leaky-repo gives a number of risk lines a file: the lines reported there, at most that many, count (its own way).
"""

import argparse
import csv
import hashlib
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from zlib import crc32

import outside_peers
from outside_planting import git, repository
from outside_recall import OURS, covered, hush_found, reported_lines, wilson

LARGEST = 100_000  # characters of a labelled file; above it are dumps that take some tools many minutes
IDS = "UUID"


def part_of(path: str) -> str:
    """`tune` or `hold-out`, half and half, by the file's name alone."""
    return "tune" if hashlib.sha256(path.encode()).digest()[0] % 2 else "hold-out"


def labelled(creddata: Path, mirror: Path, part: str) -> tuple[dict[str, str], list[dict]]:
    """Text by path, and the labels, of one part; files that are not UTF-8, or large, are left out."""
    files: dict[str, str] = {}
    labels = []
    for repo, url in json.loads(git(creddata, "show", "HEAD:snapshot.json")).items():
        source, commit = mirror / "+".join(url.split("/")[-2:]) / "repo", repo[:40]
        if not source.is_dir():
            continue
        table = git(creddata, "show", f"HEAD:meta/{crc32(bytes.fromhex(repo)):08x}.csv").decode()
        rows = list(csv.DictReader(table.splitlines()))
        paths = {}
        for name in git(source, "ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")[:-1]:
            paths[hashlib.sha256(name).hexdigest()[:8]] = name.decode("utf-8", "surrogateescape")
        for file in {row["FileID"] for row in rows} & paths.keys():
            path = f"{url.split('/')[-1]}/{paths[file]}"
            data = (
                git(source, "cat-file", "blob", f"{commit}:{paths[file]}") if part_of(path) == part else b""
            )
            try:  # CredData counts lines by any kind of line break
                text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
            except UnicodeDecodeError:
                continue
            if 0 < len(text) <= LARGEST:
                files[path] = text
                labels += [row | {"path": path} for row in rows if row["FileID"] == file]
    return files, labels


def span(text: str, row: dict) -> tuple[int, int]:
    """The labelled value in bytes; the lines where the label gives no columns."""
    lines = text.split("\n")
    first, last = int(row["LineStart"]) - 1, int(row["LineEnd"]) - 1
    before = sum(len(line.encode()) + 1 for line in lines[:first])
    until = sum(len(line.encode()) + 1 for line in lines[:last])
    start, end = (int(row[key]) if row[key] else -1 for key in ("ValueStart", "ValueEnd"))
    start = len(lines[first][: max(start, 0)].encode())
    end = len((lines[last] if end < 0 else lines[last][:end]).encode())
    return before + start, until + end


def measure_creddata(creddata: Path, mirror: Path, part: str, peers: dict[str, Path], checkout: Path) -> dict:
    files, labels = labelled(creddata, mirror, part)
    spans = [span(files[row["path"]], row) for row in labels]
    known = {
        (row["path"], n) for row in labels for n in range(int(row["LineStart"]), int(row["LineEnd"]) + 1)
    }
    true = [row["GroundTruth"] == "T" for row in labels]
    result: dict = {"part": part, "files": len(files), "true": sum(true), "false": len(true) - sum(true),
                    "repositories": len({path.split("/")[0] for path in files}), "who": {}}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "labelled", files)
        found = hush_found(tree, checkout)
        ranges = [
            [r for kind in ("tagged", "dropped") for r in found[kind].get(row["path"], [])] for row in labels
        ]
        places = list(zip(spans, ranges, strict=True))
        hits = [any(a < end and start < b for a, b in each) for (start, end), each in places]
        result["who"][OURS] = _said(labels, hits, reported_lines(files, found) - known, found["seconds"])
        result["who"][OURS]["whole"] = sum(
            covered(files[row["path"]].encode(), at, each, [])
            for row, at, each, is_true in zip(labels, spans, ranges, true, strict=True) if is_true
        )  # fmt: skip
        missed = [row for row, hit, is_true in zip(labels, hits, true, strict=True) if is_true and not hit]
        result["who"][OURS]["reasons"] = reasons(files, missed)
        for peer, environment in peers.items():
            print(f"{peer} ...", file=sys.stderr, flush=True)
            lines, seconds = outside_peers.reported(peer, environment, tree, limit=3600)
            hits = [any((row["path"], n) in lines for n in range(int(row["LineStart"]), int(row["LineEnd"]) + 1))
                    for row in labels]  # fmt: skip
            result["who"][peer] = _said(labels, hits, lines - known, seconds)
    return result


def _said(labels: list[dict], hits: list[bool], others: set, seconds: float) -> dict:
    true = [hit for row, hit in zip(labels, hits, strict=True) if row["GroundTruth"] == "T"]
    no_ids = [hit for row, hit in zip(labels, hits, strict=True)
              if row["GroundTruth"] == "T" and row["Category"] != IDS]  # fmt: skip
    return {
        "found": sum(true),
        "share": sum(true) / max(1, len(true)),
        "interval": wilson(sum(true), len(true)),
        "without_ids": [sum(no_ids), len(no_ids)],
        "false_labels_reported": sum(hits) - sum(true),
        "unlabelled_lines_reported": len(others),
        "seconds": seconds,
    }


def reasons(files: dict[str, str], missed: list[dict]) -> dict[str, int]:
    """How many of these labels each filter takes away: of a value that several judge, the first by the alphabet."""
    from hush_core.secrets.detectors.credential_scanner import CredentialScanner
    from hush_core.secrets.detectors.why import why

    scanner, found = CredentialScanner(), Counter()
    for row in missed:
        said = sorted({one.what for one in why(files[row["path"]].encode(), int(row["LineStart"]), scanner)})
        found[
            "an id of an object (UUID)" if row["Category"] == IDS else said[0] if said else "no rule looks"
        ] += 1
    return dict(found.most_common())


def measure_leaky(leaky: Path, peers: dict[str, Path], checkout: Path) -> dict:
    """Risk lines found of those that leaky-repo's own list counts, by its own way of counting."""
    table = git(leaky, "show", "HEAD:.leaky-meta/secrets.csv").decode()
    counted = [row for row in csv.reader(table.splitlines()) if len(row) == 3 and row[1].isdigit()]
    risks = {name: int(risk) for name, risk, _ in counted}
    files = {}
    for name in risks:
        files[name] = git(leaky, "show", f"HEAD:{name}").decode("utf-8", "replace")
    result: dict = {"risk_lines": sum(risks.values()), "files": len(files), "found": {}}
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "leaky", files)
        who = {OURS: reported_lines(files, hush_found(tree, checkout))}
        who |= {
            peer: outside_peers.reported(peer, environment, tree)[0] for peer, environment in peers.items()
        }
    for name, lines in who.items():
        result["found"][name] = sum(
            min(risk, sum(p == path for p, _ in lines)) for path, risk in risks.items()
        )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--creddata", type=Path)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--leaky", type=Path)
    parser.add_argument("--part", choices=["tune", "hold-out"], default="hold-out")
    parser.add_argument("--hush", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    peers = {name: Path(path) for name, path in (word.split("=", 1) for word in given.peer)}
    result = {}
    if given.leaky:
        result["leaky-repo"] = measure_leaky(given.leaky, peers, given.hush)
    if given.creddata:
        result["creddata"] = measure_creddata(given.creddata, given.mirror, given.part, peers, given.hush)
    json.dump(result, given.out.open("w") if given.out else sys.stdout, indent=1)


if __name__ == "__main__":
    main()
