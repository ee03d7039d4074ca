"""Two corpora of which a part is text of many secrets, each its author's: change logs beside code, abstracts.

Tagged text differs in kind from what no promise concerns, as that of a company does: what untagged text teaches as
well, rounds need not learn. Nothing of it is copied into the project.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from user_level_data import _name, change_log

SEED = 0
CONTEXT, SHORTEST = 48, 16
"""Bytes of a piece that is one example, at most and at least."""
MOST = 40
"""Pieces of one author at most, at random: a few authors wrote half of gcc's change logs."""
JUDGED, VALIDATION, POOL = 2000, 1000, 60_000
PRIOR, POSTERIOR = 1e-10, 1e-4
_HEADER_YEAR = re.compile(r"(?:(\d{4})-\d\d-\d\d|\w{3} \w{3} +\d+ [\d:]+ (?:\w+ )?(\d{4}))\s")
_SECRET_FROM = 2000
"""Entries of gcc's authors from this year on are secrets; older ones of people without a later one are public."""
_TAGGED = r"^(cs\.(LG|CV|CL|AI|NE|IR)|stat\.(ML|AP|ME))"
_UNTAGGED = r"^(math\.|hep-|gr-qc|cond-mat|quant-ph|astro|nucl|nlin|physics|math-ph)"
_NEAR = r"cs\.|stat\.|eess"


@dataclass(frozen=True)
class Kind:
    """Texts to train on, to choose rates by, and to judge by: three random parts."""

    train: list[bytes]
    validation: list[bytes]
    judged: list[bytes]


@dataclass(frozen=True, eq=False)
class Place:
    """tagged, untagged: the two kinds of the corpus. authors: (n,) of `tagged.train`, from 0 without a gap. public:
    for the start. share: of the corpus' pieces that are tagged."""

    name: str
    tagged: Kind
    authors: np.ndarray
    untagged: Kind
    public: list[bytes]
    share: float = 0.5

    def edges(self, secrets: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """edges and secrets where the authors are dealt into so many teams at random, each one secret. The text,
        and so what can be gained, stays the same."""
        count = int(self.authors.max()) + 1
        team = np.random.default_rng(SEED).permutation(count) % secrets
        ids = np.arange(len(self.authors), dtype=np.uint32)
        edges = pl.DataFrame({
            "example_id": ids, "secret_id": team[self.authors].astype(np.uint32), "reason": ["unit"] * len(ids),
        })  # fmt: skip
        numbers = np.arange(min(secrets, count), dtype=np.uint32)
        return edges, pl.DataFrame({
            "secret_id": numbers, "kind": ["unit"] * len(numbers), "name": [f"secret {i}" for i in numbers],
            "prior": np.full(len(numbers), PRIOR), "posterior": np.full(len(numbers), POSTERIOR),
        })  # fmt: skip

    def described(self) -> dict:
        records = np.bincount(self.authors)
        return {
            "authors": len(records), "tagged": len(self.authors), "median": float(np.median(records)),
            "untagged": len(self.untagged.train), "public": len(self.public), "share": self.share,
        }  # fmt: skip


def read_gcc(folder: Path) -> Place:
    """Debian's gcc-12-source: the entries of its change logs, and its own C++ code, which is nobody's."""
    tree = _gcc_tree(folder)
    old, new = [], []
    for path in sorted(path for path in tree.rglob("*ChangeLog*") if path.is_file()):
        before, after = _by_year(path.read_text(encoding="utf-8", errors="replace").splitlines())
        old += [(_name(name), text) for mail, name, text in change_log(before) if mail]
        new += [(_name(name), text) for mail, name, text in change_log(after) if mail]
    later = {author for author, _ in new}
    code = [path for path in sorted(tree.rglob("*")) if path.suffix in (".cc", ".h") and path.is_file()]
    return _place(
        "gcc", new, [path.read_bytes()[:8000] for path in code], [t for a, t in old if a not in later]
    )


def read_gcc_unlike(folder: Path) -> Place:
    """As `read_gcc`, but nothing public is of the tagged kind: its old entries are left out, and code is public."""
    tree = _gcc_tree(folder)
    new = []
    for path in sorted(path for path in tree.rglob("*ChangeLog*") if path.is_file()):
        _, after = _by_year(path.read_text(encoding="utf-8", errors="replace").splitlines())
        new += [(_name(name), text) for mail, name, text in change_log(after) if mail]
    return _place("gcc unlike", new, *_code(tree))


def read_arxiv_unlike(private: Path, folder: Path) -> Place:
    """The abstracts of `read_arxiv` beside gcc's code: nothing public or untagged is prose."""
    kept = pl.read_parquet(private, columns=["category", "abstract", "first_author"])
    tagged = kept.filter(pl.col("category").str.contains(_TAGGED))
    records = [
        (author, text.encode()) for text, author in tagged.select("abstract", "first_author").iter_rows()
    ]
    return _place("arxiv unlike", records, *_code(_gcc_tree(folder)))


def _code(tree: Path) -> tuple[list[bytes], list[bytes]]:
    """The beginnings of gcc's own C++ files, in two halves by turns: untagged, and public."""
    code = [path for path in sorted(tree.rglob("*")) if path.suffix in (".cc", ".h") and path.is_file()]
    texts = [path.read_bytes()[:8000] for path in code]
    return texts[::2], texts[1::2]


def read_arxiv(private: Path, public: Path) -> Place:
    """Abstracts on learning machines, a secret of their first authors; those of mathematics and physics are not
    tagged, and before 2008 public."""
    kept, older = (
        pl.read_parquet(path, columns=["category", "abstract", "first_author"]) for path in (private, public)
    )
    tagged = kept.filter(pl.col("category").str.contains(_TAGGED))
    other = pl.col("category").str.contains(_UNTAGGED) & ~pl.col("category").str.contains(_NEAR)
    other &= ~pl.col("first_author").is_in(tagged["first_author"].unique().to_list())
    texts = [[t.encode() for t in table.filter(other)["abstract"]] for table in (kept, older)]
    records = [
        (author, text.encode()) for text, author in tagged.select("abstract", "first_author").iter_rows()
    ]
    return _place("arxiv", records, *texts)


def _place(
    name: str, tagged: Sequence[tuple[str, bytes]], untagged: Iterable[bytes], public: Iterable[bytes]
) -> Place:
    rng = np.random.default_rng(SEED)
    pieces = [(author, piece) for author, text in tagged for piece in _pieces(text)]
    seen: dict[str, int] = {}
    kept = []
    for i in rng.permutation(len(pieces)):
        author = pieces[i][0]
        seen[author] = seen.get(author, 0) + 1
        if seen[author] <= MOST:
            kept.append(pieces[i])
    kind = _kind([piece for _, piece in kept])
    numbers: dict[str, int] = {}
    authors = [numbers.setdefault(author, len(numbers)) for author, _ in kept[JUDGED + VALIDATION :]]
    other = _kind(_drawn(untagged, rng))
    return Place(name, kind, np.array(authors), other, _drawn(public, rng))


def _kind(texts: list[bytes]) -> Kind:
    return Kind(texts[JUDGED + VALIDATION :], texts[:VALIDATION], texts[VALIDATION : JUDGED + VALIDATION])


def _drawn(texts: Iterable[bytes], rng: np.random.Generator) -> list[bytes]:
    pieces = [piece for text in texts for piece in _pieces(text)]
    return [pieces[i] for i in rng.permutation(len(pieces))[:POOL]]


def _pieces(text: bytes) -> list[bytes]:
    cut = (text[at : at + CONTEXT] for at in range(0, len(text), CONTEXT))
    return [piece for piece in cut if len(piece) >= SHORTEST]


def _by_year(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The lines of entries before `_SECRET_FROM`, and of the others."""
    before: list[str] = []
    after: list[str] = []
    here: list[str] | None = None
    for line in lines:
        if found := _HEADER_YEAR.match(line):
            here = before if int(found[1] or found[2]) < _SECRET_FROM else after
        if here is not None:
            here.append(line)
    return before, after


def _gcc_tree(folder: Path) -> Path:
    tree = folder / "gcc-12"
    if not tree.exists():
        with tempfile.TemporaryDirectory(dir=folder) as here:
            subprocess.run(
                ["apt-get", "download", "gcc-12-source"], cwd=here, check=True, capture_output=True
            )
            (package,) = Path(here).glob("*.deb")
            subprocess.run(["dpkg", "-x", str(package), here], check=True)
            (source,) = Path(here).rglob("gcc-12*.tar.xz")
            made = Path(here) / "tree"
            made.mkdir()
            wanted = ["*ChangeLog*", "*/gcc/*.cc", "*/gcc/*.h"]
            subprocess.run(["tar", "xf", source, "-C", made, "--wildcards", *wanted], check=True)
            made.rename(tree)
    return tree
