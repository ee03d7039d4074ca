"""From a config to examples, secrets and edges: detect on whole files, propagate, label by overlap.

The promise rests on the graph being complete, so everything here errs on the side of more edges, and what
cannot be scanned is dropped from training and counted. No frame but `examples` and `public`, no message and
no name holds a value: names carry an HMAC-SHA256 under a key that stays outside the artifacts.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from hush_core.config import HushConfig, Repository
from hush_core.corpus import CleanView, Corpus, ReadOptions, read_corpus
from hush_core.corpus.tables import table_digest
from hush_core.errors import InputError
from hush_core.files import private_folder
from hush_core.memory import freed_at_once
from hush_core.progress import Progress
from hush_core.secrets.assembly import assemble
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.globs import Globs
from hush_core.secrets.detectors.registry import detector_of
from hush_core.secrets.documentation import DECIDED, leave_out_documentation
from hush_core.secrets.fingerprints import SCHEMA as FINGERPRINTS
from hush_core.secrets.fingerprints import fingerprints
from hush_core.secrets.graph import SecretGraph
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.priors import published_bits
from hush_core.secrets.propagation.propagators import PROPAGATORS, SearchedValues, give_up
from hush_core.secrets.redaction import REPLACED, redact, redacted_numbers


@dataclass(frozen=True, repr=False)
class Extraction(SecretGraph):
    """What extraction gives: the frames of the graph, and `coverage` (JSON-able, holds no value).

    fingerprints: keyed, of what was redacted (`fingerprints.SCHEMA`). replaced: REPLACED, where it was.
    """

    coverage: dict[str, Any] = field(default_factory=dict)
    fingerprints: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FINGERPRINTS))
    replaced: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REPLACED))


def source_revisions(config: HushConfig) -> dict[str, str]:
    """Label of each source → the commit that a repository's `rev` names now, or the SHA-256 of a table's file.

    Raises:
        InputError: no such repository, revision or table, or two sources with one label.
    """
    revisions = {}
    for repository in labelled(config):
        with CleanView(repository.path, repository.rev) as view:
            revisions[repository.label] = view.commit
    return revisions | {table.label: table_digest(table) for table in config.tables}


def extract(
    config: HushConfig,
    identity_key: bytes,
    progress: Progress | None = None,
    *,
    cache: Path | None = None,
    work: Path | None = None,
) -> Extraction:
    """All examples of the job, all secrets, and which example holds which: identical frames for the same
    repositories, config and key, with or without a cache.

    Args:
        identity_key: at least 16 secret bytes; names of credentials and literals are HMACs under it.
        progress: called as progress(stage, done, total).
        cache: a private folder (mode 0700) where scans by content and histories are kept, so that the next
            extraction reads only what is new. Holds no text; holds paths and addresses.
        work: a folder on disk for temporary files with all of the text, unlinked at once; None: the system's.

    Raises:
        InputError: an unreadable or unsafe repository, a shallow clone where whole histories are asked for,
            missing objects, or a credential too weak to protect.
    """
    if len(identity_key) < 16:
        raise InputError("identity key", "is shorter than 16 bytes", "give 32 random bytes, kept secret")
    progress = progress or (lambda stage, done, total: None)
    context = DetectorContext(identity_key, progress, cache, Globs(config.public, "public").match)
    how = config.chunk_bytes, config.max_file_bytes, needs_history(config), cache, identity_key, work
    reading = labelled(config), ReadOptions(*how), progress, config.tables
    _prepare(config, cache)
    early, late = _in_turn(config)
    with ExitStack() as stack:
        stack.enter_context(freed_at_once())
        corpus = stack.enter_context(read_corpus(*reading))
        found: list[DetectedSecret] = []
        labels, values, redaction, replaced = LabelTable(), SearchedValues(), None, (0, 0, 0)
        _detect(corpus, config, early, found, labels, values, context)
        if late is not None:
            chosen = redacted_numbers(config, found)
            values.search(corpus, found, labels, context, exact=chosen)
            # of replaced values not even their number may be published
            replaced = (*values.counted(without=chosen), values.cut)
            redaction = redact(config, corpus, found, labels, values, work)
            of = found[values.found[0]] if values.found else None
            corpus, found, labels = stack.enter_context(redaction.corpus), redaction.found, redaction.labels
            if redaction.slow:
                give_up(corpus, redaction.slow, of, found, labels, context)
            values = SearchedValues()
            _detect(corpus, config, late, found, labels, values, context)
        for propagator in PROPAGATORS:
            for number, new_labels in propagator(corpus, config, found, labels, context):
                labels.add(number, new_labels, "propagated")
                values.add(number, new_labels.search_terms)
        values.search(corpus, found, labels, context)
        found, labels, documented = leave_out_documentation(config, corpus, found, labels, set(values.found))
        graph, coverage = assemble(config, corpus, found, labels, redaction)
    coverage |= _searched(coverage["secrets"], documented, context, values, replaced)
    gone = {}
    if redaction is not None:
        gone = {"fingerprints": fingerprints(redaction.secrets, identity_key), "replaced": redaction.places}
    return Extraction(**vars(graph), coverage=coverage, **gone)


def _searched(
    secrets: dict[str, Any],
    documented: dict[str, Any],
    context: DetectorContext,
    values: SearchedValues,
    replaced: tuple[int, int, int],
) -> dict[str, Any]:
    """What coverage says of the search. Each entry of `secrets` gets what was left out as documentation.

    replaced: values, patterns and contents decoded in part, of the search before values were replaced.
    """
    decided = {entry: {DECIDED: sorted(names)} for entry, names in context.decided.items()}
    for entry in documented | decided:
        secrets[entry]["documentation"] = documented.get(entry, {}) | decided.get(entry, {})
    terms, patterns, cut = replaced
    propagation = {
        "values": terms + len(values.search_terms),
        "patterns": patterns + values.patterns,
        "decoded_in_part": max(cut, values.cut),
        **context.propagation,
    }
    return {"propagation": propagation, "blobs_scanned": 0, "blobs_reused": 0, **context.counts}


def _in_turn(config: HushConfig) -> tuple[list[int], list[int] | None]:
    """The entries, by number, that are looked for first, and those in redacted text (None: nothing is redacted)."""
    entries = list(enumerate(config.secrets))
    if all(entry.protect != "redact" for _, entry in entries):
        return [number for number, _ in entries], None
    late = [n for n, one in entries if one.protect != "redact" and detector_of(one.kind).reads_redacted]
    return [number for number, _ in entries if number not in late], late


def _prepare(config: HushConfig, cache: Path | None) -> None:
    """Make the folder of the cache. Let the detectors prepare while the corpus is read; nobody waits for them."""
    if cache is not None:
        private_folder(cache)
    beside = ThreadPoolExecutor(1)
    for kind in sorted({entry.kind for entry in config.secrets}):
        if (prepare := detector_of(kind).prepare) is not None:
            beside.submit(prepare, cache)
    beside.shutdown(wait=False)


def _detect(
    corpus: Corpus,
    config: HushConfig,
    entries: Iterable[int],
    found: list[DetectedSecret],
    labels: LabelTable,
    values: SearchedValues,
    context: DetectorContext,
) -> None:
    """Run the detectors of these entries; what they find comes behind what is `found`."""
    for number in entries:
        entry = config.secrets[number]
        decided = frozenset(getattr(entry, "not_secrets", ()))
        for finding in detector_of(entry.kind).detect(corpus, entry, context):
            if decided and finding.name.rpartition(":")[2] in decided:
                context.decided.setdefault(entry.id, []).append(f"{entry.id}/{finding.name}")
                continue
            name = f"{entry.id}/{finding.name}" if finding.name else entry.id
            labels.add(len(found), finding, entry.kind)
            values.add(len(found), finding.search_terms)
            bits = None if finding.bits is None else published_bits(finding.bits)
            found.append(DetectedSecret(number, name, bits, finding.provenance or entry.kind))


def needs_history(config: HushConfig) -> bool:
    """Whether an entry asks for whole histories, which tables have none of."""
    historical = [entry for entry in config.secrets if detector_of(entry.kind).history]
    if historical and not config.repos:
        raise InputError(
            f"secrets.{historical[0].id}",
            f"reads a history (kind {historical[0].kind}), and tables have none",
            "add the repository to `repos`, or take kind: unit for the authors of a table",
        )
    return bool(historical)


def labelled(config: HushConfig) -> tuple[Repository, ...]:
    """The repositories, once it is sure that each source has a name of its own."""
    where = "repos" if not config.tables else "repos, tables" if config.repos else "tables"
    for label, times in Counter(source.label for source in (*config.repos, *config.tables)).items():
        if times > 1:
            raise InputError(where, f"two of them are called {label!r}", "give each a `name` of its own")
        if not label:
            raise InputError(where, "a path gives no name", "give it a `name`")
    return config.repos


def scanned_kinds(kinds: Collection[str]) -> list[str]:
    """Those of these kinds whose detectors have something to do ahead."""
    return sorted(kind for kind in set(kinds) if detector_of(kind).scan is not None)


def scan_ahead(
    repository: Repository,
    kinds: Collection[str],
    identity_key: bytes,
    progress: Progress,
    *,
    chunk_bytes: int,
    max_file_bytes: int,
    cache: Path,
    work: Path | None = None,
) -> int:
    """Scan the repository's contents for these kinds and keep what is found in `cache`; how many were new.

    Arguments as of `extract`. The text itself is not kept: the extraction keeps that of all repositories together.

    Raises:
        InputError: an unreadable or unsafe repository, missing objects, or no text.
    """
    context = DetectorContext(identity_key, progress, cache)
    how = ReadOptions(chunk_bytes, max_file_bytes, False, None, identity_key, work)
    with read_corpus((repository,), how, progress) as corpus:
        for kind in scanned_kinds(kinds):
            detector_of(kind).scan(corpus, context)
    return context.counts["blobs_scanned"]
