"""What becomes of every chunk: weak credentials refused or dropped, secrets protected, public chunks set apart."""

from dataclasses import dataclass

import numpy as np

from hush_core.config import HushConfig
from hush_core.corpus import ChunkLayout, Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.detectors.globs import Globs
from hush_core.secrets.labels import ChunkLabels, LabelTable
from hush_core.secrets.priors import WEAK_BITS
from hush_core.secrets.report.paths import masked


@dataclass(frozen=True)
class ChunkDisposition:
    """What becomes of chunks and secrets, as masks.

    lost: holds a secret that is left out, and is dropped. protected: holds a secret that is kept. public: neither,
    and named public. weak: by secret, left out: too weak to protect, or `protect: drop`.
    """

    lost: np.ndarray
    protected: np.ndarray
    public: np.ndarray
    weak: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        return ~self.lost & ~self.public


ORDINARY, OFTENER = 8, 4
"""Chunks with a copy of a weak value that make it ordinary text: at least so many, and so many for each in which
a rule saw a credential."""


def disposition_of(
    config: HushConfig, corpus: Corpus, layout: ChunkLayout, weak: np.ndarray, held: ChunkLabels
) -> ChunkDisposition:
    """Which chunks are dropped, protected or public."""
    lost, protected, public = (np.zeros(layout.chunks, dtype=bool) for _ in range(3))
    lost[held.chunk[weak[held.found]]] = True
    protected[held.chunk[~weak[held.found]]] = True
    protected &= ~lost
    if config.public:
        chunks, _ = layout.chunks_of_files(corpus.files_at(Globs(config.public, "public").match))
        public[chunks] = True
        public &= ~lost & ~protected
    return ChunkDisposition(lost, protected, public, weak)


def weak_secrets(
    config: HushConfig, corpus: Corpus, found: list[DetectedSecret], labels: LabelTable
) -> np.ndarray:
    """A mask of the secrets to drop; refuses those that must not be dropped, naming the place only.

    An entry's `weak: drop` or `refuse` decides, if its model has that key. Otherwise any measured secret whose
    prior is not below its target is refused.

    Raises:
        InputError: a credential is too weak, and its entry refuses that.
    """
    weak, refused = np.zeros(len(found), dtype=bool), {}
    for number, one in enumerate(found):
        secret = config.secrets[one.entry]
        if _always_dropped(config, one):
            weak[number] = True
            continue
        if one.bits is None:
            continue
        policy = getattr(secret, "weak", None)
        bits = one.bits if secret.bits is None else min(one.bits, secret.bits)
        too_high = config.prior(secret, one.bits) >= config.target(secret)
        if not too_high and (policy is None or bits >= WEAK_BITS):
            continue
        if policy == "drop":
            weak[number] = True
        else:
            refused[number] = bits
    if refused:
        raise _refusal(corpus, found, labels, refused)
    return weak


def _always_dropped(config: HushConfig, one: DetectedSecret) -> bool:
    """Whether it is dropped whatever its bits: the config asks for that, or its text was not scanned."""
    return config.secrets[one.entry].protect == "drop" or one.provenance == TOO_SLOW


def ordinary_text(
    config: HushConfig, found: list[DetectedSecret], weak: np.ndarray, held: ChunkLabels
) -> np.ndarray:
    """A mask of the weak credentials that this corpus mostly uses as a name, an id or a word.

    A chunk in which a rule saw one is dropped. Other copies say nothing of a credential, as those of a word.
    """
    copy = held.propagated
    seen, copies = (np.bincount(held.found[mask], minlength=len(found)) for mask in (~copy, copy))
    guessable = np.array([not _always_dropped(config, one) for one in found], dtype=bool)
    return weak & guessable & (copies >= ORDINARY) & (copies >= OFTENER * seen)


LISTED = 20
"""Values that a refusal lists; they are what a person must decide on, and hundreds are a rule to look at."""


def _refusal(
    corpus: Corpus, found: list[DetectedSecret], labels: LabelTable, refused: dict[int, float]
) -> InputError:
    """The refusal, with every value that is too weak: its rule, its entry, where it first is, and its level.

    In the order of the files; the first one is the message's own place. Never a value, in a file's name neither.
    """
    spans = labels.spans()
    chosen = np.isin(spans["found"], list(refused)) & labels.detected(spans)
    places: dict[int, list[tuple[int, int]]] = {number: [] for number in refused}
    for number, blob, start in zip(
        *(spans[c][chosen].tolist() for c in ("found", "blob", "start")), strict=True
    ):
        places[number] += [(int(file), start) for file in corpus.layout.files_of_blob(blob)[:1]]
    order = sorted(refused, key=lambda n: (not places[n], min(places[n], default=(0, 0)), n))
    rows = []
    for number in order[:LISTED]:
        entry, _, name = found[number].name.partition("/")
        where = f"secrets.{entry}"
        if places[number]:
            file, start = min(places[number])
            line = corpus.contents[int(corpus.blob[file])].count(b"\n", 0, start) + 1
            path = masked(corpus.file(file).path)
            where = f"{corpus.trees[int(corpus.tree[file])].source}:{path}:{line}"
        rows.append((where, name.rpartition(":")[0], entry, refused[number], len(set(places[number]))))
    where, rule, _, bits, _ = rows[0]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    what = f"holds a credential ({rule}) of which {bits:.0f} bits can be claimed, too easy to guess to be protected"
    what += more
    if more:
        what += ". All of them:" if len(rows) == len(refused) else f". The first {len(rows)}:"
        for place, rule, entry, bits, count in rows:
            times = f", {count} places" if count > 1 else ""
            what += f"\n  {place}  {rule}  entry {entry}, {bits:.0f} bits{times}"
        what += "\n"
    leave = "leave the examples that hold it out of training: `weak: drop`, the default"
    return InputError(where, what, f"remove and rotate it, or {leave}")
