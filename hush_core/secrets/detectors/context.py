"""What the engine lends to detectors: keyed names, progress, and scans whose results are kept between runs."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hush_core.corpus import Corpus
from hush_core.corpus.git.blobs import Skipped
from hush_core.progress import Progress
from hush_core.secrets.detectors.scans import Scan, scan_contents

T = TypeVar("T")


@dataclass
class DetectorContext:
    """One extraction's tools.

    Args:
        key: the identity key.
        progress: called as progress(stage, done, total).
        cache: where results of scans are kept for the next run, or None.
        public: a path → whether the config names it public.

    Attributes:
        counts: what detectors counted, for the coverage report (`blobs_scanned`, `blobs_reused`, …).
        propagation: what propagators counted, for the same report; JSON-able, holds no value.
        decided: entry → the names of its values that a person decided are no secrets.
    """

    key: bytes = field(repr=False)
    progress: Progress
    cache: Path | None = None
    public: Callable[[str], bool] = field(default=lambda path: False, repr=False)
    counts: Counter[str] = field(default_factory=Counter)
    propagation: dict[str, Any] = field(default_factory=dict)
    decided: dict[str, list[str]] = field(default_factory=dict)
    _made: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    _left_out: set[tuple[int, bytes]] = field(default_factory=set, repr=False)
    _scans: dict[tuple[str, str], Scan] = field(default_factory=dict, repr=False)

    def identify(self, value: bytes) -> str:
        """Twelve hexadecimal digits that name a value and tell nothing about it: an HMAC under the key."""
        return hmac.new(self.key, value, hashlib.sha256).hexdigest()[:12]

    def once(self, name: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made once for all entries of this extraction."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def leave_out(self, corpus: Corpus, slow: Sequence[int]) -> None:
        """Count and name the files of contents that took too long, each path once, as neither scanned nor trained
        on."""
        for number in np.flatnonzero(np.isin(corpus.blob, slow)).tolist():
            place = int(corpus.tree[number]), corpus.file(number).raw
            if place in self._left_out:
                continue
            self._left_out.add(place)
            skipped = corpus.trees[place[0]].skipped
            if isinstance(skipped, Skipped):
                skipped.note("too_slow", place[1])
            else:
                skipped["too_slow"] += 1

    def scan(
        self,
        corpus: Corpus,
        name: str,
        version: str,
        look: Callable[[bytes], Iterable[tuple[int, int, str]]],
    ) -> Scan:
        """What `look` finds in each content: (start, end, tag) rows; each content is looked at once.

        Results are kept by content, name and version: as places and tags, never as text. So `look` must
        depend on the content alone, and a tag must hold no value.
        """
        if (name, version) not in self._scans:

            def progress(done: int, total: int) -> None:
                self.progress("detect", done, total)

            scan = scan_contents(corpus, f"{name} {version}", look, self.cache, self.key, progress)
            self._scans[name, version] = scan
            self.counts["blobs_scanned"] += scan.scanned
            self.counts["blobs_reused"] += scan.reused
        return self._scans[name, version]
