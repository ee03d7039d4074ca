"""Detector `unit`: each owner of a table's documents is a secret of its own (user-level protection).

All chunks of all documents of one unit hold its secret, in every table of the entry. So what is bounded is what
anyone learns about all that one person wrote, not about one record of it. A unit with many documents is not
protected less, it weighs more. (Chua et al., "Mind the Privacy Unit!", 2024.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hush_core.config import UnitSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext


def detect(corpus: Corpus, entry: UnitSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret a unit, in the order of their keyed names, which says nothing of the tables' order.

    Raises:
        InputError: no such table, or one whose documents belong to nobody.
    """
    units: dict[str, int] = {}
    files, owners = [], []
    for t in _tables(corpus, entry):
        tree = corpus.trees[t]
        if tree.unit is None:
            raise without_units(entry, tree.source)
        # Two units with one name would be one secret with the chunks of both: safe.
        numbers = [units.setdefault(context.identify(unit.encode()), len(units)) for unit in tree.units]
        files.append(np.flatnonzero(corpus.tree == t))
        owners.append(np.array(numbers, dtype=np.int64)[tree.unit])
    file, owner = np.concatenate(files), np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(len(units) + 1))
    for name, n in sorted(units.items()):
        yield Finding(name=name, files=file[order[first[n] : first[n + 1]]])


def without_units(entry: UnitSecret, table: str) -> InputError:
    """The refusal of an entry for a table whose documents belong to nobody."""
    return InputError(
        f"secrets.{entry.id}",
        f"protects units, and the table {table!r} has none",
        "set `unit:` of that table to the column that says whose a row is, or name another `table:`",
    )


def _tables(corpus: Corpus, entry: UnitSecret) -> list[int]:
    trees = enumerate(corpus.trees)
    tables = [t for t, tree in trees if tree.mode == "table" and entry.table in (None, tree.source)]
    if not tables:
        raise InputError(
            f"secrets.{entry.id}",
            "protects units, and the job has no such table",
            "name one of `tables` as `table:`, or leave that out for all of them",
        )
    return tables


DETECTOR = Detector("unit", UnitSecret, detect)
