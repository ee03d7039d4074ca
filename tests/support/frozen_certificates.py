"""Certificates as commit d18e975 wrote them, before one accountant served one run and many: each must verify.

`frozen_certificates.tar.xz` holds one of each mechanism with and without a history of two earlier runs, and one of
280 secrets whose bounds are inherited: from binomials for this run, from groups for all runs.

    PYTHONPATH=.:tests/hush_core/certificate python tests/support/frozen_certificates.py OUT.tar.xz
"""

import sys
import tarfile
import tempfile
from pathlib import Path

FILE = Path(__file__).with_suffix(".tar.xz")


def unpack(folder: Path) -> list[Path]:
    """The certificates' folders, each beside the `model` that they all certify."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    return sorted(path for path in folder.iterdir() if path.name != "model")


def write(folder: Path) -> None:
    from conftest import build, earlier_runs

    from hush_core.config import MECHANISMS

    model = folder / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"weights")
    keys = {"group_privacy": {"records": 1}, "user_wise": {"records": 2}, "correlated": {"bands": 2}}
    for kind, made in MECHANISMS.items():
        mechanism = None if kind == "hush" else made(kind=kind, **keys.get(kind, {}))
        how = {"mechanism": mechanism, "without": "noise" if made.makes_noise else "plain"}
        build(folder / kind, model, **how)
        build(folder / f"{kind}-history", model, earlier=earlier_runs(), **how)
        print(kind, flush=True)
    large(folder / "many", model)


def large(directory: Path, model: Path) -> None:
    import numpy as np
    import polars as pl
    from conftest import SETTINGS

    from hush_core.certificate import Facts, write_certificate
    from hush_core.certificate.document import PlanFacts, TrainingFacts
    from hush_core.certificate.mechanism import MechanismFacts
    from hush_core.config import HushMechanism
    from hush_core.history import PROFILES, RUNS, Earlier
    from hush_core.mechanisms import plan_of
    from hush_core.weights import assign_roles

    rng, secrets, examples = np.random.default_rng(11), 280, 2000
    tagged = [rng.choice(examples, int(10 ** rng.uniform(0, 1.6)), replace=False) for _ in range(secrets)]
    edges = pl.DataFrame(
        {
            "example_id": np.concatenate(tagged).astype(np.uint32),
            "secret_id": np.repeat(np.arange(secrets, dtype=np.uint32), [len(own) for own in tagged]),
            "reason": ["path"] * sum(map(len, tagged)),
        }
    ).sort("example_id", "secret_id")
    prior = np.resize([1e-8, 1e-6, 1e-5], secrets)
    table = pl.DataFrame(
        {
            "secret_id": np.arange(secrets, dtype=np.uint32), "kind": "path",
            "name": [f"secret {j}" for j in range(secrets)],
            "prior": prior, "posterior": np.resize([2e-4, 1e-2], secrets), "bits": -np.log2(prior),
            "provenance": "test",
        }
    )  # fmt: skip
    roles = assign_roles(edges, n_examples=examples, without_secret="noise", held_back=False)
    weights = np.round(rng.uniform(0.2, 1.0, examples), 1) * (roles == "certified").to_numpy()
    shape = {"rounds": 60, "expected_batch": 40, "clip_norm": 1.0}
    plan = plan_of(HushMechanism(), weights, edges.select("example_id", "secret_id"), table, **shape)
    runs = [
        (0, "a" * 64, plan.noise_multiplier * 2, 60, 60, SETTINGS),
        (1, "b" * 64, plan.noise_multiplier * 3, 50, 7, SETTINGS),
    ]
    drawn = [
        (k, j, len(tagged[j]) + k, float(0.012 * rng.uniform(0.9, 1.1)), True)
        for k in (0, 1)
        for j in range(k, secrets)
    ]
    earlier = Earlier(
        pl.DataFrame(runs, schema=RUNS, orient="row"), pl.DataFrame(drawn, schema=PROFILES, orient="row"),
        np.zeros(secrets, bool), 0,
    )  # fmt: skip
    facts = Facts(
        name="many",
        plan=PlanFacts(
            noise_multiplier=plan.noise_multiplier, rounds=60, expected_batch=40, clip_norm=1.0, method="best",
            mechanism=MechanismFacts.of(HushMechanism()), capacities="equalised", c=1.0,
            weight_objective=float(weights.sum()), weight_upper_bound=float(weights.sum()),
            without_secret="noise", held_back=False, settings=SETTINGS, promised_runs=None,
        ),
        training=TrainingFacts(
            rounds_released=60, rounds_applied=60, started_from=None, trained_without_noise=0,
            noise_source="test", sampler="test", released_unprotected=("losses",),
        ),
        sources={"repo": "0" * 64}, examples=examples, examples_fingerprint="0" * 64, run="c" * 64,
        store="0" * 64, coverage={"files": 3}, audits=(), code={"hush-secrets": "0"},
    )  # fmt: skip
    write_certificate(
        directory, facts, bounds=plan.certificates, edges=edges, secrets=table, weights=weights, model_dir=model,
        earlier=earlier,
    )  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write(Path(made))
        with tarfile.open(sys.argv[1], "w:xz", preset=9) as archive:
            for path in sorted(Path(made).iterdir()):
                archive.add(path, path.name)
