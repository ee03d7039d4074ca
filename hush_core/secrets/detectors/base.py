"""What a detector is: a kind, a model of its entry in the config, and a function that finds.

A detector of your own is one value, named in the packaging of your own project:

    # acme_hush.py
    from typing import Literal
    from hush_core.config import SecretEntry
    from hush_core.secrets.detectors.base import Detector, Finding, Span

    class Marker(SecretEntry):
        kind: Literal["acme_marker"]
        text: str

    def detect(corpus, entry, context):
        marker = entry.text.encode()
        spans = []
        for blob in corpus.read:
            at = corpus.contents[blob].find(marker)
            if at >= 0:
                spans.append(Span(blob, at, at + len(marker)))
        yield Finding(spans=spans)

    DETECTOR = Detector("acme_marker", Marker, detect)

    # pyproject.toml; the name of the entry point is the kind
    [project.entry-points."hush.detectors"]
    acme_marker = "acme_hush:DETECTOR"

From then on `{id: x, kind: acme_marker, text: …, level: …}` is an entry like any other. What reports call its
secrets, and whether they are values or files, the class may say as hush's own do (`SecretEntry.says` and below).
Such code runs inside hush with the rights of its user; install only what you trust.

A detector must err towards more: what it misses is trained on unprotected. It must not put a value into a
name, a message or a log; `DetectorContext.identify` makes a name out of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hush_core.config import HushConfig, SecretEntry
from hush_core.corpus import Corpus
from hush_core.secrets.propagation.value_search import SearchTerm

if TYPE_CHECKING:
    from hush_core.secrets.detectors.context import DetectorContext

Numbers = Iterable[int] | np.ndarray


class Span(NamedTuple):
    """Bytes [start, end) of content number `blob`, at every place that has that content.

    reason: why, as the edges show it; the detector's kind if empty.
    value: these bytes are the secret's own value in full, so that an attack may look for it.
    """

    blob: int
    start: int
    end: int
    reason: str = ""
    value: bool = False


@dataclass(frozen=True)
class Labels:
    """What holds a secret. Chunks that it overlaps by one byte are labelled, and all exact copies of them.

    files: whole files, by number. blobs: whole contents, by number, in every file that has them; where no file
    does (text out of history), only their copies are labelled.
    spans: parts of contents. search_terms: values that are searched for everywhere, in all usual encodings.
    reason: for `files` and `blobs`, as the edges show it; the detector's kind if empty.
    copies: whether exact copies of chunks that `spans` overlap are labelled; not where the value is what is
    looked for, as the rest of such a chunk may be anybody's boilerplate.
    decided: contents in which the detector itself decided what holds the secret; copies in them are not looked for.
    """

    files: Numbers = field(default=(), repr=False)
    blobs: Numbers = field(default=(), repr=False)
    spans: Iterable[Span] = field(default=(), repr=False)
    search_terms: tuple[SearchTerm, ...] = field(default=(), repr=False)
    reason: str = ""
    copies: bool = True
    decided: Numbers = field(default=(), repr=False)


@dataclass(frozen=True)
class Finding(Labels):
    """One secret, and what holds it.

    name: what follows the entry's id in the secret's name; empty where an entry makes one secret. Never a
    value, and never an unkeyed hash of one.
    bits: measured, a low estimate of what a guess costs, of which a coarse level is published; None: the config's
    cap or declaration alone counts.
    provenance: what found it; the kind if empty.
    """

    name: str = ""
    bits: float | None = None
    provenance: str = ""


@dataclass(frozen=True)
class Detector:
    """One kind of entry.

    Args:
        kind: the word in the config.
        entry: the model of the entry, derived from `SecretEntry`, with `kind: Literal[…]`.
        detect: (corpus, entry, context) → the secrets, each with what holds it. Called once an entry.
        history: whether it needs the whole history; then each of `corpus.repositories` has one, and a shallow
            clone is refused, as is a job without repositories.
        version: changes whenever the same input may give other findings; kept results are not used then. Those of
            hush itself need none: they are kept by its code (`hush_core/secrets/code.py`).
        prepare: does what takes long and needs no corpus (compiling rules). It gets the private folder where the
            result may be kept for the next extraction, or None. It runs in a thread of its own while the corpus is
            read; `detect` may begin before it is done.
        reads_redacted: what it finds depends on all text (how often a word occurs). So it reads the text as it will
            be trained on; only what is to be redacted itself is looked for before.
        scan: the part of `detect` that `DetectorContext.scan` keeps by content; may be called before it, on each
            repository by itself and in another process.
        check: (config, entry): refuses what can be seen before a text is read.
    """

    kind: str
    entry: type[SecretEntry]
    detect: Callable[[Corpus, SecretEntry, DetectorContext], Iterable[Finding]]
    history: bool = False
    version: str = "1"
    prepare: Callable[[Path | None], object] | None = None
    reads_redacted: bool = False
    scan: Callable[[Corpus, DetectorContext], object] | None = None
    check: Callable[[HushConfig, SecretEntry], object] = lambda config, entry: None


@dataclass(frozen=True)
class DetectedSecret:
    """One secret: its entry in the config (by number), its name (never its value), the level of its measured bits
    (`priors.published_bits`) if any."""

    entry: int
    name: str
    bits: float | None
    provenance: str
