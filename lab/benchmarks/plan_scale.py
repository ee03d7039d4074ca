"""What `hush plan` costs at the size of a company's repository: 50,000 real files, 500 secrets, in seconds.

The files are those of the packages installed beside this interpreter (real code, by many hands), committed to one
git repository. Secrets: every sixth package's folder is a team's (CODEOWNERS), every sixth a path entry, both with
copies and direct importers taken in as by default (not with --exact); 100 planted codenames with heavy-tailed
places (Pareto, 0.9) and whatever credentials stand there. Then `hush plan` as a user runs it, in an empty
HUSH_HOME: extraction, the sweep of c under the method of the config and the paper's, what relaxing would buy,
picture and tracker. Printed: seconds of the whole command and of each step, and of a second plan, which finds all
but the report in the store.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES, CODENAMES, LARGEST = 50_000, 100, 256 * 1024
TARGET_SECONDS = 60
CONFIG = """\
version: 1
repos: [{{path: mono.git, rev: main}}]
levels: {{critical: 1.0e-5, high: 2.0e-4, normal: 1.0e-3}}
secrets:
  - {{id: codenames, kind: literals, file: codenames.txt, bits: 30, level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: high, weak: drop, protect: noise}}
{entries}
weights: {{c: 0.3}}
train: {{rounds: 2000, batch: 512}}
tracking: {{experiment: plan, model: plan}}
"""


def real_files(most: int) -> list[tuple[str, Path]]:
    """(path in the repository, file) of files of installed packages and the standard library."""
    found = []
    for top in (Path(sysconfig.get_paths()["purelib"]), Path(sysconfig.get_paths()["stdlib"])):
        for path in sorted(top.rglob("*")):
            inside = "site-packages" in path.relative_to(top).parts or "__pycache__" in path.parts
            if path.is_file() and not inside and not path.is_symlink() and path.stat().st_size <= LARGEST:
                found.append((str(path.relative_to(top)), path))
    unique = dict(found)
    return sorted(random.Random(0).sample(sorted(unique.items()), min(most, len(unique))))


def parts(files: list[tuple[str, Path]], most: int, size: int) -> list[tuple[str, bytes]]:
    """(path, content) of the files, cut into files of `size` bytes as most repositories' are; `most` of them."""
    found = []
    for path, file in files:
        stem, dot, suffix = path.rpartition(".")
        data = file.read_bytes()
        for n, start in enumerate(range(0, max(len(data), 1), size)):
            name = path if len(data) <= size else f"{stem}_{n}{dot}{suffix}"
            found.append((name, data[start : start + size]))
    return sorted(random.Random(2).sample(found, min(most, len(found))))


def build(folder: Path, files: int, size: int, exact: bool) -> tuple[int, int]:
    """The repository, the codenames and the config; returns the number of files, and of bytes."""
    chance = random.Random(1)
    chosen = parts(real_files(files), files, size)
    names = ["zephyr" + "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=8)) for _ in range(CODENAMES)]
    planted: dict[int, list[str]] = {}
    for name in names:
        for place in chance.sample(range(len(chosen)), min(len(chosen), int(chance.paretovariate(0.9)))):
            planted.setdefault(place, []).append(name)
    tops = sorted({path.split("/")[0] for path, _ in chosen if "/" in path})
    owners = "".join(f"/{top}/ @acme/{top}\n" for top in tops[::6])
    repository = folder / "mono.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    command = ["git", "-C", str(repository), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(b"commit refs/heads/main\ncommitter a <a@example.org> 0 +0000\ndata 4\nall\n\n")
        for place, (path, data) in enumerate(chosen):
            body = data + "".join(f"\n# {name}\n" for name in planted.get(place, ())).encode()
            child.stdin.write(f'M 100644 inline "{path}"\ndata {len(body)}\n'.encode() + body + b"\n")
        child.stdin.write(f"M 100644 inline CODEOWNERS\ndata {len(owners)}\n{owners}\n".encode())
    assert child.returncode == 0
    (folder / "codenames.txt").write_text("\n".join(names) + "\n")
    kinds = [f'kind: codeowners, teams: ["@acme/{top}"], level: high' for top in tops[::6]]
    kinds += [f'kind: path, globs: ["{top}/**"], level: normal' for top in tops[3::6]]
    spread = ", spread: {imports: 0, copies: false}" if exact else ""
    entries = "\n".join(f"  - {{id: e{i}, {kind}{spread}, protect: noise}}" for i, kind in enumerate(kinds))
    (folder / "job.yaml").write_text(CONFIG.format(entries=entries))
    return len(chosen), sum(len(data) for _, data in chosen)


def plan(folder: Path) -> dict:
    """One `hush plan`, as a user runs it: seconds in all and by step, and what it found."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    environment = {**kept, "HUSH_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "plan", str(folder / "job.yaml")],
        env=environment, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return {"seconds": seconds, "steps": steps(done.stderr + done.stdout), "output": done.stdout}


def steps(log: str) -> dict[str, float]:
    """Wall seconds from one end of a kind of task to the next; sums to the flow."""
    ends = re.findall(r"(\d\d:\d\d:\d\d\.\d+) \| \w+ +\| Task run '([a-z-]+)-\w+' - Finished", log)
    (first,) = re.findall(r"(\d\d:\d\d:\d\d\.\d+) \| \w+ +\| Flow run '[\w-]+' - Beginning", log)
    last, spent = datetime.strptime(first, "%H:%M:%S.%f"), {}
    for stamp, name in ends:
        now = datetime.strptime(stamp, "%H:%M:%S.%f")
        spent[name] = spent.get(name, 0.0) + (now - last).total_seconds() % 86400
        last = now
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument(
        "--bytes", type=int, default=LARGEST, help="longer files are cut; 4096: 3 kB in the mean"
    )
    parser.add_argument("--exact", action="store_true", help="no near copies and no importers")
    parser.add_argument(
        "--folder", type=Path, help="build and keep everything here; used again if it is there"
    )
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "job.yaml").exists():
            files, size = build(folder, arguments.files, arguments.bytes, arguments.exact)
            print(f"{files:,} files of installed packages committed, {size / 1e6:.0f} MB", flush=True)
        shutil.rmtree(folder / "home", ignore_errors=True)
        first, second = plan(folder), plan(folder)
        print(first["output"].strip())
    print(f"\nhush plan: {first['seconds']:.1f} s (target {TARGET_SECONDS} s); by step, in seconds:", end=" ")
    print(", ".join(f"{name} {seconds:.1f}" for name, seconds in first["steps"].items()))
    print(f"again: {second['seconds']:.1f} s")
    if arguments.out:
        arguments.out.write_text(json.dumps({"first": first, "second": second}, indent=2) + "\n")


if __name__ == "__main__":
    main()
