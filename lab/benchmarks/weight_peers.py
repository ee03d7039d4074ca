"""What the weights cost, ours against the peers' solvers of the same linear program, in one run.

Ours: `solve_weights` (reductions, simplex or PDLP for what is left, repair, certified gap). Peers: scipy's
`linprog` by HiGHS; OR-Tools' GLOP and PDLP on the program as it is, the latter's answer as given (no reduction,
no repair); with --peers also cvxpy with its default solver (installed under build/weight_peers; skipped without).

Instances: s, m, l are the paper's shape with 1,000, 10,000 and 100,000 secrets (l with --full); `code` is a code
base. Capacities are c·c_max·κ with κ by --rule. Every solve is a process of its own (ortools and HiGHS cannot share
one). Columns: CPU-seconds of all its threads from edges to weights, the median of 3 where one takes less than 10;
its peak memory, the instance and the solver's libraries included; Σw against our certified upper bound; the worst
violation, of a capacity (relative) or of 0 ≤ w ≤ 1. A solve past --limit CPU-seconds is ended: `> limit`.

Then the whole sweep c = 2⁻¹⁰ … 1 by ours in one process, at m, with --full at the paper's size. Linux.
JSON with --out.
"""

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
)

import argparse
import json
import math
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from graphs import code_graph, paper_graph
from peers import install_peers
from scipy import sparse

PEERS = Path(__file__).parents[2] / "build" / "weight_peers"
PINNED = {
    "cvxpy": "1.9.3",
    "clarabel": "0.11.1",
    "highspy": "1.15.1",
    "osqp": "1.1.3",
    "qdldl": "0.1.9.post1",
    "scs": "3.3.1",
    "sparsediffpy": "0.6.1",
}
INSTANCES = {"s": 1_000, "m": 10_000, "code": None, "l": 100_000}
LARGE = "l"
CS = (2**-5, 2**-3, 0.5)
SWEEP = tuple(2.0**e for e in range(-10, 1))
TARGET_SECONDS, TARGET_GIGABYTES, TARGET_GAP = 120, 2, 1e-4
QUICK, REPEATS = 10.0, 3


@dataclass(frozen=True)
class Program:
    """The program as every solver gets it: edges by example and secret, (m,) capacities."""

    examples: int
    example: np.ndarray
    secret: np.ndarray
    capacities: np.ndarray

    def matrix(self) -> sparse.csr_matrix:
        shape = (len(self.capacities), self.examples)
        return sparse.csr_matrix((np.ones(len(self.example)), (self.secret, self.example)), shape=shape)

    def edges(self) -> pl.DataFrame:
        return pl.DataFrame({"example_id": self.example, "secret_id": self.secret})

    def worst_violation(self, w: np.ndarray) -> float:
        load = np.bincount(self.secret, weights=w[self.example], minlength=len(self.capacities))
        over = np.max(load / self.capacities - 1, initial=0.0)
        return float(max(over, w.max() - 1, -w.min(), 0.0))


@dataclass(frozen=True)
class Answer:
    """A solver's weights; `upper_bound` is ours alone; `remark` what is worth knowing of the run."""

    weights: np.ndarray
    upper_bound: float = math.nan
    remark: str = ""


@dataclass(frozen=True)
class Result:
    """A line of the table. seconds: CPU, infinite past the limit. The other numbers are NaN without an answer."""

    instance: str
    c: float
    solver: str
    seconds: float = math.nan
    repeats: int = 1
    gigabytes: float = math.nan
    objective: float = math.nan
    violation: float = math.nan
    upper_bound: float = math.nan
    gap: float = math.nan
    remark: str = ""


# each solver imports its own: HiGHS crashes beside ortools, and libraries count as memory


def by_ours(program: Program) -> Callable[[], Answer]:
    from hush_core.weights import solve_weights

    edges = program.edges()

    def solve() -> Answer:
        found = solve_weights(edges, n_examples=program.examples, capacities=program.capacities)
        return Answer(found.weights, found.upper_bound)

    return solve


def by_highs(program: Program) -> Callable[[], Answer]:
    from scipy.optimize import linprog
    from scipy.optimize._highspy import _core

    def solve() -> Answer:
        cost = -np.ones(program.examples)
        found = linprog(cost, program.matrix(), program.capacities, bounds=(0, 1), method="highs")
        number = f"{_core.HIGHS_VERSION_MAJOR}.{_core.HIGHS_VERSION_MINOR}.{_core.HIGHS_VERSION_PATCH}"
        return Answer(found.x, remark=f"HiGHS {number}" + (f", {found.message}" if found.status else ""))

    return solve


def by_glop(program: Program) -> Callable[[], Answer]:
    from hush_core.weights.program import build_program
    from hush_core.weights.solvers import solve_glop

    edges = program.edges()

    def solve() -> Answer:
        built = build_program(edges, program.examples, program.capacities)
        return Answer(solve_glop(built.incidence, built.capacities, np.ones(program.examples))[0])

    return solve


def by_pdlp(program: Program) -> Callable[[], Answer]:
    from hush_core.weights.program import build_program
    from hush_core.weights.solvers import TOLERANCE, solve_pdlp

    edges = program.edges()

    def solve() -> Answer:
        built = build_program(edges, program.examples, program.capacities)
        w = solve_pdlp(built.incidence, built.capacities, np.ones(program.examples))[0]
        return Answer(w, remark=f"tolerance {TOLERANCE:g}")

    return solve


def by_cvxpy(program: Program) -> Callable[[], Answer]:
    sys.path.append(str(PEERS))
    sys.modules["ortools"] = None  # else cvxpy loads it, beside HiGHS
    import cvxpy

    def solve() -> Answer:
        w = cvxpy.Variable(program.examples)
        constraints = [program.matrix() @ w <= program.capacities, w >= 0, w <= 1]
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(w)), constraints)
        problem.solve()
        status = "" if problem.status == "optimal" else f", {problem.status}"
        return Answer(w.value, remark=problem.solver_stats.solver_name.lower() + status)

    return solve


SOLVERS = {
    "ours": by_ours,
    "scipy highs": by_highs,
    "glop, full": by_glop,
    "pdlp, full": by_pdlp,
    "cvxpy": by_cvxpy,
}


def work(file: str, solver: str, cs: list[float], limit: float | None) -> dict:
    """In a process of its own: solve an instance at every c; totals, and the worst of what is promised."""
    stored = np.load(file)
    largest = Program(int(stored["examples"]), stored["example"], stored["secret"], stored["capacities"])
    found = {"seconds": 0.0, "violation": 0.0, "gap": 0.0}
    for c in cs:
        program = replace(largest, capacities=c * largest.capacities)
        solve = SOLVERS[solver](program)
        if limit:
            limit_cpu(limit)
        began = time.process_time()
        answer = solve()
        found["seconds"] += time.process_time() - began
        found["gigabytes"] = peak_gigabytes()
        found["objective"] = float(answer.weights.sum())
        found["violation"] = max(found["violation"], program.worst_violation(answer.weights))
        found["upper_bound"] = answer.upper_bound
        found["gap"] = float(np.maximum(found["gap"], answer.upper_bound / found["objective"] - 1))
        found["remark"] = answer.remark
    return found


def limit_cpu(seconds: float) -> None:
    """The kernel ends this process once it has used so much more CPU time, whatever the solver is doing."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


def peak_gigabytes() -> float:
    # not getrusage's: a child starts with the peak of the process that started it
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def run(name: str, file: Path, solver: str, cs: tuple[float, ...], limit: float | None) -> Result:
    """One solve (or sweep) in a process of its own; repeated where it is quick."""
    command = [sys.executable, __file__, "--work", json.dumps([str(file), solver, cs, limit])]
    found = Result(name, cs[-1], solver)
    outputs: list[dict] = []
    while len(outputs) < (REPEATS if not outputs or outputs[0]["seconds"] < QUICK else 1):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            killed = ended.returncode == -signal.SIGKILL
            return replace(found, seconds=math.nan if killed else math.inf, remark="out of memory?" * killed)
        if ended.returncode:
            return replace(found, remark=(ended.stderr.strip().splitlines() or ["failed"])[-1])
        outputs.append(json.loads(ended.stdout.strip().splitlines()[-1]))
    middle = {key: statistics.median(o[key] for o in outputs) for key in ("seconds", "gigabytes")}
    return replace(found, **(outputs[0] | middle), repeats=len(outputs))


def stored(name: str, rule: str, folder: Path) -> Path:
    """The instance in a file, with the capacities at c_max."""
    from hush_core.weights import largest_useful_c, unit_capacities

    secrets = INSTANCES[name]
    examples, edges, table = paper_graph(secrets) if secrets else code_graph()
    kappa = unit_capacities(table, rule)
    file = folder / f"{name}.npz"
    np.savez(
        file,
        examples=examples,
        example=edges["example_id"].to_numpy(),
        secret=edges["secret_id"].to_numpy(),
        capacities=largest_useful_c(edges, kappa) * kappa,
    )
    print(f"{name}: {examples:,} examples, {table.height:,} secrets, {edges.height:,} edges")
    return file


def show(result: Result, ours: Result, limit: float) -> None:
    if math.isinf(result.seconds):
        cost = f"{f'> {limit:g}':>9} {f'> {limit / ours.seconds:.2g}':>8}"
    else:
        cost = f"{result.seconds:9.2f} {result.seconds / ours.seconds:8.1f}"
    answer = f"{result.objective / ours.upper_bound - 1:10.1e} {result.violation:10.1e}"
    print(
        f"  {result.instance:<5} {result.c:7.4f} {result.solver:<12} {cost} {result.gigabytes:7.2f} {answer} "
        f"{result.repeats:7d}  {result.remark}",
        flush=True,
    )


def swept(name: str, file: Path) -> Result:
    """The line for the whole sweep."""
    found = run(name, file, "ours", SWEEP, limit=None)
    target = f" (targets: {TARGET_SECONDS}, {TARGET_GIGABYTES}, {TARGET_GAP:g}, 0)" if name == LARGE else ""
    print(
        f"{name}, sweep of {len(SWEEP)} values of c: {found.seconds:.1f} CPU-seconds, {found.gigabytes:.2f} GB, "
        f"largest gap {found.gap:.1e}, worst violation {found.violation:.1e}{target} {found.remark}"
    )
    return found


def plain(result: Result) -> dict:
    """For JSON, which knows neither NaN nor infinity: null, and `over_limit`."""
    row = {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in asdict(result).items()}
    return row | {"over_limit": math.isinf(result.seconds)}


def summarise(results: list[Result], limit: float) -> None:
    ours = {(r.instance, r.c): r.seconds for r in results if r.solver == "ours"}
    print("\nCPU-seconds relative to ours; a solve past the limit counts as the limit")
    for solver in dict.fromkeys(r.solver for r in results if r.solver != "ours"):
        ran = [r for r in results if r.solver == solver and not math.isnan(r.seconds)]
        ratios = [min(r.seconds, limit) / ours[r.instance, r.c] for r in ran]
        if ratios:
            print(
                f"{solver}: {min(ratios):.2g} to {max(ratios):.2g}, median {statistics.median(ratios):.2g}; "
                f"past the limit in {sum(math.isinf(r.seconds) for r in ran)} of {len(ran)}; worst violation "
                f"{max((r.violation for r in ran if r.violation >= 0), default=math.nan):.1e}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--full", action="store_true", help="the paper's size too: half an hour")
    parser.add_argument("--rule", choices=("normal_quantiles", "sqrt_kl", "kl"), default="normal_quantiles")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU-seconds that a solve may take")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(work(*json.loads(arguments.work))))
        return
    if arguments.peers:
        install_peers(PEERS, PINNED)
    versions = {name: version(name) for name in ("numpy", "scipy", "ortools")}
    for name in PINNED:
        versions[name] = version(name) if arguments.peers else "not installed: run with --peers"
    print(", ".join(f"{name} {number}" for name, number in versions.items()))
    print(f"capacities c·c_max·κ, κ by {arguments.rule}; limit {arguments.limit:g} CPU-seconds a solve")
    solvers = [solver for solver in SOLVERS if solver != "cvxpy" or arguments.peers]
    names = [name for name in INSTANCES if name != LARGE or arguments.full]
    header = f"{'CPU-s':>9} {'× ours':>8} {'GB':>7} {'Σw/UB−1':>10} {'violation':>10} {'repeats':>7}"
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: stored(name, arguments.rule, Path(folder)) for name in names}
        print(f"  {'':<5} {'c/c_max':>7} {'':<12} {header}")
        for name in names:
            for c in CS:
                found = [run(name, files[name], solver, (c,), arguments.limit) for solver in solvers]
                for result in found:
                    show(result, found[0], arguments.limit)
                results += found
        summarise(results, arguments.limit)
        sweep = swept(LARGE if arguments.full else "m", files[LARGE if arguments.full else "m"])
    if arguments.out:
        found = {"versions": versions, "rule": arguments.rule, "limit": arguments.limit}
        found |= {"results": [plain(result) for result in results], "sweep": plain(sweep)}
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
