"""Whole private runs under a cycle: who takes part, what is released, and that a kill repeats nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from private_runs import tiny, uncertified, weights

from hush_core.accounting.correlated import (
    Cycle,
    Strategy,
    assign_groups,
    cycle_length,
    gaussian_posteriors,
    plan_cycle,
)
from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.training import fit_private, load_model, save_model
from hush_core.training.job import Job
from hush_core.training.noise import CorrelatedRows
from hush_core.training.processes import fit_in_processes
from hush_core.training.sampler import CyclicSampler

TEXTS = [bytes([97 + i % 5]) * (5 + i % 20) for i in range(40)]
ROUNDS = 24
STRATEGY = Strategy((1.0, 0.5, 0.35))
EDGES = pl.DataFrame({"example_id": [0, 1, 2, 3, 10, 11], "secret_id": [0, 0, 0, 0, 1, 1]})


def cycle(strategy=STRATEGY, period=5):
    return Cycle(np.arange(40) % period, period, strategy)


def plan(of=None, noise=0.5, rounds=ROUNDS):
    of = of or cycle()
    rates = np.where(of.groups >= 0, 1 / of.period, 0.0)
    return uncertified(rates, noise, rounds, 8, cycle=of)


def settings(**changes):
    given = {"rounds": ROUNDS, "batch": 8, "learning_rate": 1e-2, "micro_batch": 4, "checkpoint_every": 5}
    return TrainConfig(**given | changes)


@pytest.fixture
def released(monkeypatch):
    """What left each round, rows and what was read of them, of all runs in order."""
    seen = {"row": [], "total": [], "read": []}
    mix, read = CorrelatedRows.mix, CorrelatedRows.read

    def mixed(rows, total):
        seen["total"].append(total.copy())
        seen["row"].append(mix(rows, total))
        return seen["row"][-1].copy()

    def reads(rows, noisy):
        seen["noisy"] = [*seen.get("noisy", []), noisy.copy()]
        seen["read"].append(read(rows, noisy))
        return seen["read"][-1].copy()

    monkeypatch.setattr(CorrelatedRows, "mix", mixed)
    monkeypatch.setattr(CorrelatedRows, "read", reads)
    return seen


def test_a_run_releases_rows_of_the_matrix_and_reads_its_gradients_from_them(tmp_path, released):
    fitted = fit_private(plan(), TEXTS, tiny(), settings(), tmp_path / "run")
    assert fitted.rounds_released == fitted.rounds_applied == ROUNDS
    sums, noisy, read = (np.array(released[name]) for name in ("total", "noisy", "read"))
    c = STRATEGY.coefficients
    wanted = sum(c[s] * np.vstack([np.zeros((s, sums.shape[1])), sums[: ROUNDS - s]]) for s in range(3))
    noise = noisy - wanted
    assert noise.std() == pytest.approx(0.5, rel=0.02)  # σC, 24 rounds of 4,000 numbers: 0.2 % once in 10^20
    shifts = np.corrcoef(noise[1:].ravel(), noise[:-1].ravel())[0, 1]
    assert abs(shifts) < 0.02, "Z is independent from round to round"
    left = read - sums
    assert np.corrcoef(left[1:].ravel(), left[:-1].ravel())[0, 1] < -0.3, "what is read takes noise back"


def test_every_item_takes_part_in_its_rounds_and_no_other_also_after_a_kill():
    sampler = CyclicSampler(cycle(), key=b"k" * 32)
    drawn = [sampler.draw(t) for t in range(10)]
    for t, members in enumerate(drawn):
        assert members.tolist() == [i for i in range(40) if i % 5 == t % 5]
    later = CyclicSampler(cycle(), first=7, key=b"l" * 32)
    assert all(np.array_equal(later.draw(t), drawn[7 + t]) for t in range(3))
    with pytest.raises(InputError, match="negative"):
        sampler.draw(-1)


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_next_group_and_an_empty_past(tmp_path, released, monkeypatch):
    groups = []
    draw = CyclicSampler.draw
    monkeypatch.setattr(
        CyclicSampler, "draw", lambda self, t: groups.append(draw(self, t)) or groups[-1].copy()
    )

    def dies(stage, done, of):
        if done == 12:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fit_private(plan(), TEXTS, tiny(), settings(), tmp_path / "run", dies)
    fitted = fit_private(plan(), TEXTS, tiny(), settings(), tmp_path / "run")
    assert fitted.resumed and fitted.rounds_released == ROUNDS
    assert [int(g[0]) for g in groups] == [t % 5 for t in range(ROUNDS)], "each round's group once"
    assert np.array_equal(released["row"][12], released["total"][12]), "the past does not survive a kill"
    assert not np.array_equal(released["row"][13], released["total"][13])


def test_the_rows_of_neighbouring_runs_stay_within_the_sensitivity(tmp_path, released):
    """A model that stands still, and items of one secret that are all alike, so that they push one way: their
    removal moves all rows together by nearly as much as is claimed, and no further."""
    of = cycle()
    still = settings(learning_rate=1e-12, optimizer="sgd")
    alike = [b"zebra zebra zebra" if i < 4 else text for i, text in enumerate(TEXTS)]
    for texts in (alike, [b"" if i < 4 else text for i, text in enumerate(alike)]):
        together = replace(plan(of, noise=1e-6), clip_norm=1e-3)
        fit_private(together, texts, tiny(), still, tmp_path / f"run{len(released['row'])}")
    rows = np.array(released["row"])
    moved = np.linalg.norm(rows[:ROUNDS] - rows[ROUNDS:]) / 1e-3
    secret, _ = of.sensitivities(EDGES, n_secrets=2, rounds=ROUNDS)
    assert 0.99 * secret < moved <= secret
    shorter = of.sensitivities(EDGES.filter(pl.col("example_id") != 3), n_secrets=2, rounds=ROUNDS)[0]
    assert moved > shorter, "an item that is not counted shows"


def test_a_plan_says_how_it_correlates_and_another_cycle_is_another_plan():
    one, other = plan(), plan(cycle(Strategy((1.0, 0.5, 0.36))))
    poisson = uncertified(one.rates, 0.5, ROUNDS, 8)
    assert len({one.digest, other.digest, poisson.digest, plan(cycle(period=4)).digest}) == 4
    with pytest.raises(InputError, match="cycle"):
        replace(poisson, rates=np.full(40, 0.2), cycle=Cycle(np.full(40, -1), 5, STRATEGY))
    with pytest.raises(InputError, match="groups"):
        Cycle(np.array([0, 5]), 5, STRATEGY)
    with pytest.raises(InputError, match="bands"):
        Cycle(np.array([0, 1]), 2, STRATEGY)


def test_groups_are_even_and_deal_a_secrets_items_out():
    edges = pl.DataFrame({"example_id": np.arange(30), "secret_id": np.repeat([0, 1, 2], 10)})
    drawn = np.ones(103, dtype=bool)
    drawn[[5, 50]] = False
    groups = assign_groups(edges, drawn, 10)
    assert ((groups[~drawn] == -1).all() and np.bincount(groups[drawn]).tolist() in ([10] * 9 + [11],)) or (
        np.ptp(np.bincount(groups[drawn])) <= 1
    )
    for secret in range(3):
        mine = groups[edges.filter(pl.col("secret_id") == secret)["example_id"].to_numpy()]
        assert np.bincount(mine[mine >= 0], minlength=10).max() <= 2
    assert np.array_equal(groups, assign_groups(edges.sample(fraction=1, shuffle=True, seed=1), drawn, 10))


@pytest.mark.parametrize(
    "items, batch, period", [(19, 10, 2), (20, 10, 2), (21, 10, 3), (7, 10, 1), (1, 1, 1)]
)
def test_no_group_is_above_the_batch_and_there_are_no_more_than_it_takes(items, batch, period):
    """Planted: as many groups as whole batches, which makes one group of 2B − 1 items."""
    assert cycle_length(items, batch) == period
    groups = assign_groups(pl.DataFrame({"example_id": [0], "secret_id": [0]}), np.ones(items, bool), period)
    sizes = np.bincount(groups, minlength=period)
    assert sizes.max() <= batch and np.ptp(sizes) <= 1
    assert Cycle(groups, period, Strategy((1.0,))).batch == items / period
    assert period == 1 or -(-items // (period - 1)) > batch, "fewer groups would not do"


def test_a_planned_cycle_meets_every_target_with_the_bands_of_least_error():
    rng = np.random.default_rng(1)
    edges = pl.DataFrame({"example_id": rng.permutation(2000)[:60], "secret_id": np.repeat(np.arange(20), 3)})
    run = {"expected_batch": 50, "rounds": 120, "priors": np.full(20, 1e-8), "targets": np.full(20, 1e-4)}
    found, sigma = plan_cycle(edges, np.ones(2000, dtype=bool), **run)
    assert found.period == 40 and found.strategy.bands > 1
    moved = found.sensitivities(edges, n_secrets=20, rounds=120)
    assert np.all(gaussian_posteriors(run["priors"], moved / sigma) <= run["targets"])
    alone, without = plan_cycle(edges, np.ones(2000, dtype=bool), **run, bands=1)
    assert sigma * found.strategy.mean_error(120) < 0.6 * without * alone.strategy.mean_error(120)
    with pytest.raises(InputError, match="batch"):
        plan_cycle(edges, np.zeros(2000, dtype=bool), **run)


@pytest.mark.slow
def test_two_processes_train_as_one_does(tmp_path):
    """With hardly any noise the draws of a cycle leave nothing to chance: the models agree."""
    begun = tmp_path / "begun"
    save_model(tiny(), begun)
    quiet = plan(noise=1e-4, rounds=6)
    alone = load_model(begun)
    fit_private(quiet, TEXTS, alone, settings(rounds=6, optimizer="sgd"), tmp_path / "one")
    how = settings(rounds=6, optimizer="sgd")
    fitted = fit_in_processes(2, Job(quiet, TEXTS, begun, how, None, tmp_path / "two", tmp_path / "out"))
    assert fitted.rounds_released == 6
    moved = (weights(alone) - weights(load_model(begun))).norm()
    apart = (weights(alone) - weights(load_model(tmp_path / "out"))).norm()
    assert apart < 0.05 * moved
