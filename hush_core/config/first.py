"""The text of a first hush.yaml, from what was counted in a repository. No value of a secret ever comes in here.

>>> print(first_config(found))        # doctest: +SKIP
"""

import json
import re
from dataclasses import dataclass
from string import Template

WIDE = 0.25
"""An entry that holds more of the examples than this is written as a comment: all of them would be left out."""
MOST = 0.5
"""From this share on nothing narrows it enough."""
LEVELS = {"credentials": "high"}
"""Of the other kinds: normal."""


@dataclass(frozen=True)
class Candidate:
    """One entry and what it holds. names: a team, an author's address; none for credentials. counts: those that
    its comment begins with. examples: that hold it."""

    id: str
    kind: str
    names: tuple[str, ...]
    counts: str
    examples: int


@dataclass(frozen=True)
class Found:
    """What a repository holds: counts, names of teams and addresses. noted: of what was not looked for."""

    path: str
    name: str
    files: int
    examples: int
    chunk_bytes: int
    candidates: tuple[Candidate, ...]
    noted: tuple[str, ...] = ()

    def taken(self, one: Candidate) -> bool:
        """Whether the entry is active: credentials always are, others where they hold a small part of the text."""
        if one.kind == "credentials":
            return True
        return 0 < one.examples <= WIDE * self.examples


def chunk_bytes_for(text_bytes: int) -> int:
    """Short examples where there is little text, so that there are enough of them to draw from."""
    return 256 if text_bytes < 4 << 20 else 512 if text_bytes < 64 << 20 else 2048


def entry_id(name: str, taken: set[str]) -> str:
    """An id for a team or an address that no other entry has.

    >>> entry_id("@acme/risk", set()), entry_id("ada@example.org", {"ada"})
    ('risk', 'ada-2')
    """
    last = name.lstrip("@").rpartition("/")[2].partition("@")[0]
    base = re.sub(r"[^A-Za-z0-9]+", "-", last).strip("-")[:60].lower() or "entry"
    numbers = (base if n == 1 else f"{base}-{n}" for n in range(1, 1 << 20))
    return next(one for one in numbers if one not in taken)


def first_config(found: Found) -> str:
    """The whole file."""
    large = found.chunk_bytes > 512
    return _FILE.substitute(
        repository=f"{{path: {_quoted(found.path)}, name: {_quoted(found.name)}}}",
        files=f"{found.files:,}",
        examples=f"{found.examples:,}",
        entries="\n".join(
            [*(_entry(found, one) for one in found.candidates), *(f"  # {n}\n" for n in found.noted)]
        ),
        chunk_bytes=found.chunk_bytes,
        model="{layers: 4, width: 256, heads: 4}" if large else "{layers: 2, width: 128, heads: 4}",
        tracked=_quoted(re.sub(r"[^A-Za-z0-9._-]+", "-", found.name).strip("-._")[:80] or "hush"),
    )


def _entry(found: Found, one: Candidate) -> str:
    key = {"codeowners": "teams", "contributors": "emails"}.get(one.kind)
    names = "" if key is None else f"{key}: [{', '.join(map(_quoted, one.names))}], "
    line = f"- {{id: {one.id}, kind: {one.kind}, {names}level: {LEVELS.get(one.kind, 'normal')}}}"
    share = f"{one.examples:,} of {found.examples:,} examples hold it"
    comment = [f"{one.counts}; {share}." if one.kind != "credentials" else f"{one.counts}."]
    taken = found.taken(one)
    if one.kind == "credentials":
        comment.append("Which they are, and on which lines: `hush secrets`. Rotate what is real.")
        comment.append("Every copy that the search finds is replaced before training.")
    elif taken:
        comment.append(
            "Keep it if these files are confidential. Delete it if anyone in the company may read them."
        )
    elif one.examples > MOST * found.examples:
        comment.append(
            "Off: this is most of the text. Noise that hides it hides the rest, and without it little is left."
        )
        comment.append(
            'Name what is confidential in it instead, as {id: alpha, kind: path, globs: ["src/alpha/**"]}.'
        )
    elif one.examples:
        comment.append(f"Off: above {WIDE:.0%} of the text, all of which would be left out of training.")
        comment.append(_NARROWER[one.kind])
    else:
        comment.append("Off: no text that is trained on is theirs.")
    return "\n".join([*(f"  # {text}" for text in comment), f"  {line}" if taken else f"  # {line}", ""])


_NARROWER = {
    "codeowners": "Narrower: `spread: {imports: 0}` leaves out files that import theirs; kind: path names folders.",
    "contributors": "Narrower: `attribute: commit` takes only the lines that their commits added.",
}


def _quoted(text: str) -> str:
    """As YAML's double-quoted text, which is JSON's."""
    return json.dumps(text, ensure_ascii=False)


_FILE = Template("""\
# A first job, written by `hush init`. An entry under `secrets` says what must stay inside: read the comments,
# change what is wrong, then run `hush plan`. Every key: docs/configuration.md. It names people: a private file.
version: 1
repos:
  - $repository    # $files files, $examples examples; only commits are read

# Targets: with how much probability anyone may name a secret among its candidates after training.
levels: {high: 1.0e-4, normal: 1.0e-3}

# Files that anyone can read elsewhere; they are learned first, without noise.
# public: ["third_party/**"]

secrets:
$entries
# `hush plan` says which way each entry goes (replaced, left out or learned under noise) and why; an entry overrides
# it by `protect: redact`, `drop` or `noise`. Text that no entry names is learned as usual, without noise.

# Sizes for two CPU cores.
chunk_bytes: $chunk_bytes
model: $model
tracking: {experiment: $tracked, model: $tracked}
""")
