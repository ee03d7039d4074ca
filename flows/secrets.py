"""Which files hold which secret? The extraction alone, reported; weighs, plans and trains nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.check import check_config
from flows.extraction import extracted_of
from flows.reports.secrets import markdown
from hush_core.config import HushConfig
from tasks.leftovers import claim_flow_run
from tasks.publish_secrets import Summary, report_secrets
from tasks.runtime.environment import home
from tasks.runtime.names import named
from tasks.runtime.progress import suspendable
from tasks.runtime.runner import ChosenRunner


@flow(name="secrets", flow_run_name=named("secrets"), validate_parameters=True, task_runner=ChosenRunner())
@suspendable
def secrets(config_file: str, baseline: str | None = None, out: str | None = None) -> Summary:
    """Find the secrets of a config, and report where they stand and what changed since the last report.

    Args:
        config_file: the YAML file, or the folder of a git repository, on the machine that runs the flow.
        baseline: the baseline.json of an earlier report; without it that of the report in `out`, if there is one.
        out: folder for the report, a private place; without it one of the config's own under HUSH_HOME/secrets.
    """
    claim_flow_run()
    config, gates = _without_gates(check_config(Path(config_file), command="secrets"))
    extracted = extracted_of(config)
    folder = Path(out) if out else home().report_folder("secrets", Path(config_file))
    summary, url = report_secrets(config, extracted, folder, Path(baseline) if baseline else None)
    weak = {entry for entry, facts in summary.coverage["secrets"].items() if facts["weak_secrets"]}
    summary = replace(summary, refused=tuple(sorted(gates & weak)))
    create_markdown_artifact(
        markdown(summary, url), key="hush-secrets", description="where the secrets stand"
    )
    return summary


def _without_gates(config: HushConfig) -> tuple[HushConfig, set[str]]:
    """The config with weak credentials reported instead of refused, and the entries that refuse them."""
    gates = {entry.id for entry in config.secrets if getattr(entry, "weak", None) == "refuse"}
    entries = [e.model_copy(update={"weak": "drop"}) if e.id in gates else e for e in config.secrets]
    return config.model_copy(update={"secrets": tuple(entries)}), gates
