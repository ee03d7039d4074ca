"""A small certificate over three secrets, and a model of a few bytes to go with it."""

import shutil

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from histories_of_runs import SETTINGS, earlier_of

from hush_core.certificate import Audit, Facts, write_certificate
from hush_core.certificate.document import PlanFacts, TrainingFacts
from hush_core.certificate.mechanism import MechanismFacts
from hush_core.config import HushMechanism
from hush_core.history import bounds_at_priors
from hush_core.mechanisms import items_of, plan_of, with_implied_targets
from hush_core.secrets.graph import REDACTED
from hush_core.weights import assign_roles

N, ROUNDS, BATCH = 60, 40, 6


def earlier_runs(*, settings=SETTINGS, same=True, bare=(), unknown=0):
    """Two earlier runs: one drew secrets 0 and 1, the other 0 alone and less of it."""
    runs = [("a" * 64, 4.0, 40, 40, settings), ("b" * 64, 8.0, 60, 7, SETTINGS)]
    profiles = [(0, 0, 8, 0.1, same), (0, 1, 15, 0.05, same), (1, 0, 3, 0.2, same)]
    return earlier_of(runs, profiles, bare=bare, unknown=unknown)


def build(
    directory,
    model,
    *,
    run="c" * 64,
    store="0" * 64,
    released=ROUNDS,
    earlier=None,
    miss=None,
    without="noise",
    back=False,
    promised=None,
    mechanism=None,
    forged=None,
    pairs=None,
):
    """`forged`: (items, edges) → (weights, edges) in place of the mechanism's own; all else is made for them.
    `pairs`: (example, secret) of the edges; (): all secrets are redacted."""
    secrets = frame_of(secret_id=[0, 1, 2], kind="unit" if mechanism else "path", name=["alpha", "beta", "gamma"],
                       prior=[1e-6, 1e-6, 1e-4], posterior=[1e-3, 1e-2, 1e-2], bits=[19.93, 19.93, 13.29],
                       provenance="test")  # fmt: skip
    if pairs is None:
        pairs = sorted({(i, 0) for i in range(8)} | {(i, 1) for i in range(5, 20)} | {(30, 2)})
    if not pairs:
        secrets = secrets.clear()
    edges = frame_of(
        example_id=[p[0] for p in pairs], secret_id=[p[1] for p in pairs], reason=["path"] * len(pairs)
    )
    roles = assign_roles(edges, n_examples=N, without_secret=without, held_back=back)
    weights = np.where(np.arange(N) < 8, 0.5, 1.0) * (roles == "certified").to_numpy()
    shape = {"rounds": ROUNDS, "expected_batch": BATCH, "clip_norm": 1.0}
    program = mechanism is None or mechanism.kind == "hush"
    if not program:
        items = items_of(mechanism, edges, secrets, roles)
        weights, edges = forged(items, edges) if forged else (items.weights, items.edges)
    if mechanism and mechanism.unit_dp:
        secrets = with_implied_targets(secrets, *mechanism.unit_dp)
    sigma, rounds, strategy = None, 0, None
    if mechanism is None or mechanism.makes_noise:
        plan = plan_of(mechanism or HushMechanism(), weights, edges, secrets, **shape)
        bounds, sigma, rounds = plan.certificates, plan.noise_multiplier, ROUNDS
        strategy = plan.cycle.strategy.coefficients if plan.cycle else None
    else:
        bounds, released = bounds_at_priors(edges, secrets, method="best"), 0
    total = float(weights.sum())
    if miss is not None:
        bounds = bounds.with_columns(
            posterior=pl.when(pl.col("secret_id") == miss).then(pl.col("bound") * 0.99).otherwise("posterior")
        )
    facts = Facts(
        name="test",
        plan=PlanFacts(
            noise_multiplier=sigma, rounds=rounds, expected_batch=BATCH, clip_norm=1.0,
            method="best", mechanism=MechanismFacts.of(mechanism or HushMechanism()),
            strategy=strategy,
            capacities="matched" if program else None, c=1.0 if program else None, weight_objective=total,
            weight_upper_bound=total, without_secret=without, held_back=back, settings=SETTINGS,
            promised_runs=promised,
        ),
        training=TrainingFacts(
            rounds_released=released, rounds_applied=released, started_from=None,
            trained_without_noise=int((roles == "plain").sum()),
            noise_source="test", sampler="test",
            released_unprotected=("losses", "audits"),
        ),
        sources={"repo": "0" * 64}, examples=N, examples_fingerprint="0" * 64,
        run=run, store=store, coverage={"files": 3},
        audits=(Audit(name="exposure", secrets=2, succeeded=1, note="greedy"),), code={"hush-secrets": "0"},
    )  # fmt: skip
    rows = [(0, "credentials", "creds/x", 1e-10, 3, "rules"), (1, "literals", "names/1", 1e-6, 2, "literals")]
    redacted = pl.DataFrame(rows, schema=REDACTED, orient="row")
    tables = {"bounds": bounds, "edges": edges, "secrets": secrets, "weights": weights, "redacted": redacted}
    return write_certificate(directory, facts, **tables, model_dir=model, earlier=earlier)


@pytest.fixture(scope="session")
def build_certificate():
    return build


@pytest.fixture(scope="session")
def made(tmp_path_factory, second_route_once):
    root = tmp_path_factory.mktemp("certificate")
    model = root / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"weights")
    build(root / "certificate", model, earlier=earlier_runs())
    return root


@pytest.fixture
def copied(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"
