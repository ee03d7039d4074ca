"""Several runs of the training flow in one process: starting a server takes longer than the runs of these tests."""

import io
import json
import os
import sys
from pathlib import Path

import warm
from warm import ROOT

TEXT = """\
version: 1
repos: [{{path: {repository}, rev: {rev}}}]
levels: {{critical: 1.0e-4, high: {high}}}
public: ["third_party/**"]
secrets:
  - {{id: {alpha}, kind: path, globs: ["trading/**"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
promise: {promise}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 1, batch: 4}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: {checkpoint_every}}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""


def config_of(job, name, rev, rounds=2, batch=6, **more):
    """The config of a run on a revision. more: `alpha` (the first entry's id), `high` (its level), `promise`,
    `checkpoint_every`."""
    given = {"alpha": "alpha", "high": "1.0e-3", "promise": "null", "checkpoint_every": 2} | more
    return job.write(f"{name}.yaml", rounds, batch, TEXT, rev=rev, **given)


def branches(job, names):
    """A branch on each of several commits, which add a file that holds no secret."""
    from jobs import commit, git  # not in the process that makes the runs

    for name in names:
        commit(job.folder / "repository", {f"app/new_{name}.py": f"VALUE = '{name}'\n" * 30})
        git(job.folder / "repository", "branch", name)


def run_all(job, order):
    """What each run of `order`, (config, whether its second release fails), reported: a dict, "failed", or an
    error in words. After a config comes "promote" for one whose version is then approved in a review; "refute" for
    one that an audit then refutes. In place of a config a version's URI: what its verification and its approval
    come to, in words; with "forget" the home then loses its audits, as one that was restored from a backup: the
    registry alone has them."""
    given = json.dumps([[str(config), then] for config, then in order])
    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
    environment = job.environment | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = warm.run("many_runs", [given], cwd=job.folder, env=environment, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("RAN ")]


def drawn(certificate):
    """By secret's name: (rates, times, σ, T) of this run, from the certificate's weights and edges alone."""
    import numpy as np

    from hush_core.certificate import verify_certificate

    verification = verify_certificate(certificate)
    tables, plan = verification.tables, verification.certificate.facts.plan
    weights = tables["weights.parquet"]["weight"].to_numpy()
    rates = weights / weights.sum() * plan.expected_batch
    found = {}
    for secret, name in tables["secrets.parquet"].select("secret_id", "name").iter_rows():
        own = rates[tables["edges.parquet"].filter(secret_id=secret)["example_id"].to_numpy()]
        found[name] = (*np.unique(own[own > 0], return_counts=True), plan.noise_multiplier, plan.rounds)
    return found


def main(order):
    from tasks.runtime.environment import prepare_environment

    prepare_environment()  # before Prefect is imported
    from hush_core.history.ledger import ReleaseLedger

    count = ReleaseLedger.count

    def dies(ledger):
        if ledger.released == 1:
            raise MemoryError("planted")
        return count(ledger)

    for config, then in order:
        ReleaseLedger.count = dies if then is True else count
        print("RAN", json.dumps(told := told_by(config)), flush=True)
        if then == "promote":
            from flows.review import review

            review(told["model_uri"], reviewer="ada", decision="approve", reason="within every target")
        elif then == "refute":
            refuted(told["model_uri"])
        elif then == "forget":
            import shutil

            from tasks.runtime.environment import home

            shutil.rmtree(home().store / "audits")


def refuted(model_uri):
    """As `hush audit` leaves a version whose certificate an attack broke (which tests/flows/test_audit.py does)."""
    import tempfile

    from hush_core.auditing.document import AuditDocument
    from hush_core.files import files_digest
    from tasks.audit_record import record_audit, signed
    from tasks.runtime.environment import home
    from tasks.runtime.versions import certificate_of, find_version

    with tempfile.TemporaryDirectory() as folder:
        certificate = certificate_of(find_version(model_uri), Path(folder))
    document = AuditDocument(
        model=model_uri, certificate_digest=certificate.digest, model_files=files_digest(certificate.model_files),
        made_at="2027-01-01T00:00:00+00:00", store=home().fingerprint("identity"), outcome="refuted", attacks=(),
        tables={}, code={},
    )  # fmt: skip
    record_audit.fn(model_uri, signed(document), [], certificate.facts.run)


def verified_and_approved(model_uri):
    from flows.review import review
    from flows.verify import verify_target
    from hush_core.errors import HushError

    words = []
    for answer in (
        lambda: verify_target(model_uri).audit,
        lambda: review(model_uri, reviewer="ada", decision="approve", reason="looks good").decision,
    ):
        try:
            words.append(answer())
        except HushError as error:
            words.append(str(error))
    return words


def told_by(config):
    from mlflow import MlflowClient
    from rich.console import Console

    from flows.reports.job_screen import render
    from flows.train import train
    from hush_core.errors import HushError

    if config.startswith("models:/"):
        return verified_and_approved(config)
    try:
        report = train(config)
    except MemoryError:
        return "failed"
    except HushError as error:
        return str(error)
    version = MlflowClient().get_model_version("job", Path(report.model_uri).name)
    screen = Console(record=True, width=120, file=io.StringIO())
    render(report, screen)
    registered = {"tags": version.tags, "description": version.description}
    return report.model_dump(mode="json") | registered | {"screen": screen.export_text()}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
