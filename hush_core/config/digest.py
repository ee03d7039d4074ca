"""Which keys of the config are left out of `settings_digest`, and why; how sources are read, which is in.

A key is in the digest, or in `LEFT_OUT` with its reason; a test refuses one that is in neither. Later keys
(`mechanism`, how sources are read, `max_file_bytes`) are in only if they differ from their defaults, so most
earlier runs of a store keep their digest.
"""

import json
from collections.abc import Iterable

from hush_core.config.sources import Repository, Table

WHICH_TEXT = (
    "which text there is and what is a secret of it: the graph itself, which commits change every night. That it "
    "was not changed for what a model showed cannot be seen and is assumed (docs/retraining.md); the prior and "
    "target of each secret are compared run by run"
)
MODEL = "how a model is made of what is drawn: post-processing of the releases (Propositions 12 and 13)"
WORK = "how the work is done or shown; nothing of it is released"
CHOSEN = 1
"""The version of what chooses `weights.c`, `train.rounds` and `train.batch` where the file leaves them to the plan
(`hush_core/weights/choice.py`, `recommendation.py`). They follow from graph and file, so null and this number say
of them what a number would."""
LEFT_OUT = {
    "version": "has one value",
    "repos.path": WHICH_TEXT, "repos.rev": WHICH_TEXT, "repos.name": WHICH_TEXT,
    "tables.path": WHICH_TEXT, "tables.name": WHICH_TEXT,
    "public": WHICH_TEXT, "secrets": WHICH_TEXT + "; so does `protect: auto`, which the graph decides",
    "promise.since": "`promise.runs` follows from it", "promise.until": "`promise.runs` follows from it",
    "promise.cron": "`promise.runs` follows from it", "promise.timezone": "`promise.runs` follows from it",
    "model": MODEL, "pretrain": MODEL, "untagged": MODEL,
    "train.clip_norm": "the noise is a multiple of it: K, σ and T are the same",
    "train.learning_rate": MODEL, "train.schedule": MODEL, "train.warmup_rounds": MODEL,
    "train.optimizer": MODEL + "; `preconditioned` scales before the clip, by untagged text alone (17)",
    "train.untagged_batch": MODEL, "train.average": MODEL, "train.average_decay": MODEL, "train.freeze": MODEL,
    "train.keep": MODEL, "train.precision": MODEL,
    "train.early_stopping": "all rounds of the plan count, however few are made",
    "train.processes": WORK, "train.micro_batch": WORK, "train.checkpoint_every": WORK,
    "train.evaluate_every": WORK,
    "audit.alternatives": WORK, "audit.unprotected": "draws nothing; no bound covers what it publishes, as it says",
    "tracking": WORK,
}  # fmt: skip
"""Dotted key, or the section of all of them → why it cannot matter."""


def read_otherwise(repos: Iterable[Repository], tables: Iterable[Table]) -> list[tuple[str, str]]:
    """Name of each source that is not read as by default, and how it is; sorted."""
    found: list[tuple[str, str]] = []
    for kind, sources in (("repos", repos), ("tables", tables)):
        which = {key.partition(".")[2] for key in LEFT_OUT if key.startswith(f"{kind}.")}
        for source in sources:
            how = source.model_dump(mode="json", exclude=which, exclude_defaults=True)
            found += [(f"{kind}.{source.label}", json.dumps(how, sort_keys=True))] if how else []
    return sorted(found)
