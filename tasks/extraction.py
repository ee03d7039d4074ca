"""Step 1: repositories → examples, secrets and the edges between them, as references into the store."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.config import HushConfig, LiteralsSecret
from hush_core.errors import InputError
from hush_core.secrets import extract, source_revisions
from tasks.caching import cached_task
from tasks.environment import home
from tasks.progress import progress_log
from tasks.store import Ref, Store, file_sha256

SECTIONS = {"repos", "levels", "prior_cap_bits", "public", "secrets", "chunk_bytes", "max_file_bytes"}
"""The keys of the config that decide what is extracted; a change elsewhere re-uses the tables."""


class Sources(BaseModel):
    """What extraction depends on, by content."""

    model_config = ConfigDict(frozen=True)

    settings: dict
    revisions: dict[str, str]
    literals: dict[str, str]
    identity: str
    rules: str


class Extracted(BaseModel):
    """The tables of `docs/tables.md`, and what may be shown of them."""

    model_config = ConfigDict(frozen=True)

    examples: Ref
    public: Ref
    secrets: Ref
    edges: Ref
    occurrences: Ref
    coverage: Ref
    n_examples: int
    n_public: int
    n_secrets: int
    n_edges: int
    fingerprint: str
    """Of the table of examples. It and those of the commits are keyed: see `Home.fingerprint`."""
    commits: dict[str, str]
    """Repository label → fingerprint of the commit; the store's `commits/` tells which commit that is."""


def sources(config: HushConfig) -> Sources:
    """Resolve every revision and hash every literal file: cheap, and the whole cache key of extraction.

    Raises:
        InputError: a repository, revision or literal file that is not there.
    """
    files = [s.file for s in config.secrets if isinstance(s, LiteralsSecret)]
    return Sources(
        settings=config.model_dump(mode="json", include=SECTIONS),
        revisions=source_revisions(config),
        literals={str(path): _literals_sha256(path) for path in files},
        identity=home().fingerprint("identity"),
        rules=version("kingfisher-secret-scanner"),
    )


def _literals_sha256(path: Path) -> str:
    if not path.is_file():
        raise InputError(
            str(path), "no such file of literals", "correct `file:` of this secret in the config"
        )
    return file_sha256(path)


@cached_task(name="extract", version=1, ignore=["config"])
def extract_secrets(inputs: Sources, config: HushConfig) -> Extracted:
    """Find the secrets and the examples that hold them; store the tables."""
    found = extract(config, home().identity_key(), progress_log())
    store = Store(home().store)
    get_run_logger().info(
        "found %d secrets in %d of %d examples (%d edges); %d public examples",
        found.secrets.height,
        found.edges["example_id"].n_unique(),
        found.examples.height,
        found.edges.height,
        found.public.height,
    )
    tables = ("examples", "public", "secrets", "edges", "occurrences")
    refs = {name: store.put_frame(getattr(found, name), kind=name) for name in tables}
    return Extracted(
        **refs,
        coverage=store.put_json(_shown(found.coverage), kind="coverage"),
        n_examples=found.examples.height,
        n_public=found.public.height,
        n_secrets=found.secrets.height,
        n_edges=found.edges.height,
        fingerprint=home().fingerprint(refs["examples"].sha256),
        commits={label: _note_commit(store, commit) for label, commit in inputs.revisions.items()},
    )


def _note_commit(store: Store, commit: str) -> str:
    """Keep fingerprint → commit in the private store; returns the fingerprint."""
    fingerprint = home().fingerprint(commit)
    folder = store.root / "commits"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / fingerprint).write_text(commit + "\n")
    return fingerprint


def _shown(coverage: dict) -> dict:
    """The coverage report without commit ids, for the certificate and the tracker."""
    repositories = {
        label: {key: value for key, value in facts.items() if key != "commit"}
        for label, facts in coverage["repositories"].items()
    }
    return {**coverage, "repositories": repositories}
