"""Documents of the reviewer's page, as large and as hostile as a test wants them."""

import random

from flows.reports.job import Report
from flows.reports.job_report import SecretRow
from flows.reports.page.document import CertificateWords, page_document

KINDS = ("credentials", "path", "codeowners", "literals")
STATED = CertificateWords(
    promise=("the promise",), not_promised=("a copy",), released_unprotected=("losses",), digest="d" * 64,
    run="e" * 64, schema_version="hush-certificate/8", sources={"app": "f" * 64}, code={"hush-secrets": "0.1"},
    noise_source="os", sampler="poisson",
)  # fmt: skip


def rows(count, seed=0):
    """Secrets within their targets, every other of a value that the attack ranked."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        target = 10 ** chance.choice([-4, -3])
        valued = kind in ("credentials", "literals")
        found.append(
            SecretRow(
                name=f"{kind}/{number:05}", kind=kind, examples=chance.randint(1, 4000), prior=1e-10,
                target=target, bound=target * chance.uniform(0.1, 0.99),
                rank=chance.randint(2, 1000) if valued else None, alternatives=1000 if valued else None,
            )
        )  # fmt: skip
    return found


def report(secrets, **changes):
    given = {
        "model_uri": "models:/assistant/42", "run_url": None, "tracker": "sqlite:///mlflow.db",
        "certificate_dir": "/nowhere", "examples": 9000, "public_examples": 0, "secrets": len(secrets),
        "edges": 100, "weight_retained": 0.95, "examples_kept": 1.0, "without_secret": "noise",
        "trained_without_noise": 0, "untagged_steps": None, "gap": 0.0, "noise_multiplier": 1.5,
        "method": "best", "noise_by_method": {"kl": 45.0, "blow_up": None}, "paper_noise": 30.0, "rounds": 300,
        "rounds_released": 300, "expected_batch": 256, "clip_norm": 1.0, "model": "byte_gpt 2x64",
        "learning_rate": 1e-3, "rates_rehearsed": 0, "rows": secrets, "loss_unit": "byte",
        "losses": {"pretrained": 3.2, "protected": 2.8}, "gain": None, "tagged_losses": {}, "reused": False,
        "warnings": [],
    }  # fmt: skip
    return Report(**{**given, **changes})


def document(secrets, stated=STATED, **changes):
    """A page's document."""
    return page_document(report(secrets, **changes), stated, "2026-11-23 02:00 UTC")
