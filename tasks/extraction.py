"""Step 1: repositories and tables → examples, secrets and the edges between them, as references into the store."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from hush_core.config import HushConfig, Repository
from hush_core.errors import HushError, InputError
from hush_core.files import private_folder
from hush_core.progress import in_percent
from hush_core.secrets import extract, scan_ahead, scanned_kinds
from hush_core.secrets.coverage import published, repeatable
from tasks.redaction import note_redaction
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.runner import cluster
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, open_store
from tasks.sources import Sources
from tasks.wording import counted


class Extracted(BaseModel, frozen=True):
    """The tables of `docs/reference/certificate_fields.rst`, and what may be shown of them."""

    examples: Ref
    public: Ref
    secrets: Ref
    edges: Ref
    occurrences: Ref
    dropped: Ref
    redacted: Ref
    redactions: Ref
    redacted_values: Ref
    replaced: Ref
    redaction_fingerprints: Ref
    coverage: Ref
    """What may be shown of what was read and found."""
    whole_coverage: Ref
    """All of it; private, as it depends on tagged text."""
    skipped: Ref
    """Source → (reason, path) of files that were not read; private."""
    n_examples: int
    n_public: int
    n_secrets: int
    n_edges: int
    n_redacted: int
    n_redacted_places: int
    fingerprint: str
    """Of the table of examples. It and those of the commits are keyed: see `Home.fingerprint`."""
    commits: dict[str, str]
    """Label → keyed fingerprint of a repository's commit, or of the SHA-256 of a table's file; the store's
    `commits/` says which that is."""

    @property
    def graph(self) -> dict[str, Any]:
        """What weights are solved for."""
        return {name: getattr(self, name) for name in ("examples", "edges", "secrets", "n_examples")}


@cached_task(name="extract", version=11, ignore=["config"])
def extract_secrets(inputs: Sources, config: HushConfig) -> Extracted:
    """Find the secrets and the examples that hold them; store the tables.

    Scans by content and histories are kept under the store's `extraction/`, so that the next run, on newer
    commits, reads only what is new.
    """
    store = open_store()
    work = store.work_dir("extraction")
    cache = store.root / "extraction"
    found = extract(config, home().identity_key(), in_percent(progress_log()), cache=cache, work=work)
    counts = {
        name: getattr(found, name).height for name in ("examples", "public", "secrets", "edges", "redacted")
    }
    places, holding = int(found.redacted["places"].sum()), found.edges["example_id"].n_unique()
    run_logger().info(
        "found %s in %d of %d examples (%d edges); %d public examples",
        counted(counts["secrets"], "secret"), holding, counts["examples"], counts["edges"], counts["public"],
    )  # fmt: skip
    if counts["redacted"]:
        run_logger().info("redacted %d values in %d places", counts["redacted"], places)
    tables = (
        "examples", "public", "secrets", "edges", "occurrences", "dropped", "redacted", "redactions",
        "redacted_values", "replaced",
    )  # fmt: skip
    refs = {name: store.put_frame(getattr(found, name), kind=name) for name in tables}
    fingerprint = home().fingerprint(refs["examples"].sha256)
    kept = store.put_frame(found.fingerprints, kind="redaction_fingerprints")
    note_redaction(store, fingerprint, refs["examples"], refs["public"], kept)
    commits = {label: home().fingerprint(commit) for label, commit in inputs.revisions.items()}
    for label, mark in commits.items():  # which commit that is, for this home alone
        (private_folder(store.root / "commits") / mark).write_text(inputs.revisions[label] + "\n")
    return Extracted(
        **refs,
        redaction_fingerprints=kept,
        coverage=store.put_json(published(found.coverage), kind="coverage"),
        whole_coverage=store.put_json(repeatable(found.coverage), kind="whole_coverage"),
        skipped=store.put_json(
            {label: facts["skipped_files"] for label, facts in found.coverage["repositories"].items()},
            kind="skipped",
        ),
        **{f"n_{name}": count for name, count in counts.items()},
        n_redacted_places=places,
        fingerprint=fingerprint,
        commits=commits,
    )


def protects_nothing(facts: dict[str, Any]) -> bool:
    """Whether an entry of the coverage report holds no text at all: none noised, redacted or left out for it."""
    unseen = facts["without_example"] - facts["only_in_dropped"]
    elsewhere = facts["weak_secrets"] + facts["left_out_secrets"] + facts["redacted_places"]
    return unseen == facts["secrets"] and not elsewhere


def refuse_empty_entries(config: HushConfig, extracted: Extracted) -> None:
    """Refuse to train where an entry protects nothing and was not allowed to. Raises InputError: names all of
    them."""
    coverage = open_store().read_json(extracted.coverage)
    allowed = {entry.id for entry in config.secrets if entry.may_be_empty}
    empty = [
        name for name, facts in coverage["secrets"].items() if name not in allowed and protects_nothing(facts)
    ]
    if empty:
        raise InputError(
            ", ".join(f"secrets.{name}" for name in empty),
            "protects nothing: no text holds it"
            if len(empty) == 1
            else "protect nothing: no text holds them",
            "correct names, globs or file (`hush secrets` shows what is found), or write may_be_empty: true there",
        )


def refuse_without_edges(extracted: Extracted) -> None:
    """Refuse to plan noise for nothing. Raises InputError: nothing is found, or every secret is redacted or left
    out."""
    if extracted.n_edges:
        return
    coverage = open_store().read_json(extracted.coverage)
    if all(map(protects_nothing, coverage["secrets"].values())):
        what = "no example holds any of the secrets, so there is nothing to protect"
        hint = "check globs, teams, addresses and the revision; `hush secrets` shows what is found"
        raise InputError("secrets", what, hint)
    raise InputError(
        "secrets",
        "are all redacted or left out: no example holds one any more, and there is nothing to plan noise for",
        "protect at least one entry by noise, or take mechanism: {kind: redaction}, which trains without noise",
    )


def scan_repositories(inputs: Sources, config: HushConfig) -> None:
    """One task a repository where a cluster does the flow's tasks; nothing where this process would do them all, or
    where the workers have no part in this home, in which scans are kept.

    What a repository is refused for the extraction says, which reads it again.
    """
    kinds = scanned_kinds({entry.kind for entry in config.secrets})
    found = cluster()
    if found is None or len(config.repos) < 2 or not kinds or not found.with_home():
        return
    running = [
        scan_repository.submit(
            repository.model_copy(update={"rev": inputs.revisions[repository.label]}), kinds,
            chunk_bytes=config.chunk_bytes, max_file_bytes=config.max_file_bytes,
            made_by=f"{inputs.identity} {inputs.detectors}",
        )
        for repository in config.repos
    ]  # fmt: skip
    for one in running:
        result = one.result(raise_on_failure=False)
        if isinstance(result, BaseException) and not isinstance(result, HushError):
            raise result


@cached_task(name="scan", version=1)
def scan_repository(
    repository: Repository, kinds: list[str], *, chunk_bytes: int, max_file_bytes: int, made_by: str
) -> int:
    """Keep what detectors find in each content of a repository; how many were new.

    `made_by`: the identity and the detectors, as one line: others scan again.
    """
    store = open_store()
    return scan_ahead(
        repository, kinds, home().identity_key(), in_percent(progress_log()), chunk_bytes=chunk_bytes,
        max_file_bytes=max_file_bytes, cache=store.root / "extraction", work=store.work_dir("extraction"),
    )  # fmt: skip
