"""From what was found to what else holds it: the seam for propagators.

A propagator gets the corpus, the config, the secrets found so far and their labels, and yields (number of the
secret, what else holds it). They run in the order of PROPAGATORS, each on the labels of those before; then every
value is searched for, and exact copies are labelled (`LabelTable.held`).

Ours are in `spreaders.py`. Reasons begin with "propagated:".
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from hush_core.config import HushConfig
from hush_core.corpus import Corpus
from hush_core.secrets.code import code_version
from hush_core.secrets.detectors.base import DetectedSecret, Labels, Span
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.detectors.scans import scan_contents
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.spreaders import importers, near_copies
from hush_core.secrets.propagation.value_search import CUT, Hit, SearchTerm, ValueSearch, is_slow
from hush_core.secrets.propagation.value_versions import VersionSearch

Propagator = Callable[
    [Corpus, HushConfig, Sequence[DetectedSecret], LabelTable, DetectorContext], Iterator[tuple[int, Labels]]
]

PROPAGATORS: tuple[Propagator, ...] = (near_copies, importers)

KEPT = 8
"""Results of so many searches are kept, each of its values."""


@dataclass
class SearchedValues:
    """The values that are searched for, each with the number of its secret."""

    found: list[int] = field(default_factory=list)
    search_terms: list[SearchTerm] = field(default_factory=list, repr=False)
    patterns: int = 0
    cut: int = 0
    """Contents that decode to more than was searched."""
    slow: list[int] = field(default_factory=list)
    """Contents, by number, of which the search was given up."""
    value_search: ValueSearch | None = field(default=None, repr=False)

    def add(self, found: int, search_terms: Sequence[SearchTerm]) -> None:
        self.found += [found] * len(search_terms)
        self.search_terms += search_terms

    def counted(self, without: Set[int]) -> tuple[int, int]:
        """How many values, and byte strings, are searched for on account of other secrets than these."""
        kept = [found not in without for found in self.found]
        patterns = self.value_search.patterns_of(kept.__getitem__) if self.value_search is not None else 0
        return sum(kept), patterns

    def search(
        self,
        corpus: Corpus,
        found: list[DetectedSecret],
        labels: LabelTable,
        context: DetectorContext,
        exact: Set[int] = frozenset(),
    ) -> None:
        """Search every content for every value, in all usual encodings, and label each place. A content whose
        search took too long becomes a secret with 0 bits: it is left out of training, and named.

        Args:
            found: the secrets; that of the contents given up comes after them.
            exact: secrets of which only the value's own bytes are labelled, as they are to be replaced. For others
                a line of a private key is labelled with a margin.
        """
        if not self.search_terms:
            return
        self.value_search = ValueSearch(self.search_terms)
        self.patterns = self.value_search.patterns
        for blob, hits in _hits(corpus, self.value_search, self.search_terms, context):
            if is_slow(hits):
                self.slow.append(blob)
                continue
            content = corpus.contents[blob]
            for hit in hits:
                if hit.form == CUT:
                    self.cut += 1
                    continue
                value = self.search_terms[hit.index]
                raw = hit.form == "raw"
                reason = value.reason if raw and value.reason else f"propagated:{hit.form}"
                stands = raw and content[hit.start : hit.end] == value.value
                number = self.found[hit.index]
                places = [(hit.start, hit.end), *hit.ends(content, value)]
                for start, end in places if number in exact else [hit.with_armour(content)]:
                    labels.add_span(number, Span(blob, start, end, reason, stands), copied=False)
        if self.slow:
            give_up(corpus, self.slow, found[self.found[0]], found, labels, context)


def _hits(
    corpus: Corpus, search: ValueSearch, terms: Sequence[SearchTerm], context: DetectorContext
) -> Iterator[tuple[int, list[Hit]]]:
    """What is found in each content that has anything. Where scans are kept, it is kept for the values of the last
    `KEPT` searches: a night whose new commits bring no new value searches the new contents alone."""

    def progress(done: int, total: int) -> None:
        context.progress("propagate", done, total)

    values = [(t.value, t.any_case, t.fragments, t.ends, t.apart) for t in terms]
    how = context.cache, context.key, progress
    scan = scan_contents(
        corpus, f"{code_version()} {values}", VersionSearch(search), *how, kind="values",
        row=lambda hit: (hit.start, hit.end, f"{hit.index} {hit.form}"),
    )  # fmt: skip
    if context.cache is not None and scan.scanned:
        kept = sorted((context.cache / "values").glob("*.parquet"), key=lambda file: file.stat().st_mtime)
        for file in kept[:-KEPT]:
            file.unlink(missing_ok=True)
    tags = [(int(index), form) for index, _, form in (tag.partition(" ") for tag in scan.tags)]
    columns = (column.tolist() for column in (scan.blob, scan.start, scan.end, scan.tag))
    for blob, rows in groupby(zip(*columns, strict=True), key=itemgetter(0)):
        hits = [Hit(tags[tag][0], start, end, tags[tag][1]) for _, start, end, tag in rows]
        yield blob, hits


def give_up(
    corpus: Corpus,
    slow: Sequence[int],
    of: DetectedSecret,
    found: list[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> None:
    """Leave out of training, and name, the contents that were not searched to the end for values such as `of`'s."""
    context.leave_out(corpus, slow)
    number = next((n for n, one in enumerate(found) if one.provenance == TOO_SLOW), len(found))
    if number == len(found):
        found.append(DetectedSecret(of.entry, f"{of.name.partition('/')[0]}/{TOO_SLOW}", 0.0, TOO_SLOW))
    labels.add(number, Labels(blobs=slow), TOO_SLOW)
