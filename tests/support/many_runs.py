"""Several runs of the training flow in one process: starting a server takes longer than the runs of these tests."""

import io
import json
import subprocess
import sys
from pathlib import Path

from jobs import ROOT


def run_all(job, order):
    """What each run of `order`, (config, whether its second release fails), reported: a dict, "failed", or an
    InputError in words. After a config comes "promote" for one whose version is then
    approved in a review; "tamper" and "mend" then turn a byte of the version that was approved last."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps([[str(config), then] for config, then in order])],
        cwd=job.folder, env=job.environment | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL,
    )  # fmt: skip
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

    promoted = Path()
    for config, then in order:
        ReleaseLedger.count = dies if then is True else count
        print("RAN", json.dumps(told := told_by(config)), flush=True)
        if then == "promote":
            from flows.review import review

            review(told["model_uri"], reviewer="ada", decision="approve", reason="within every target")
            promoted = artifact(told["model_uri"])
        elif then in ("tamper", "mend"):
            turned(next(promoted.rglob("*.safetensors")))


def artifact(model_uri):
    """Where the tracker keeps a version's files."""
    from mlflow import MlflowClient

    name, version = model_uri.removeprefix("models:/").split("/")
    source = MlflowClient().get_model_version_download_uri(name, version)
    return Path(source.removeprefix("file://"))


def turned(file):
    """The last byte the other way round; twice, and it is as it was."""
    data = bytearray(file.read_bytes())
    data[-1] ^= 0xFF
    file.write_bytes(data)


def told_by(config):
    from mlflow import MlflowClient
    from rich.console import Console

    from flows.reports.job_screen import render
    from flows.train import train
    from hush_core.errors import InputError

    try:
        report = train(config)
    except MemoryError:
        return "failed"
    except InputError as error:
        return str(error)
    version = MlflowClient().get_model_version("job", Path(report.model_uri).name)
    screen = Console(record=True, width=120, file=io.StringIO())
    render(report, screen)
    registered = {"tags": version.tags, "description": version.description}
    return report.model_dump(mode="json") | registered | {"screen": screen.export_text()}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
