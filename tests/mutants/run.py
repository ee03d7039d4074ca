"""`make mutants`: do the tests notice a mistake in the rooms on which the promise rests?

Two parts. `planted`: mistakes that a person chose (planted.toml), each with the tests that must fail and why.
`sampled`: mutmut changes single operators, constants, arguments and conditions in functions; a sample of its
mutants, fixed by the seed, is run against the tests that reach the changed statement, the quickest first. What
survives is listed, less the mutants known to change nothing that can be observed (equivalent.toml, each with its
reason). Mutants that change only what a person is told are not drawn (made.py says which).

    python tests/mutants/run.py                      # all planted mistakes, then 200 sampled mutants
    python tests/mutants/run.py --planted accounting # only planted mistakes whose file matches
    python tests/mutants/run.py --sample 1000 --seed 7 --only hush_core/weights

The tests are those that `make test` runs: what is marked slow catches nothing here. Everything happens in copies of
the tracked files; the checkout is not touched. Exit status 1 where a planted mistake survives, or a sampled mutant
that equivalent.toml does not name.
"""

import argparse
import fnmatch
import json
import math
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from made import Mutant, candidates, sample

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
SECONDS = 900
"""Processor time. A test run that takes longer counts as noticed: the mistake made it hang."""
PLANTED_SECONDS = 60
"""The same for a planted mistake's own tests; one that waits for ever is ended after ten times that."""
BUDGET = "processor seconds of tests against a sampled mutant, quickest first: more can only raise the score"
MISSED = ("SURVIVED", "NO TEST")
PATIENCE, SLOWER = 120.0, 10.0
"""A sampled mutant may take this much processor time, and this many times what its tests take without it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--planted", metavar="PATTERN", help="only planted mistakes of files with this in the name"
    )
    parser.add_argument("--sample", type=int, default=200, help="mutants of mutmut to run (0: none)")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument(
        "--only",
        nargs="+",
        default=[""],
        help="sample only mutants of these names, or with this in the file's",
    )
    parser.add_argument("--skip-planted", action="store_true", help="only sampled mutants")
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes that run tests"
    )
    parser.add_argument("--budget", type=float, default=60.0, help=BUDGET)
    parser.add_argument("--reach", type=Path, help="keep here what the tests reach, or take it from here")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="hush-mutants-") as folder,
        judges(Path(folder), options.jobs) as judged,
    ):
        missed = 0 if options.skip_planted else run_planted(judged, options.planted or "")
        if options.planted is None and options.sample:
            reach = (options.reach or Path(folder) / "reach.json").absolute()
            missed += run_sampled(judged, options.sample, options.seed, options.only, reach, options.budget)
    return 1 if missed else 0


# copies of the tree, each with a process that runs tests on it


class Judge:
    """A copy of the tracked files as they are now, and judge.py running in it."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "hush"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.copy / name)
        if (ROOT.parent / "shared").exists():
            (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
        # A file changes twice within a second: bytecode that is held against the source's hash is never stale.
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "."]
        subprocess.run(compiled, cwd=self.copy, check=True)
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "judge.py")],
            cwd=self.copy, env=environment(self.copy), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._answer()

    def without(self, tests: list[str], seconds: float = SECONDS, mistake: bool = False) -> tuple[int, str]:
        """On the copy as it is: pytest's exit status, 124 where it takes longer, and the test that failed.

        5 where one of the tests is not there; with a mistake in the copy, where none is.
        """
        self._process.stdin.write(json.dumps({"tests": tests, "seconds": seconds, "all": not mistake}) + "\n")
        self._process.stdin.flush()
        code, failed = json.loads(self._answer())
        return code, failed

    def judge(self, path: str, text: str, tests: list[str], seconds: float = SECONDS) -> tuple[int, str]:
        """The same, with `text` in one file."""
        file = self.copy / path
        right = file.read_text()
        file.write_text(text)
        try:
            return self.without(tests, seconds, mistake=True)
        finally:
            file.write_text(right)

    def _answer(self) -> str:
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("the process that runs the tests ended")
        return answer

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


class Judges:
    """Several, each used by one thread at a time."""

    def __init__(self, all_of_them: list[Judge]) -> None:
        self._free: queue.SimpleQueue[Judge] = queue.SimpleQueue()
        self.all = all_of_them
        for judge in all_of_them:
            self._free.put(judge)

    def run(self, tasks: list, outcome_of: Callable[[Judge, object], tuple]) -> Iterator[tuple]:
        """(task, what it gives), in the order in which they end."""

        def one(task: object) -> tuple:
            judge = self._free.get()
            try:
                return outcome_of(judge, task)
            finally:
                self._free.put(judge)

        with ThreadPoolExecutor(len(self.all)) as pool:
            futures = {pool.submit(one, task): task for task in tasks}
            for future in as_completed(futures):
                yield futures[future], future.result()


@contextmanager
def judges(folder: Path, count: int) -> Iterator[Judges]:
    made = [Judge(folder / str(number)) for number in range(max(count, 1))]
    try:
        yield Judges(made)
    finally:
        for judge in made:
            judge.close()


def environment(copy: Path) -> dict[str, str]:
    """The copy comes before an installed hush, in child processes too."""
    return {
        **os.environ,
        "PYTHONPATH": f"{copy}:{copy / 'tests/support'}",
        "OMP_NUM_THREADS": "1",
    }


# planted mistakes


def run_planted(judged: Judges, pattern: str) -> int:
    """How many planted mistakes no test noticed."""
    mistakes = [
        m for m in tomllib.loads((HERE / "planted.toml").read_text())["mistake"] if pattern in m["file"]
    ]
    for mistake in mistakes:
        found = (ROOT / mistake["file"]).read_text().count(mistake["right"])
        if found != 1:
            sys.exit(f"planted.toml: {mistake['why']}: `right` stands {found} times in {mistake['file']}")
    tests = sorted({test for mistake in mistakes for test in mistake["tests"]})
    if mistakes and (outcome := judged.all[0].without(tests))[0] != 0:
        sys.exit(f"without any mistake these end with {outcome} (5: one is not there):\n" + "\n".join(tests))

    def outcome_of(judge: Judge, mistake: dict) -> tuple[int, str]:
        text = (judge.copy / mistake["file"]).read_text().replace(mistake["right"], mistake["wrong"])
        return judge.judge(mistake["file"], text, mistake["tests"], PLANTED_SECONDS)

    missed = 0
    for number, (mistake, (code, _)) in enumerate(judged.run(mistakes, outcome_of), 1):
        # 1: a test failed; 2: the mistake broke a module; 5: all its tests are slow; 124: it hung
        verdict = {0: "SURVIVED", 5: "NO TEST"}.get(code, "caught")
        missed += verdict in MISSED
        print(f"{number:3}/{len(mistakes)} {verdict:8} {mistake['why']}", flush=True)
    print(f"planted mistakes: {len(mistakes) - missed} of {len(mistakes)} caught", flush=True)
    return missed


# mutants of mutmut


def run_sampled(judged: Judges, size: int, seed: int, only: list[str], reach: Path, budget: float) -> int:
    """How many sampled mutants survived that equivalent.toml does not name."""
    equivalent = tomllib.loads((HERE / "equivalent.toml").read_text()).get("mutant", [])
    files = [p for p in tracked("*.py") if any(fnmatch.fnmatch(p, o) for o in SETTINGS["only_mutate"])]
    found = [
        c for path in files for c in candidates(ROOT, path) if any(o == c.name or o in c.path for o in only)
    ]
    drawn = sample([c for c in found if not c.said], size, seed)
    mutants = [candidate.make() for candidate in drawn]
    tests_of = what_is_reached(judged.all[0].copy, reach, budget)

    def outcome_of(judge: Judge, mutant: Mutant) -> tuple[int, str]:
        tests, seconds = tests_of(mutant)
        return judge.judge(mutant.path, mutant.text, tests, PATIENCE + SLOWER * seconds) if tests else (5, "")

    verdicts: dict[str, Counter[str]] = {}
    killers: set[str] = set()
    for number, (mutant, (code, failed)) in enumerate(judged.run(mutants, outcome_of), 1):
        verdict = {0: "SURVIVED", 5: "NO TEST", 124: "hung"}.get(code, "caught")
        if verdict in MISSED and any(mutant.matches(entry) for entry in equivalent):
            verdict = "equivalent"
        killers |= {failed} - {""}
        verdicts.setdefault(room(mutant.path), Counter())[verdict] += 1
        print(f"{number:4}/{len(mutants)} {verdict:10} {mutant.name}", flush=True)
        if verdict in MISSED:
            print(f"     - {mutant.right}\n     + {mutant.wrong}".replace("\n", "\n       "), flush=True)
    if killers and (outcome := judged.all[0].without(sorted(killers)))[0] != 0:
        sys.exit(f"the tests that caught mutants end with {outcome} without any: no verdict stands")
    everything = sum(verdicts.values(), Counter())
    print(
        f"seed {seed}; {len(found)} mutants in all, {sum(c.said for c in found)} of them change only what is said"
    )
    for name, counted in [*sorted(verdicts.items()), ("all", everything)]:
        print(f"{name:12} {score(counted)}")
    return sum(everything[verdict] for verdict in MISSED)


def what_is_reached(copy: Path, kept: Path, budget: float) -> Callable[[Mutant], tuple[list[str], float]]:
    """Mutant → tests that execute its statement, the quickest first, and the seconds that they take."""
    if not kept.exists():
        command = [
            sys.executable,
            str(HERE / "reach.py"),
            str(kept),
            "--",
            "-q",
            *SETTINGS["pytest_add_cli_args"],
        ]
        command += SETTINGS["pytest_add_cli_args_test_selection"]
        done = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True, text=True)
        if done.returncode != 0:
            kept.unlink(missing_ok=True)
            sys.exit(
                "without any mistake the tests fail: mend them first\n"
                + done.stdout[-3000:]
                + done.stderr[-1000:]
            )
    found = json.loads(kept.read_text())

    def tests_of(mutant: Mutant) -> tuple[list[str], float]:
        lines, (first, last) = found["lines"].get(mutant.path, {}), mutant.lines
        tests = {test for line in range(first, last + 1) for test in lines.get(str(line), ())}
        spent, chosen = 0.0, []
        for test in sorted(tests, key=lambda t: (found["seconds"][t], t)):
            if not chosen or spent + found["seconds"][test] <= budget:
                chosen.append(test)
                spent += found["seconds"][test]
        return chosen, spent

    return tests_of


def tracked(pattern: str) -> list[str]:
    command = ["git", "ls-files", pattern]
    return sorted(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    )


def room(path: str) -> str:
    return path.split("/")[1].removesuffix(".py")


def score(counted: Counter[str]) -> str:
    """Caught of all that are not equivalent, with Wilson's interval at 95 %."""
    caught = counted["caught"] + counted["hung"]
    judged = caught + counted["SURVIVED"] + counted["NO TEST"]
    if not judged:
        return "nothing judged"
    z, p = 1.96, caught / judged
    middle, half = p + z * z / (2 * judged), z * math.sqrt(p * (1 - p) / judged + z * z / (4 * judged**2))
    low, high = ((middle + sign * half) / (1 + z * z / judged) for sign in (-1, 1))
    return (
        f"{caught:4} of {judged:4} caught: {p:6.1%} (95 %: {low:.1%} to {high:.1%}); {counted['hung']} by hanging; "
        f"{counted['NO TEST']} reached by no test; {counted['equivalent']} equivalent, not counted"
    )


if __name__ == "__main__":
    sys.exit(main())
