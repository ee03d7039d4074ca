"""From a config to examples, secrets and edges: detect on whole files, propagate, label by overlap.

The promise rests on the graph being complete, so everything here errs on the side of more edges, and what
cannot be scanned is dropped from training and counted. No frame but `examples` and `public`, no message and
no name holds a value: names carry an HMAC-SHA256 under a key that stays outside the artifacts.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hush_core.config import (
    CodeownersSecret,
    ContributorsSecret,
    CredentialsSecret,
    HushConfig,
    LiteralsSecret,
    PathSecret,
    Repository,
)
from hush_core.corpus.chunks import chunk_ranges, overlapped
from hush_core.corpus.clean_view import CleanView
from hush_core.corpus.history import Contributors, read_contributors
from hush_core.corpus.tree import Tree, read_blobs, read_tree
from hush_core.errors import InputError
from hush_core.secrets.assembly import Chunk, Found, Label, assemble
from hush_core.secrets.codeowners import LOCATIONS, Codeowners, owned
from hush_core.secrets.contributors import contributed
from hush_core.secrets.credentials import PRIVATE_KEY, CredentialScanner, canonical, key_body, key_lines
from hush_core.secrets.graph import SecretGraph
from hush_core.secrets.literals import read_literals
from hush_core.secrets.paths import Globs
from hush_core.secrets.priors import WEAK_BITS, guess_bits
from hush_core.secrets.propagation import Propagator, Sought

Progress = Callable[[str, int, int], None]

SHORT_WEAK_BYTES = 10
"""A weak credential of letters only and shorter than this ("password") is labelled where rules see it, not
sought elsewhere: it is a word, and its other places say nothing."""


@dataclass(frozen=True, repr=False)
class Extraction:
    """What extraction gives: the frames of the graph, and `coverage` (JSON-able, holds no value)."""

    graph: SecretGraph
    coverage: dict[str, Any]

    @property
    def examples(self) -> pl.DataFrame:
        return self.graph.examples

    @property
    def public(self) -> pl.DataFrame:
        return self.graph.public

    @property
    def secrets(self) -> pl.DataFrame:
        return self.graph.secrets

    @property
    def edges(self) -> pl.DataFrame:
        return self.graph.edges

    @property
    def occurrences(self) -> pl.DataFrame:
        return self.graph.occurrences

    def __repr__(self) -> str:
        return f"Extraction({self.graph!r})"


def source_revisions(config: HushConfig) -> dict[str, str]:
    """Label of each repository → the full id of the commit that its `rev` names now; reads no file content.

    Raises:
        InputError: no such repository or revision, or two repositories with one label.
    """
    revisions = {}
    for repository in _labelled(config):
        with CleanView(repository.path, repository.rev) as view:
            revisions[repository.label] = view.commit
    return revisions


def extract(config: HushConfig, identity_key: bytes, progress: Progress | None = None) -> Extraction:
    """All examples of the job, all secrets, and which example holds which.

    The same repositories, config and key give identical frames.

    Args:
        identity_key: at least 16 secret bytes; names of credentials and literals are HMACs under it.
        progress: called as progress(stage, done, total).

    Raises:
        InputError: an unreadable or unsafe repository, a shallow clone where contributors are asked for,
            missing objects, a credential too weak to protect, or no example that holds any of the secrets.
    """
    if len(identity_key) < 16:
        raise InputError("identity key", "is shorter than 16 bytes", "give 32 random bytes, kept secret")
    job = _Job(config, identity_key, progress or (lambda stage, done, total: None))
    job.read()
    job.label_files()
    job.detect()
    job.propagate()
    graph, coverage = assemble(config, job.trees, job.chunks, job.found, job.labels)
    coverage["propagation"] = {"values": len(job.sought), "patterns": job.patterns}
    for tree, history in zip(job.trees, job.histories, strict=False):
        coverage["repositories"][tree.source]["history_commits"] = history.commits
    return Extraction(graph, coverage)


@dataclass
class _Job:
    """The working state of one extraction, filled in the order of its methods."""

    config: HushConfig
    key: bytes = field(repr=False)
    progress: Progress
    trees: list[Tree] = field(default_factory=list)
    histories: list[Contributors] = field(default_factory=list)
    owners: list[list[Codeowners]] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list, repr=False)
    found: list[Found] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    sought: list[tuple[int, Sought]] = field(default_factory=list, repr=False)
    patterns: int = 0
    contents: dict[str, bytes] = field(default_factory=dict, repr=False)
    places: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    first_chunk: dict[tuple[int, int], int] = field(default_factory=dict)

    def read(self) -> None:
        """Trees, chunks, and what the detectors of files need of each repository."""
        with_people = any(isinstance(s, ContributorsSecret) for s in self.config.secrets)
        repositories = _labelled(self.config)
        for done, repository in enumerate(repositories):
            self.progress("read", done, len(repositories))
            with CleanView(repository.path, repository.rev) as view:
                tree = read_tree(view, repository.label, self.config.max_file_bytes)
                special = _contents(view, tree, (*LOCATIONS, b".mailmap"))
                self.owners.append([Codeowners(special[p]) for p in LOCATIONS if p in special])
                if with_people:
                    self.histories.append(read_contributors(view, special.get(b".mailmap", b"")))
            self.trees.append(tree)
            self.contents |= tree.blobs
        self.progress("read", len(repositories), len(repositories))
        for t, tree in enumerate(self.trees):
            for f, file in enumerate(tree.files):
                content = tree.blobs[file.blob]
                self.first_chunk[t, f] = len(self.chunks)
                self.places[file.blob].append(len(self.chunks))
                for start, end in chunk_ranges(len(content), self.config.chunk_bytes):
                    self.chunks.append(Chunk(t, f, start, end, content[start:end]))
        if not self.chunks:
            raise InputError(
                "repos",
                "hold no file that can be read as text",
                "give a revision with text files below the limit",
            )

    def label_files(self) -> None:
        """Secrets that whole files hold: by path, by owner, by contributor; exact copies hold them too."""
        for number, secret in enumerate(self.config.secrets):
            if isinstance(secret, PathSecret):
                globs = Globs(secret.globs, f"secrets.{secret.id}.globs")
                hit = [{i for i, f in enumerate(t.files) if globs.match(f.match_path)} for t in self.trees]
            elif isinstance(secret, CodeownersSecret):
                hit = [
                    {i for i, f in enumerate(t.files) if owned(files, secret.teams, f.match_path)}
                    for t, files in zip(self.trees, self.owners, strict=True)
                ]
            elif isinstance(secret, ContributorsSecret):
                hit = contributed(self.trees, self.histories, secret.emails)
            else:
                continue
            self.found.append(Found(number, secret.id, None, secret.kind))
            self._label_chunks(len(self.found) - 1, hit, secret.kind)

    def _label_chunks(self, found: int, files: list[set[int]], reason: str) -> None:
        chosen: set[int] = set()
        blobs: set[str] = set()
        for t, indices in enumerate(files):
            for f in indices:
                blob = self.trees[t].files[f].blob
                blobs.add(blob)
                first = self.first_chunk[t, f]
                chosen.update(range(first, first + self._count(blob)))
        self.labels += [Label(chunk, found, reason) for chunk in chosen]
        full = {
            self.chunks[c].text for c in chosen if len(self.chunks[c].text) == self.config.chunk_bytes
        }  # a whole chunk that stands elsewhere byte for byte is the same training example
        copies = {c for b in blobs for first in self.places[b] for c in range(first, first + self._count(b))}
        copies |= {c for c, chunk in enumerate(self.chunks) if chunk.text in full}
        self.labels += [Label(chunk, found, "propagated:copy") for chunk in copies - chosen]

    def _count(self, blob: str) -> int:
        return -(-len(self.contents[blob]) // self.config.chunk_bytes)

    def detect(self) -> None:
        """Values: every literal, and every credential that the rules find; one secret a distinct value."""
        for number, secret in enumerate(self.config.secrets):
            if isinstance(secret, LiteralsSecret):
                for line, value in read_literals(secret.file):
                    name = f"{secret.id}/{line}:{self._identity(value)}"
                    self.found.append(Found(number, name, None, "literals"))
                    self.sought.append((len(self.found) - 1, Sought(value, any_case=True)))
        wanted = [n for n, s in enumerate(self.config.secrets) if isinstance(s, CredentialsSecret)]
        if wanted:
            self._detect_credentials(wanted)

    def _detect_credentials(self, wanted: list[int]) -> None:
        scanner = CredentialScanner()
        rules: dict[bytes, dict[str, float]] = defaultdict(dict)
        spellings: dict[bytes, set[bytes]] = defaultdict(set)
        spans: dict[bytes, list[tuple[str, int, int, str]]] = defaultdict(list)
        for done, (blob, content) in enumerate(self.contents.items()):
            if done % 512 == 0:
                self.progress("detect", done, len(self.contents))
            for d in scanner.scan(content):
                same = canonical(d.rule, d.value)
                rules[same].setdefault(d.rule, guess_bits(d.rule, d.value))
                spellings[same].add(d.value)
                spans[same].append((blob, d.start, d.end, d.rule))
        self.progress("detect", len(self.contents), len(self.contents))
        for number in wanted:
            secret = self.config.secrets[number]
            named = sorted(
                (f"{secret.id}/{_least(rules[same])}:{self._identity(same)}", same) for same in spans
            )
            for name, same in named:
                rule = _least(rules[same])
                bits = rules[same][rule]
                self.found.append(Found(number, name, bits, f"{scanner.provenance} {rule}"))
                index = len(self.found) - 1
                declared = bits if secret.bits is None else min(bits, secret.bits)
                if not (declared < WEAK_BITS and len(same) < SHORT_WEAK_BYTES and same.isalpha()):
                    fragments: set[bytes] = set()
                    if PRIVATE_KEY in rules[same]:
                        fragments |= {line for v in spellings[same] for line in key_lines(v)}
                        fragments |= {b for v in spellings[same] if len(b := key_body(v)) >= 64}
                    for n, spelling in enumerate(sorted(spellings[same])):
                        parts = tuple(sorted(fragments)) if n == 0 else ()
                        self.sought.append((index, Sought(spelling, fragments=parts)))
                for blob, start, end, rule_here in spans[same]:
                    value = self.contents[blob][start:end] in spellings[same]
                    self._label_span(index, blob, start, end, f"credentials:{rule_here}", value)

    def propagate(self) -> None:
        """Seek every value in every file."""
        if not self.sought:
            return
        search = Propagator([s for _, s in self.sought])
        self.patterns = search.patterns
        for done, (blob, content) in enumerate(self.contents.items()):
            if done % 512 == 0:
                self.progress("propagate", done, len(self.contents))
            for hit in search.find(content):
                index, sought = self.sought[hit.index]
                literal = sought.any_case and hit.form == "raw"
                reason = "literals" if literal else f"propagated:{hit.form}"
                value = hit.form == "raw" and content[hit.start : hit.end] == sought.value
                self._label_span(index, blob, hit.start, hit.end, reason, value)
        self.progress("propagate", len(self.contents), len(self.contents))

    def _label_span(self, found: int, blob: str, start: int, end: int, reason: str, value: bool) -> None:
        """Label every chunk that the span overlaps, at every place where the blob stands."""
        touched = overlapped(start, end, self.config.chunk_bytes)
        for first in self.places[blob]:
            for c in touched:
                inside = value and len(touched) == 1
                base = c * self.config.chunk_bytes
                where = (start - base, end - base) if inside else None
                self.labels.append(Label(first + c, found, reason, where, start))

    def _identity(self, value: bytes) -> str:
        return hmac.new(self.key, value, hashlib.sha256).hexdigest()[:12]


def _least(rules: dict[str, float]) -> str:
    """The rule that claims least for a value that several rules found."""
    return min(rules, key=lambda rule: (rules[rule], rule))


def _labelled(config: HushConfig) -> tuple[Repository, ...]:
    for label, times in Counter(r.label for r in config.repos).items():
        if times > 1:
            raise InputError(
                "repos", f"two repositories are called {label!r}", "give each a `name` of its own"
            )
        if not label:
            raise InputError("repos", "a repository's path gives it no name", "give it a `name`")
    return config.repos


def _contents(view: CleanView, tree: Tree, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """The contents of a few files by path, also of those that are not trained on."""
    wanted = {p: tree.paths[p] for p in paths if p in tree.paths}
    contents = {}
    with contextlib.closing(read_blobs(view, sorted(set(wanted.values())))) as blobs:
        contents = dict(blobs)
    return {p: contents[b] for p, b in wanted.items()}
