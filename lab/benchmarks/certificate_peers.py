"""Time per certificate, ours against the peers', each at a measured accuracy: its distance above our lower bound.

dp_accounting's connect-the-dots computes the same number, min over v of e^v·p + δ(v). For every case the largest
step is searched for at which its value is as close to our lower bound as our upper bound is; again for 0.1 %; and
by its public constructor with its default step and cuts. Tails are cut at a tenth of the distance. The search is
not timed, and in it dp_accounting has every advantage: the cheaper of its constructors, only the order (real ‖
reference) that matters, few values of K, and one pass over the composed masses for the least v.

With --peers also (installed under build/peers, without dependencies: those are ours already; skipped without it):
- riskcal reads β(p) off a dp_accounting distribution of both orders, so it takes any number of examples; 1 − β(p)
  is no bound. Of a list of steps the value closest to ours is shown, and that of its default step.
- prv_accountant takes one example a secret only (its subsampled Gaussian, the same order as ours). Its bound is
  min e^{v+ε}·p + δ(v) + δ_error: ε itself is its distance, so 0.1 % is what it can afford. Its estimate, which is
  no bound, is shown at our accuracy.

Single thread, one process, a case after the other. JSON with --out. The target of the project: 50 times.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism
from peers import install_peers

from hush_core.accounting import Bound, Participation, posterior_bound
from hush_core.accounting.dp.hockey_stick import dense_masses

PEERS = Path(__file__).parents[2] / "build" / "peers"
PINNED = {"riskcal": "1.5.1", "prv_accountant": "0.2.0"}
REPEATS, TARGET_RATIO = 9, 50
LOOSE = 1e-3
"""The second accuracy: relative distance above our lower bound."""
MOST_SECONDS = 60.0
"""What a single call of a peer may take; beyond it the finest affordable one is shown."""
RISKCAL_STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
DEFAULT_STEP = 1e-4
"""Of dp_accounting and of riskcal."""


@dataclass(frozen=True)
class Case:
    """A secret in `examples` examples of one sampling rate; σ, T and p."""

    examples: int
    rate: float
    sigma: float
    rounds: int
    prior: float

    @property
    def participation(self) -> Participation:
        return Participation.binomial(self.examples, self.rate)


CASES = (
    Case(1, 1e-3, 1.0, 1000, 1e-6),
    Case(10, 1e-3, 1.0, 1000, 1e-6),
    Case(50, 1e-3, 2.0, 500, 1e-4),
    Case(7, 0.02, 4.0, 300, 1e-3),
    Case(1, 1.0, 20.0, 100, 1e-8),
    Case(100, 2048 / 1.2e6, 3.0, 2000, 1e-10),
    Case(100, 2048 / 1.2e6, 0.067 * 1e5**0.5, 100_000, 1e-10),
)
"""The reference values of docs/mathematics.md, and many rounds."""


@dataclass(frozen=True)
class Result:
    """One tool's certificate. above: value / our lower bound − 1. setting: the step or error it was run with."""

    tool: str
    value: float
    above: float
    seconds: float
    repeats: int
    setting: str = ""
    remark: str = ""


def timed(function: Callable[[], object], repeats: int) -> float:
    """Median seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def ours(case: Case, lower: bool) -> Bound:
    return posterior_bound(
        case.participation,
        noise_multiplier=case.sigma,
        rounds=case.rounds,
        prior=case.prior,
        method="blow_up",
        lower=lower,
    )


def least_posterior(losses: np.ndarray, masses: np.ndarray, prior: float, error: float = 0.0) -> float:
    """min over v of e^{v + error}·p + δ(v) at the losses, from composed masses under P; infinite ones are extra."""
    usable = losses > -5  # the best v is above 0 for small priors; far below, e^{−v} multiplies round-off
    v, m = losses[usable], masses[usable]
    factor = np.exp(v)
    above, reference = np.cumsum(m[::-1])[::-1], np.cumsum((m / factor)[::-1])[::-1]
    return float((factor * math.exp(error) * prior + above - factor * reference).min())


def by_dp_accounting(case: Case, step: float, cut: float) -> float:
    """The posterior by connect-the-dots; K's tail, a round's loss and the composed one lose at most `cut` each."""
    counts = case.participation.distribution.trimmed(cut / case.rounds)
    common = {
        "adjacency_type": mechanism.AdjacencyType.REMOVE,
        "log_mass_truncation_bound": math.log(cut / case.rounds),
    }
    if case.examples == 1:
        loss = mechanism.GaussianPrivacyLoss(case.sigma, sampling_prob=case.rate, **common)
    else:
        k = (counts.first + np.arange(len(counts.pmf))).astype(float)
        loss = mechanism.MixtureGaussianPrivacyLoss(case.sigma, k, counts.pmf / counts.pmf.sum(), **common)
    # the public constructors compute the other order too, which is not needed
    one_round = pld._create_pld_pmf_from_monotone_privacy_loss(
        loss, value_discretization_interval=step, use_connect_dots=True
    )
    composed = one_round.self_compose(case.rounds, tail_mass_truncation=cut)
    return posterior_of(composed, case) + case.rounds * counts.tail


def posterior_of(composed, case: Case) -> float:
    width, first, masses, infinity = dense_masses(composed)
    losses = (first + np.arange(len(masses))) * width
    return least_posterior(losses, masses, case.prior) + infinity


def public_distribution(case: Case, step: float):
    """dp_accounting's distribution of both orders after T rounds, by its public constructors and default cuts."""
    if case.examples == 1:
        one_round = pld.from_gaussian_mechanism(
            case.sigma, sampling_prob=case.rate, value_discretization_interval=step, use_connect_dots=True
        )
    else:
        counts = case.participation.distribution.trimmed(1e-6 * case.prior / case.rounds)
        k = (counts.first + np.arange(len(counts.pmf))).astype(float)
        one_round = pld.from_mixture_gaussian_mechanism(
            case.sigma,
            k,
            counts.pmf / counts.pmf.sum(),
            value_discretization_interval=step,
            use_connect_dots=True,
        )
    return one_round.self_compose(case.rounds)


def by_public_dp_accounting(case: Case, step: float) -> float:
    return posterior_of(public_distribution(case, step)._pmf_remove, case)


def by_riskcal(case: Case, step: float) -> float:
    """1 − β(p): the power at level p."""
    from riskcal import analysis

    return float(1 - analysis.get_beta_from_pld(public_distribution(case, step), alpha=case.prior))


def by_prv_accountant(case: Case, eps_error: float, delta_error: float, bound: bool) -> float:
    """Its upper bound, δ(v) ≤ δ_estimate(v − ε_error) + δ_error for every v; or by δ_estimate itself."""
    import prv_accountant

    if case.rate == 1:
        one_round = prv_accountant.GaussianMechanism(case.sigma)
    else:
        one_round = prv_accountant.PoissonSubsampledGaussianMechanism(case.rate, case.sigma)
    accountant = prv_accountant.PRVAccountant(
        one_round, eps_error=eps_error, delta_error=delta_error, max_self_compositions=case.rounds
    )
    composed = accountant.compute_composition(case.rounds)
    losses = composed.domain.ts().astype(np.float64)
    masses = np.asarray(composed.pmf, np.float64)
    if not bound:
        return least_posterior(losses, masses, case.prior)
    return least_posterior(losses, masses, case.prior, eps_error) + delta_error


@dataclass(frozen=True)
class Trial:
    """One call at a step (or an error); above as in `Result`."""

    step: float
    value: float
    above: float
    seconds: float


def searched(
    tool: str, run: Callable[[float], float], lower: float, target: float, *, start: float, order: int
) -> Result:
    """The largest step (to 10 %) whose value is within `target` of `lower`, else the finest affordable, timed.

    order: the excess grows with step**order.
    """
    good = bad = last = None
    step = start
    for _ in range(12):
        if last and last.seconds * last.step / step > MOST_SECONDS:
            break
        last = trial(run, step, lower)
        good, bad = (last, bad) if abs(last.above) <= target else (good, last)
        if good and bad and bad.step / good.step < 1.1:
            break
        guess = step * (target / max(abs(last.above), 1e-4 * target)) ** (1 / order)
        if good and bad:
            between = 1.03 * good.step < guess < bad.step / 1.03
            step = guess if between else math.sqrt(good.step * bad.step)
        else:
            step = min(max(guess, 1.1 * step), 10 * step) if good else max(min(guess, 0.9 * step), 0.1 * step)
    return repeated(tool, run, good or bad, "" if good else f"never within {target:.1e}")


def trial(run: Callable[[float], float], step: float, lower: float) -> Trial:
    began = time.perf_counter()
    value = run(step)
    return Trial(step, value, value / lower - 1, time.perf_counter() - began)


def repeated(tool: str, run: Callable[[float], float], found: Trial, remark: str = "") -> Result:
    """The median of as many calls as their length allows."""
    repeats = 5 if found.seconds < 2 else 3 if found.seconds < 10 else 1
    seconds = timed(lambda: run(found.step), repeats)
    if found.above < -1e-9:
        remark = "BELOW our lower bound"
    return Result(tool, found.value, found.above, seconds, repeats, f"{found.step:.2g}", remark)


def riskcal_results(case: Case, lower: float) -> list[Result]:
    """The closest value of a list of steps, and that of riskcal's own default step."""
    run, trials = partial(by_riskcal, case), []
    for step in RISKCAL_STEPS:
        if trials and trials[-1].seconds * trials[-1].step / step > MOST_SECONDS:
            break
        trials.append(trial(run, step, lower))
    closest = min(trials, key=lambda t: abs(t.above))
    default = [t for t in trials if t.step == DEFAULT_STEP and t is not closest]
    found = [("riskcal, closest", closest), *(("riskcal, default", t) for t in default)]
    return [repeated(name, run, t) for name, t in found]


def results(case: Case, peers: bool) -> list[Result]:
    upper, both = ours(case, lower=False), ours(case, lower=True)
    lower = both.lower
    gap = upper.value / lower - 1
    found = [
        Result("ours", upper.value, gap, timed(lambda: ours(case, lower=False), REPEATS), REPEATS),
        Result("ours, and lower", both.value, gap, timed(lambda: ours(case, lower=True), REPEATS), REPEATS),
    ]
    for name, target in (("dp_accounting", gap), ("dp_accounting, 0.1 %", LOOSE)):
        cut = 0.1 * target * lower
        start = 0.02 / math.sqrt(case.rounds)
        run = partial(by_dp_accounting, case, cut=cut)
        found.append(searched(name, run, lower, target, start=start, order=2))
    run = partial(by_public_dp_accounting, case)
    found.append(repeated("dp_accounting, default", run, trial(run, DEFAULT_STEP, lower)))
    if peers:
        found += riskcal_results(case, lower)
        if case.examples == 1:
            for name, target, order, bound in (("bound", LOOSE, 1, True), ("estimate", gap, 2, False)):
                cut = 0.1 * target * lower
                run = partial(by_prv_accountant, case, delta_error=cut, bound=bound)
                found.append(searched(f"prv, {name}", run, lower, target, start=0.01, order=order))
    return found


def show(case: Case, found: list[Result]) -> None:
    print(
        f"\nm = {case.examples}, ρ = {case.rate:.3g}, σ = {case.sigma:.3g}, T = {case.rounds:,}, "
        f"p = {case.prior:g}; "
        f"lower bound {found[0].value / (1 + found[0].above):.6g}"
    )
    for r in found:
        print(
            f"  {r.tool:<22} {r.value:12.6g} {r.above:10.1e} {1e3 * r.seconds:10.1f} "
            f"{r.seconds / found[0].seconds:9.1f} {r.repeats:7d} {r.setting:>9}  {r.remark}",
            flush=True,
        )


def summarise(by_case: list[list[Result]]) -> None:
    print()
    for tool in dict.fromkeys(r.tool for found in by_case for r in found[2:]):
        ratios = [r.seconds / found[0].seconds for found in by_case for r in found if r.tool == tool]
        reached = sum(ratio >= TARGET_RATIO for ratio in ratios)
        print(
            f"{tool}: {min(ratios):.2g} to {max(ratios):.2g} times our time, "
            f"median {statistics.median(ratios):.2g}; "
            f"at least {TARGET_RATIO} in {reached} of {len(ratios)} cases"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.peers:
        install_peers(PEERS, PINNED)
    versions = {name: version(name) for name in ("numpy", "scipy", "dp-accounting")}
    for name in PINNED:
        versions[name] = version(name) if arguments.peers else "not installed: run with --peers"
    print(", ".join(f"{name} {number}" for name, number in versions.items()))
    header = f"{'value':>12} {'above':>10} {'ms':>10} {'× ours':>9} {'repeats':>7} {'step/error':>9}"
    print(f"  {'':<22} {header}")
    by_case = []
    for case in CASES:
        by_case.append(results(case, arguments.peers))
        show(case, by_case[-1])
    summarise(by_case)
    if arguments.out:
        rows = [
            asdict(case) | asdict(result)
            for case, found in zip(CASES, by_case, strict=True)
            for result in found
        ]
        arguments.out.write_text(json.dumps({"versions": versions, "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
