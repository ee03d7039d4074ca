"""Values that a person has called examples of a manual: no secrets, as long as they are nowhere else.

`secrets.documentation` names each by its keyed fingerprint, with the files that may hold it. After a search for
every copy, in all encodings, a value in any other file stays a secret everywhere. So does a value that no search
looks for, as its places are unknown. What was left out is counted and named in the coverage report, and with it in
the certificate: never silently.
"""

import numpy as np

from hush_core.config import HushConfig
from hush_core.config.secrets import CredentialsSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.globs import Globs
from hush_core.secrets.labels import LabelTable

LEFT_OUT, ELSEWHERE, NOT_SOUGHT, NOT_FOUND = "left_out", "stands_elsewhere", "not_sought", "not_found"
DECIDED = "decided"
"""The state of a value of `not_secrets`, which is left out before anything is searched, in whatever file it is."""


def leave_out_documentation(
    config: HushConfig, corpus: Corpus, found: list[DetectedSecret], labels: LabelTable, searched: set[int]
) -> tuple[list[DetectedSecret], LabelTable, dict[str, dict[str, list[str]]]]:
    """What is found and labelled without the values that are documentation, and what became of each that the config
    names: entry → state → names (fingerprints of those that were not found).

    Args:
        found, labels: after every copy was looked for.
        searched: the secrets, by number, of which copies are looked for.

    Raises:
        InputError: a glob that can match nothing.
    """
    gone = np.zeros(len(found), dtype=bool)
    report: dict[str, dict[str, list[str]]] = {}
    for number, entry in enumerate(config.secrets):
        if not isinstance(entry, CredentialsSecret) or not entry.documentation:
            continue
        states: dict[str, list[str]] = {state: [] for state in (LEFT_OUT, ELSEWHERE, NOT_SOUGHT, NOT_FOUND)}
        named = {one.name.rpartition(":")[2]: n for n, one in enumerate(found) if one.entry == number}
        for fingerprint, inside in _places(corpus, entry).items():
            if fingerprint not in named:
                states[NOT_FOUND].append(fingerprint)
                continue
            one = named[fingerprint]
            state = NOT_SOUGHT
            if one in searched:
                state = ELSEWHERE if len(np.setdiff1d(_files(corpus, labels, one), inside)) else LEFT_OUT
            gone[one] = state == LEFT_OUT
            states[state].append(found[one].name)
        report[entry.id] = {state: sorted(names) for state, names in states.items()}
    if not gone.any():
        return found, labels, report
    return [one for one, out in zip(found, gone, strict=True) if not out], labels.without(gone), report


def documentation_globs(entry: CredentialsSecret) -> list[Globs]:
    """The files of each value that the entry calls documentation, compiled, in the config's order.

    Raises:
        InputError: a glob that can match nothing.
    """
    return [
        Globs(value.paths, f"secrets.{entry.id}.documentation.{place}.paths")
        for place, value in enumerate(entry.documentation, 1)
    ]


def check_documentation(config: HushConfig, entry: CredentialsSecret) -> None:
    """Its globs compile, and the sources that it names are the job's: a slip would leave a value a secret.

    Raises:
        InputError: they are not.
    """
    documentation_globs(entry)
    known = [source.label for source in (*config.repos, *config.tables)]
    for place, value in enumerate(entry.documentation, 1):
        if value.source is not None and value.source not in known:
            raise InputError(
                f"secrets.{entry.id}.documentation.{place}.source",
                f"no repository or table of the job has this name (known: {', '.join(known)})",
                "name one of them, or leave it out for all",
            )


def _places(corpus: Corpus, entry: CredentialsSecret) -> dict[str, np.ndarray]:
    """Fingerprint → the numbers of all files in which the value may be: of its source, where it names one."""
    inside: dict[str, np.ndarray] = {}
    for value, globs in zip(entry.documentation, documentation_globs(entry), strict=True):
        trees = [n for n, tree in enumerate(corpus.trees) if value.source in (None, tree.source)]
        known = inside.get(value.fingerprint, np.empty(0, dtype=np.int64))
        inside[value.fingerprint] = np.union1d(known, corpus.files_at(globs.match, trees))
    return inside


def _files(corpus: Corpus, labels: LabelTable, one: int) -> np.ndarray:
    """The numbers of all files that hold some of a secret."""
    spans = labels.spans()
    blobs = np.union1d(spans["blob"][spans["found"] == one], labels.blobs_of(one))
    return np.union1d(np.flatnonzero(np.isin(corpus.blob, blobs)), labels.files_of(one))
