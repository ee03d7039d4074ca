"""Real files with labels of others: leaky-repo's counts of risk lines, and CredData's labelled lines.

    python lab/benchmarks/outside_labelled.py prepare --creddata GIT --mirror FOLDER --python ENV --work WORK
    python lab/benchmarks/outside_labelled.py measure --work WORK [--leaky GIT] [--part hold-out] [--peer NAME=ENV]

`prepare` lays out the labelled files of every repository that `fetch` has brought (FOLDER/OWNER+NAME/repo), at the
commit that CredData names, and has CredData's own scripts obfuscate the values (an environment with pybase62).
Files are split by a hash of their name: `tune` for those who write rules, `hold-out` for nobody. Nothing of either
set is ever committed to ours.

leaky-repo gives a number of risk lines a file: the lines reported there, at most that many, count (its own way).
CredData: a label is found by others if one of its lines is reported; by hush if every byte of the value (of the
lines, where the label gives no columns) is covered. Labels `T` are credentials, `F` and `X` are not.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from zlib import crc32

import outside_peers
from outside_planting import git, repository
from outside_recall import OURS, covered, hush_found, reported_lines, wilson

LARGEST = 100_000  # characters of a labelled file; above it are dumps that take some tools many minutes
SCRIPT = """\
import json, os
import download_data
from obfuscate_creds import obfuscate_creds
for repo, url in json.load(open("snapshot.json")).items():
    try:
        download_data.move_files({repo: url}, "data")
    except (RuntimeError, AssertionError) as error:
        print("left out:", url, error)
        name = "meta/" + download_data.get_new_repo_id(repo)
        os.rename(name + ".csv", name + ".bad")
obfuscate_creds("meta", "data", 0)
"""


def prepare(creddata: Path, mirror: Path, environment: Path, work: Path) -> None:
    """WORK/data: CredData's files, obfuscated; WORK/meta: the labels of the repositories that are complete."""
    work.mkdir(parents=True)
    names = git(creddata, "ls-tree", "-r", "--name-only", "HEAD").decode().split()
    for name in names:
        if name.startswith("meta/") or ("/" not in name and name.endswith((".py", ".json"))):
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_bytes(git(creddata, "show", f"HEAD:{name}"))
    snapshot, kept = json.loads((work / "snapshot.json").read_text()), {}
    for repo, url in snapshot.items():
        labels = work / "meta" / f"{crc32(bytes.fromhex(repo)):08x}.csv"
        source = mirror / "+".join(url.split("/")[-2:]) / "repo"
        if source.is_dir() and _laid_out(source, repo[:40], _rows(labels), work / "tmp" / repo):
            kept[repo] = url
        else:
            labels.unlink(missing_ok=True)
    (work / "snapshot.json").write_text(json.dumps(kept))
    subprocess.run([environment / "bin/python", "-c", SCRIPT], cwd=work, check=True)
    print(f"{len(kept)} of {len(snapshot)} repositories laid out")


def _rows(labels: Path) -> list[dict]:
    with labels.open(newline="") as lines:
        return list(csv.DictReader(lines))


def _laid_out(source: Path, commit: str, rows: list[dict], folder: Path) -> bool:
    """Every labelled file of `commit` (CredData names a file by a hash of its path); False if one is missing."""
    wanted = {row["FileID"] for row in rows}
    names = git(source, "ls-tree", "-r", "-z", "--name-only", commit, missing=True).split(b"\0")[:-1]
    for name in names:
        path = name.decode("utf-8", "surrogateescape")
        if hashlib.sha256(name).hexdigest()[:8] in wanted:
            data = git(source, "cat-file", "blob", f"{commit}:{path}", missing=True)
            if data:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
                wanted.discard(hashlib.sha256(name).hexdigest()[:8])
    return bool(rows) and not wanted


def part_of(path: str) -> str:
    """`tune` or `hold-out`, half and half, by the file's name alone."""
    return "tune" if hashlib.sha256(path.encode()).digest()[0] % 2 else "hold-out"


def labelled(work: Path, part: str) -> tuple[dict[str, str], list[dict]]:
    """Text by path, and the labels, of one part; files that are not UTF-8, or large, are left out."""
    files: dict[str, str] = {}
    labels, large = [], set()
    for table in sorted((work / "meta").glob("*.csv")):
        for row in _rows(table):
            path = row["FilePath"].removeprefix("data/")
            if part_of(path) != part or path in large:
                continue
            if path not in files:
                try:
                    files[path] = (work / "data" / path).read_bytes().decode()
                except (UnicodeDecodeError, FileNotFoundError):
                    continue
                if len(files[path]) > LARGEST:
                    large.add(path)
                    del files[path]
                    continue
            labels.append(row | {"path": path})
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


def measure_creddata(work: Path, part: str, peers: dict[str, Path], checkout: Path) -> dict:
    files, labels = labelled(work, part)
    true = [row for row in labels if row["GroundTruth"] == "T"]
    false = [row for row in labels if row["GroundTruth"] != "T"]
    known = {
        (row["path"], n) for row in labels for n in range(int(row["LineStart"]), int(row["LineEnd"]) + 1)
    }
    result: dict = {"part": part, "files": len(files), "true": len(true), "false": len(false),
                    "repositories": len({path.split("/")[0] for path in files}), "who": {}}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "labelled", files)
        found = hush_found(tree, checkout)

        def by_hush(row: dict) -> bool:
            ranges = [r for kind in ("tagged", "dropped") for r in found[kind].get(row["path"], [])]
            text = files[row["path"]]
            return covered(text.encode(), span(text, row), ranges, [])

        ours = reported_lines(files, found)
        hits = [by_hush(row) for row in true]
        result["who"][OURS] = _said(hits, [_on(row, ours) for row in false], ours - known, found["seconds"])
        result["who"][OURS]["found_as_mildly_as_the_others"] = sum(_on(row, ours) for row in true)
        for peer, environment in peers.items():
            print(f"{peer} ...", file=sys.stderr, flush=True)
            lines, seconds = outside_peers.reported(peer, environment, tree, limit=3600)
            hits = [_on(row, lines) for row in true]
            result["who"][peer] = _said(hits, [_on(row, lines) for row in false], lines - known, seconds)
    return result


def _on(row: dict, lines: outside_peers.Lines) -> bool:
    return any((row["path"], n) in lines for n in range(int(row["LineStart"]), int(row["LineEnd"]) + 1))


def _said(hits: list[bool], wrong: list[bool], others: set, seconds: float) -> dict:
    return {
        "found": sum(hits),
        "share": sum(hits) / max(1, len(hits)),
        "interval": wilson(sum(hits), len(hits)),
        "false_labels_reported": sum(wrong),
        "unlabelled_lines_reported": len(others),
        "seconds": seconds,
    }


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
    parser.add_argument("what", choices=["prepare", "measure"])
    parser.add_argument("--work", type=Path, help="made by `prepare`; outside of any checkout")
    parser.add_argument("--creddata", type=Path)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--leaky", type=Path)
    parser.add_argument("--part", choices=["tune", "hold-out"], default="hold-out")
    parser.add_argument("--hush", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "prepare":
        return prepare(given.creddata, given.mirror, given.python, given.work)
    peers = {name: Path(path) for name, path in (word.split("=", 1) for word in given.peer)}
    result = {}
    if given.leaky:
        result["leaky-repo"] = measure_leaky(given.leaky, peers, given.hush)
    if given.work:
        result["creddata"] = measure_creddata(given.work, given.part, peers, given.hush)
    json.dump(result, given.out.open("w") if given.out else sys.stdout, indent=1)
    if given.out:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
