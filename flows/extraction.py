"""The first steps of every flow: which text there is, and which of it holds which secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flows.check import check_config
from flows.reports.secrets import markdown
from hush_core.config import HushConfig
from tasks.extraction import Extracted, extract_secrets, scan_repositories
from tasks.publish_secrets import Summary, report_secrets
from tasks.runtime.environment import home
from tasks.runtime.steps import show_page
from tasks.sources import sources


def extracted_of(config: HushConfig) -> Extracted:
    """The tables of a config; on a cluster its repositories are scanned side by side first."""
    inputs = sources(config)
    scan_repositories(inputs, config)
    return extract_secrets(inputs, config)


def find_secrets(config_file: str, baseline: str | None = None, out: str | None = None) -> Summary:
    """What the flow `secrets` does."""
    config = check_config(Path(config_file), command="secrets")
    # weak credentials are reported here, and not refused
    gates = {entry.id for entry in config.secrets if getattr(entry, "weak", None) == "refuse"}
    entries = [e.model_copy(update={"weak": "drop"}) if e.id in gates else e for e in config.secrets]
    extracted = extracted_of(config.model_copy(update={"secrets": tuple(entries)}))
    folder = Path(out) if out else home().report_folder("secrets", Path(config_file))
    summary, url = report_secrets(config, extracted, folder, Path(baseline) if baseline else None)
    weak = {entry for entry, facts in summary.coverage["secrets"].items() if facts["weak_secrets"]}
    summary = replace(summary, refused=tuple(sorted(gates & weak)))
    show_page(markdown(summary, url), "hush-secrets", "where the secrets are")
    return summary
