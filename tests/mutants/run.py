"""`make mutants`: do the tests notice a mistake in the rooms on which the promise rests?

Two parts. `planted`: mistakes that a person chose (planted.toml), each with the tests that must fail and why.
`sampled`: mutmut changes single operators and constants in functions; a seeded sample of its mutants is run
against the tests that reach them. What survives is listed, less the mutants known to change nothing that can be
observed (equivalent.toml, each with its reason).

    python tests/mutants/run.py                      # all planted mistakes, then 200 sampled mutants
    python tests/mutants/run.py --planted accounting # only planted mistakes whose file matches
    python tests/mutants/run.py --sample 1000 --seed 7 --only hush_core/weights

Everything happens in a copy of the tracked files; the checkout is not touched. Exit status 1 where a planted
mistake survives, or a sampled mutant that equivalent.toml does not name.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SECONDS = 900
"""A test run that takes longer counts as noticed: the mistake made it hang."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--planted", metavar="PATTERN", help="only planted mistakes of files with this in the name"
    )
    parser.add_argument("--sample", type=int, default=200, help="mutants of mutmut to run (0: none)")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--only", default="", help="sample only mutants of files with this in the name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hush-mutants-") as folder:
        copy = copy_of_the_tree(Path(folder) / "hush")
        missed = run_planted(copy, options.planted or "")
        if options.planted is None and options.sample:
            missed += run_sampled(copy, options.sample, options.seed, options.only)
    return 1 if missed else 0


def copy_of_the_tree(target: Path) -> Path:
    """The tracked files, as they are now, and shared/ beside them where the checkout has it."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    if (ROOT.parent / "shared").exists():
        (target.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return target


# planted mistakes


def run_planted(copy: Path, pattern: str) -> int:
    """How many planted mistakes no test noticed."""
    mistakes = [
        m for m in tomllib.loads((HERE / "planted.toml").read_text())["mistake"] if pattern in m["file"]
    ]
    tests = sorted({test for mistake in mistakes for test in mistake["tests"]})
    if mistakes and (code := pytest(copy, tests)) != 0:
        sys.exit(f"without any mistake the tests end with {code}: mend them first\n" + " ".join(tests))
    missed = []
    for number, mistake in enumerate(mistakes, 1):
        path = copy / mistake["file"]
        text = path.read_text()
        if text.count(mistake["right"]) != 1:
            sys.exit(
                f"planted.toml: {mistake['why']}: `right` stands {text.count(mistake['right'])} times in {path}"
            )
        path.write_text(text.replace(mistake["right"], mistake["wrong"]))
        # 1: a test failed; 2: the mistake broke a module; 124: it hung. 5 (no test ran) is no verdict
        code = pytest(copy, mistake["tests"])
        path.write_text(text)
        if code == 5:
            sys.exit(f"planted.toml: {mistake['why']}: no such test: {' '.join(mistake['tests'])}")
        if code == 0:
            missed.append(mistake)
        print(
            f"{number:3}/{len(mistakes)} {'SURVIVED' if code == 0 else 'caught':8} {mistake['why']}",
            flush=True,
        )
    print(f"planted mistakes: {len(mistakes) - len(missed)} of {len(mistakes)} caught", flush=True)
    return len(missed)


def pytest(copy: Path, tests: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 124
    return done.returncode


def environment(copy: Path) -> dict[str, str]:
    """The copy comes before an installed hush, in child processes too."""
    return {**os.environ, "PYTHONPATH": f"{copy}:{copy / 'tests/support'}", "PYTHONDONTWRITEBYTECODE": "1"}


# mutants of mutmut


def run_sampled(copy: Path, size: int, seed: int, only: str) -> int:
    """How many sampled mutants survived that equivalent.toml does not name."""
    equivalent = tomllib.loads((HERE / "equivalent.toml").read_text()).get("mutant", [])
    mutmut(copy, ["hush_core.no_such_mutant"])  # makes the mutants, and learns which test reaches what
    names = sorted(name for name in verdicts(copy) if only.replace("/", ".") in name)
    chosen = random.Random(seed).sample(names, min(size, len(names)))
    mutmut(copy, chosen)
    found = {name: verdicts(copy)[name] for name in chosen}
    survived = sorted(name for name, code in found.items() if code == 0)
    unreached = sorted(name for name, code in found.items() if code in (None, 5, 33))
    known = {n for n in survived if any(fnmatch.fnmatch(n, e["name"]) for e in equivalent)}
    for name in survived:
        print(f"{'equivalent' if name in known else 'SURVIVED':10} {name}")
        if name not in known:
            show = [sys.executable, "-m", "mutmut", "show", name]
            print(
                subprocess.run(show, cwd=copy, env=environment(copy), capture_output=True, text=True).stdout
            )
    for name in unreached:
        print(f"NO TEST    {name}")
    caught, judged = len(chosen) - len(survived) - len(unreached), len(chosen) - len(known)
    print(
        f"sampled mutants: {caught} of {judged} caught ({caught / max(judged, 1):.1%}), {len(known)} equivalent, "
        f"{len(unreached)} reached by no test; {len(names)} in all, seed {seed}"
    )
    return len(survived) - len(known) + len(unreached)


def mutmut(copy: Path, names: list[str]) -> None:
    cores = str(len(os.sched_getaffinity(0)))
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", cores, *names]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)
    if not any((copy / "mutants").rglob("*.meta")):
        sys.exit("mutmut made no mutants:\n" + done.stdout[-2000:] + done.stderr[-2000:])


def verdicts(copy: Path) -> dict[str, int | None]:
    """Mutant → exit status of its tests: 1 caught, 0 survived, 33 reached by no test, None not run."""
    found: dict[str, int | None] = {}
    for meta in (copy / "mutants").rglob("*.meta"):
        found |= json.loads(meta.read_text())["exit_code_by_key"]
    return found


if __name__ == "__main__":
    sys.exit(main())
