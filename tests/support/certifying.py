"""Certificates that verify, of whatever model: every example with a secret is drawn under noise."""

from hush_core.accounting import calibrate
from hush_core.certificate import Facts, write_certificate
from hush_core.certificate.document import PlanFacts, TrainingFacts
from hush_core.certificate.mechanism import MechanismFacts
from hush_core.weights import assign_roles, sampling_rates
from tasks.certificate import code_versions
from tasks.runtime.environment import home


def certify(folder, model_dir, edges, secrets, *, examples, batch, rounds, **facts):
    """Write a certificate of this home to a folder; `facts` are at least the name and the run."""
    weights = (
        assign_roles(edges, n_examples=examples, without_secret="noise") == "certified"
    ).to_numpy() * 1.0
    done = calibrate(edges, sampling_rates(weights, batch), secrets, rounds=rounds, method="best")
    plan = PlanFacts(
        noise_multiplier=done.noise_multiplier, rounds=rounds, expected_batch=batch, clip_norm=1.0, method="best",
        mechanism=MechanismFacts(), capacities="matched", c=1.0, weight_objective=float(weights.sum()),
        weight_upper_bound=float(weights.sum()), without_secret="noise", held_back=False, settings="0" * 64,
        promised_runs=None,
    )  # fmt: skip
    training = TrainingFacts(
        rounds_released=rounds, rounds_applied=rounds, started_from=None, trained_without_noise=0,
        noise_source="os", sampler="poisson", released_unprotected=("nothing",),
    )  # fmt: skip
    known = Facts(
        plan=plan, training=training, sources={"repo": "0" * 40}, examples=examples, examples_fingerprint="0" * 64,
        store=home().fingerprint("identity"), coverage={}, audits=(), code=code_versions(), **facts,
    )  # fmt: skip
    tables = {"bounds": done.table, "edges": edges, "secrets": secrets, "weights": weights}
    write_certificate(folder, known, **tables, model_dir=model_dir)
