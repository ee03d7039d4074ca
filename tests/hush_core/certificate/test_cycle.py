"""Certificates of mechanism correlated: they hold by both routes, and what is forged is told."""

import numpy as np
import polars as pl
import pytest
from forging import forge, put
from frames import frame_of
from histories_of_runs import SETTINGS, earlier_of
from sizes import seeds

from hush_core.accounting.correlated import Cycle, Strategy, assign_groups, cycle_bounds, cycle_curves
from hush_core.certificate import verify_certificate
from hush_core.certificate.recheck import CycleRun, Movements, recheck_cycle
from hush_core.config import CorrelatedMechanism
from hush_core.errors import VerificationError
from hush_core.history import Earlier


@pytest.fixture
def made(tmp_path, build_certificate):
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"weights")
    build_certificate(tmp_path / "c", model, mechanism=CorrelatedMechanism(kind="correlated", bands=4))
    return tmp_path / "c"


def test_a_certificate_of_a_cycle_holds_by_both_routes(made):
    found = verify_certificate(made)
    assert found.rows["method"].to_list() == ["gaussian"] * 3
    assert found.confirmed("own rates") == 3
    assert found.curve_points[0] == found.curve_points[1] > 10
    assert (found.rows["bound"] / found.rows["second"] - 1).abs().max() < 1e-6
    assert (found.rows["bound"] <= found.rows["posterior"]).all()
    assert (found.rows["bound"] / found.rows["posterior"]).max() > 0.999, (
        "the noise is the least that will do"
    )


def test_beside_other_runs_nothing_is_said_of_what_an_attack_reaches(tmp_path, build_certificate):
    """A cycle counts there as sampled rounds that tell more: what reaches those need not reach it."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"weights")
    one = earlier_of([("a" * 64, 50.0, 40, 40, SETTINGS)], [(0, 0, 1, 1e-9, True)])
    chosen = CorrelatedMechanism(kind="correlated", bands=4)
    for earlier in (Earlier.none(3), one):
        build_certificate(tmp_path / "c", model, mechanism=chosen, earlier=earlier)
        bounds = verify_certificate(tmp_path / "c").tables["bounds.parquet"]
        assert bounds["all_runs_lower"].null_count() == 3 and bounds["lower"].null_count() == 0
        assert (bounds["all_runs"] >= bounds["bound"]).all()
    assert bounds["all_runs"][0] > bounds["bound"][0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda plan: {"noise_multiplier": plan["noise_multiplier"] * 2 / 3}, "recomputed|misses"),
        (lambda plan: {"strategy": [1.0, *[2 * c for c in plan["strategy"][1:]]]}, "recomputed|another"),
        (lambda plan: {"strategy": [1.0]}, "recomputed"),
        (lambda plan: {"strategy": [0.9, *plan["strategy"][1:]]}, "coefficients"),
        (lambda plan: {"strategy": [1.0] * 40}, "bands"),
        (lambda plan: {"strategy": None}, "strategy"),
        (lambda plan: {"rounds": 80}, "recomputed"),
        (lambda plan: {"expected_batch": 12}, "recomputed|otherwise|sum"),
        ({"bounds": lambda frame: frame.with_columns(bound=pl.col("bound") * 0.9)}, "recomputed"),
    ],
)
def test_what_is_forged_in_the_plan_or_the_bounds_is_told(made, change, says):
    plan = {"document": lambda data: data["facts"]["plan"].update(change(data["facts"]["plan"]))}
    forge(made, **(plan if callable(change) else change))
    with pytest.raises(VerificationError, match=says):
        verify_certificate(made)


def test_the_bands_that_were_asked_for_may_say_anything(made):
    forge(made, **put("facts.plan.mechanism.bands", 7))
    assert "facts.plan.mechanism.bands" in verify_certificate(made).unchecked


def random_case(seed, secrets=30, items=400, period=12, rounds=50, pairs=200):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, items, pairs), rng.integers(0, secrets, pairs)
    edges = (
        pl.DataFrame(dict(zip(("example_id", "secret_id"), drawn, strict=True)))
        .unique()
        .sort("example_id", "secret_id")
    )
    prior = 10.0 ** -rng.uniform(2, 10, secrets)
    table = frame_of(secret_id=np.arange(secrets), name=[f"s{j}" for j in range(secrets)], prior=prior,
                     posterior=prior * 10)  # fmt: skip
    weights = np.where(rng.random(items) < 0.9, 1.0, 0.0)
    strategy = Strategy((1.0, *np.sort(rng.uniform(0, 0.8, 5))[::-1].tolist()))
    batch = int(weights.sum()) // period
    length = -(-int(weights.sum()) // batch)
    cycle = Cycle(assign_groups(edges, weights > 0, length), length, strategy)
    return edges, table, weights, batch, cycle, rounds


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", seeds(4))
def test_the_second_route_agrees_and_rejects_what_is_wrong(seed):
    """Planted: an edge left out, a third less noise, and coefficients that are not those of the rounds."""
    edges, secrets, weights, batch, cycle, rounds = random_case(seed)
    sigma = 3.0
    bounds = cycle_bounds(cycle, edges, secrets, noise_multiplier=sigma, rounds=rounds)
    curves = cycle_curves(cycle, edges, secrets, noise_multiplier=sigma, rounds=rounds)
    stated = bounds.with_columns(curve=pl.Series(curves.of_secret))

    def failures(edges=edges, sigma=sigma, strategy=cycle.strategy.coefficients):
        run = CycleRun(strategy, batch, sigma, rounds)
        moved = Movements(weights, edges, secrets.height, run)
        return recheck_cycle(moved, secrets, stated, curves.table, run, lambda *_: None).failures

    assert not failures()
    assert failures(sigma=2.0)
    assert failures(strategy=(1.0, *[c * 1.2 for c in cycle.strategy.coefficients[1:]]))
    drawn = edges.filter(pl.Series(weights[edges["example_id"].to_numpy()] > 0))
    assert failures(edges=edges.join(drawn[:1], on=["example_id", "secret_id"], how="anti"))


def test_more_movements_than_curves_share_those_that_move_further():
    edges, secrets, _, _, cycle, rounds = random_case(9, secrets=300, items=3000)
    rng = np.random.default_rng(1)
    edges = pl.DataFrame({"example_id": rng.integers(0, 3000, 6000), "secret_id": rng.integers(0, 300, 6000)})
    edges = edges.unique().sort("example_id", "secret_id")
    weights = np.ones(3000)
    cycle = Cycle(assign_groups(edges, weights > 0, 40), 40, cycle.strategy)
    run = {"noise_multiplier": 9.0, "rounds": rounds}
    bounds, curves = cycle_bounds(cycle, edges, secrets, **run), cycle_curves(cycle, edges, secrets, **run)
    assert curves.table["curve"].n_unique() <= 128 < 300 and set(curves.of_secret) == set(
        curves.table["curve"]
    )
    for secret in range(0, 300, 17):
        mine = curves.table.filter(pl.col("curve") == curves.of_secret[secret]).sort("prior")
        above = mine.filter(pl.col("prior") >= secrets["prior"][secret])["bound"][0]
        assert above >= bounds["bound"][secret]


def test_what_other_runs_count_of_a_cycle_is_never_less(made):
    """`as_sampled` against the exact bound, for random graphs; and near it where a secret stands in one item."""
    for seed in range(6):
        edges, secrets, _, _, cycle, rounds = random_case(seed, pairs=40)
        rates, sigma = cycle.as_sampled(3.0, rounds)
        counts = np.bincount(
            edges["secret_id"], weights=rates[edges["example_id"].to_numpy()], minlength=secrets.height
        )
        moved = cycle.sensitivities(edges, n_secrets=secrets.height, rounds=rounds) / 3.0
        assert np.all(counts * np.sqrt(rounds) / sigma >= moved * (1 - 1e-8))
        one = np.flatnonzero(counts == 1)
        assert len(one) and np.all(counts[one] * np.sqrt(rounds) / sigma <= moved[one] * 1.2)
