"""The noise of group privacy and of user-wise DP-SGD at the same (ε, δ), ours beside the peers', each at its own
best.

A unit has k records, each drawn with rate q in each of T rounds. Ours is the smallest σ that dp_accounting's
connect-the-dots proves for the mixture of all k, in both orders; `refuted` is a σ at which an attack breaks (ε, δ),
so no accountant of the same mechanism can be below it. The peers:

- dp_accounting's own group accounting (`MixtureOfGaussiansDpEvent`), calibrated by its own search, with its default
  interval of 1e-4 (a tenth of it takes minutes a call and gives a σ smaller by some 1e-5);
- jax_privacy's user-level accountant (the same mixture), where --jax-python names a Python that has it;
- the group-privacy lemma (Chua et al. 2024, Algorithm 1) with accountants that know one record: dp_accounting's
  PLD, Opacus' PRV and RDP, and, with --jax-python, opake-dpftrl's (the identity as its strategy: DP-SGD). opake
  0.16.1 does not load on Python 3.11.7 (a class asks for a weakref slot that its base has); that is undone here.

User-wise DP-SGD is k = 1, where the lemma says nothing else than the mixture, and neither is asked again. One
process, one case after the other; JSON with --out. Exit 1 where ours is above a peer's by more than 1e-6 of itself,
the precision of the search, or below what is refuted.

--grid: 72 settings of one record. dp_accounting's pessimistic δ(ε) must be at most δ at our noise, and above
δ at 0.999 of it. Its interval is made finer until the first holds. Exit 1 where one does not.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld

from hush_core.accounting import Participation
from hush_core.mechanisms import noise_by_lemma, noise_of, one_item, refuted
from hush_core.mechanisms.unit_privacy import PRECISION

CASES = [(k, 0.01, 1000, epsilon, 1e-6) for epsilon in (3.0, 1.0, 8.0) for k in (10, 2, 5, 1)]
JAX = """
import json, sys
from jax_privacy import accounting
k, q, rounds, epsilon, delta, near = json.load(sys.stdin)
pld = accounting.PldAccountantConfig(value_discretization_interval=1e-4)
users = 1_000_000
print(accounting.calibrate_noise_multiplier(
    target_epsilon=epsilon, accountant=accounting.DpsgdTrainingUserLevelAccountant(dp_accountant_config=pld),
    batch_sizes=round(q * users), num_updates=rounds, num_samples=users, target_delta=delta, examples_per_user=k,
    initial_min_noise=0.999 * near, initial_max_noise=1.001 * near, tol=2e-5 * near))
"""
OPAKE = """
import dataclasses, json, sys
made = dataclasses.dataclass
dataclasses.dataclass = lambda *a, **k: made(*a, **{**k, "weakref_slot": False})
from opake.dpftrl import accounting
from opake.dpftrl.noise import identity_strategy
q, rounds, epsilon, delta, near = json.load(sys.stdin)
low, high = 0.999 * near, 1.02 * near
while high - low > 2e-5 * near:
    sigma = (low + high) / 2
    one = accounting.mf_gaussian(sigma, identity_strategy())
    spent = accounting.poisson(one, sample_rate=q, n_steps=rounds).epsilon_at(delta)
    low, high = (sigma, high) if spent > epsilon else (low, sigma)
print(high)
"""


def by_mixture(k: int, q: float, rounds: int, epsilon: float, delta: float, near: float) -> float:
    """dp_accounting's own, of the whole unit."""
    counts = [float(i) for i in range(k + 1)]
    law = [math.comb(k, i) * q**i * (1 - q) ** (k - i) for i in range(k + 1)]

    def event(sigma: float) -> dp_accounting.DpEvent:
        one = dp_event.MixtureOfGaussiansDpEvent(sigma, counts, law)
        return dp_accounting.SelfComposedDpEvent(one, rounds)

    return calibrated(event, epsilon, delta, near)


def by_lemma(k: int, q: float, rounds: int, epsilon: float, delta: float, near: float) -> float:
    """dp_accounting's subsampled Gaussian at the lemma's (ε', δ') of one record."""

    def event(sigma: float) -> dp_accounting.DpEvent:
        one = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(one, rounds)

    return calibrated(event, *one_item(epsilon, delta, k), near)


def calibrated(event, epsilon: float, delta: float, near: float) -> float:
    """By dp_accounting's own search, in the neighbourhood of a σ."""
    return dp_accounting.calibrate_dp_mechanism(
        lambda: PLDAccountant(value_discretization_interval=1e-4), event, epsilon, delta,
        bracket_interval=dp_accounting.ExplicitBracketInterval(0.999 * near, 1.02 * near), tol=2e-5 * near,
    )  # fmt: skip


def by_opacus(kind: str, near: float, k: int, q: float, rounds: int, epsilon: float, delta: float) -> float:
    """Opacus at the lemma's (ε', δ'); of one record it is the same mechanism."""
    from opacus.accountants import create_accountant

    small, share = one_item(epsilon, delta, k)
    low, high = 0.9 * near, (1.3 if kind == "rdp" else 1.02) * near
    while high - low > 5e-5 * high:
        middle = (low + high) / 2
        accountant = create_accountant(kind)
        accountant.history = [(middle, q, rounds)]
        try:
            found = accountant.get_epsilon(share, **({"eps_error": 0.001} if kind == "prv" else {}))
        except (RuntimeError, ValueError):
            found = math.inf
        low, high = (middle, high) if found > small else (low, middle)
    return high


def by_jax_privacy(python: Path, near: float, *case: float) -> float:
    return asked(python, JAX, [*case, near])


def by_opake(python: Path, near: float, k: int, q: float, rounds: int, epsilon: float, delta: float) -> float:
    """opake at the lemma's (ε', δ') of one record, in the neighbourhood of a σ."""
    return asked(python, OPAKE, [q, rounds, *one_item(epsilon, delta, k), near])


def asked(python: Path, program: str, given: list[float]) -> float:
    """The last line that a program of another interpreter prints."""
    words = json.dumps(given)
    done = subprocess.run([python, "-c", program], input=words, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


GRID = list(itertools.product((1e-3, 1e-2, 0.1, 1.0), (1, 50, 1000), (0.5, 2.0, 8.0), (1e-5, 1e-9)))
"""q, T, ε and δ."""
INTERVALS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)


def on_grid(q: float, rounds: int, epsilon: float, delta: float) -> bool:
    """Whether our noise is enough by dp_accounting, and a thousandth less is not; one row printed."""
    sigma = noise_of(Participation.binomial(1, q), rounds=rounds, epsilon=epsilon, delta=delta)

    def share(noise: float, interval: float) -> float:
        one = pld.from_gaussian_mechanism(noise, sampling_prob=q, value_discretization_interval=interval)
        return one.self_compose(rounds, tail_mass_truncation=1e-18).get_delta_for_epsilon(epsilon) / delta

    for interval in INTERVALS:
        if (at := share(sigma, interval)) <= 1:
            break
    below = share(0.999 * sigma, interval)
    right = at <= 1 < below
    print(f"| {q:g} | {rounds} | {epsilon:g} | {delta:g} | {sigma:.6g} | {at:.6f} | {below:.4f} | {interval:g} |"
          + " WRONG" * (not right), flush=True)  # fmt: skip
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jax-python", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="*", help="only cases of these")
    parser.add_argument("--records", type=int, nargs="*", help="only cases of so many records, in this order")
    parser.add_argument("--grid", action="store_true", help="one record, against dp_accounting's δ(ε)")
    given = parser.parse_args()
    if given.grid:
        print("| q | T | ε | δ | σ | its δ(ε)/δ | at 0.999·σ | interval |\n|---|---|---|---|---|---|---|---|")
        raise SystemExit(False in [on_grid(*case) for case in GRID])
    rows, wrong = [], 0
    cases = [case for case in CASES if not given.epsilon or case[3] in given.epsilon]
    if given.records:
        cases = [case for k in given.records for case in cases if case[0] == k]
    for k, q, rounds, epsilon, delta in cases:
        unit = Participation.binomial(k, q)
        run = {"rounds": rounds, "epsilon": epsilon, "delta": delta}
        case = (k, q, rounds, epsilon, delta)
        row = {
            "k": k, "q": q, "rounds": rounds, "epsilon": epsilon, "delta": delta,
            "ours": noise_of(unit, **run), "refuted": refuted(unit, **run),
        }  # fmt: skip
        row["lemma, ours"] = noise_by_lemma(unit, **run) if k > 1 else row["ours"]
        peers = {
            "dp_accounting mixture": lambda c=case, near=row["ours"]: by_mixture(*c, near),
            "dp_accounting lemma": lambda c=case, near=row["lemma, ours"]: by_lemma(*c, near),
            "opacus prv lemma": lambda c=case, row=row: by_opacus("prv", row["lemma, ours"], *c),
            "opacus rdp lemma": lambda c=case, row=row: by_opacus("rdp", row["lemma, ours"], *c),
        }
        if k == 1:
            del peers["dp_accounting lemma"]
        if given.jax_python and k > 1:
            peers["jax_privacy user level"] = lambda c=case, near=row["ours"]: by_jax_privacy(
                given.jax_python, near, *c
            )
        if given.jax_python:
            peers["opake lemma"] = lambda c=case, near=row["lemma, ours"]: by_opake(
                given.jax_python, near, *c
            )
        for name, peer in peers.items():
            try:
                row[name] = peer()
            except Exception as error:  # a peer that cannot is named, and the others go on
                row[name] = None
                print(f"  {name}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
        least = min(row[name] for name in peers if row[name])
        row["ours over the best peer"] = row["ours"] / least
        wrong += row["ours"] > least * (1 + PRECISION) or row["ours"] < row["refuted"]
        rows.append(row)
        if given.out:
            given.out.write_text(json.dumps(rows, indent=2) + "\n")
        shown = "  ".join(f"{name} {row[name]:.6g}" if row[name] else f"{name} -" for name in peers)
        print(
            f"ε {epsilon:g} k {k:2d}: ours {row['ours']:.6g} (refuted below {row['refuted']:.6g}; lemma "
            f"{row['lemma, ours']:.6g})  {shown}  ours/best peer {row['ours over the best peer']:.7f}",
            flush=True,
        )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
