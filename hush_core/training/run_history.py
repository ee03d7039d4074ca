"""Which runs of this store released anything of which secret: noted before a run's first release, and kept.

A certificate bounds what ONE run gives away. What other runs released of the same secret adds to it, so each run
says how many there were. A run is a folder `store/history/KEY/`:

    run.json          the names of the secrets whose text its batches could hold
    texts.u64         keyed hashes of the texts that its batches could hold
    releases.witness  the ledger's second count (`hush_core/training/ledger.py`)

A secret was trained on by a run if the run names it, or if the run's batches could hold a text that is tagged with
it now: so neither a new commit, a renamed file nor an entry that was renamed or added since hides a run. A value's
name ends in a keyed digest of it, and that alone counts: lines, rules and entries are renamed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.files import file_sha256, private_folder, sync, write_whole
from hush_core.training.ledger import LEDGER, WITNESS, releases_in

_KEYED = re.compile(r".*[:/]([0-9a-f]{12})", re.DOTALL)
_NAMES, _EXAMPLES = "run.json", "texts.u64"


@dataclass(frozen=True)
class RunText:
    """What one run could draw.

    Args:
        texts: (n,) of all examples.
        rates: (n,) sampling rates; what has rate 0 is never drawn.
        edges: example_id, secret_id.
        secrets: secret_id, kind, name.
    """

    texts: Sequence[bytes]
    rates: np.ndarray
    edges: pl.DataFrame
    secrets: pl.DataFrame


@dataclass(frozen=True)
class Earlier:
    """How many other runs of the store released something, by the secret they trained on.

    runs: (secrets,) uint32 by secret_id. unknown: of these, runs that do not say whose text they saw (of an older
    hush, of another identity key, or damaged); each counts for every secret.
    """

    runs: np.ndarray
    unknown: int

    @property
    def secrets(self) -> int:
        """Secrets that another run trained on, or may have."""
        return int(np.count_nonzero(self.runs))

    @property
    def most(self) -> int:
        return int(self.runs.max(initial=0))


class RunHistory:
    """The runs of a store. Files are replaced whole and synced, so a kill at any moment loses nothing noted."""

    def __init__(self, root: Path, *, key: bytes, identity: str) -> None:
        """`root`: the store's. `key`: secret, of the hashes of texts. `identity`: a public name of that key."""
        self._store, self._root = root, root / "history"
        self._key, self._identity = key, identity

    def note(self, run: str, text: RunText) -> Path:
        """Note the run, durably, before it releases anything; where its ledger's witness belongs.

        A run that is noted already keeps what it named before.
        """
        folder = private_folder(self._root / run)
        drawn = text.edges.filter(pl.Series(text.rates > 0).gather(text.edges["example_id"]))
        names = np.array(_identities(text.secrets), dtype=object)[drawn["secret_id"].unique().to_numpy()]
        hashes = self._hashes([t for t, rate in zip(text.texts, text.rates, strict=True) if rate > 0])
        before = self._read(folder)
        if before is not None:
            names, hashes = {*names, *before[0]}, np.union1d(hashes, before[1])
        write_whole(folder / _EXAMPLES, np.unique(hashes).tobytes())
        facts = {
            "identity": self._identity,
            "secrets": sorted(names),
            "examples": file_sha256(folder / _EXAMPLES),
        }
        write_whole(folder / _NAMES, json.dumps(facts, sort_keys=True).encode())
        sync(self._root)
        sync(self._root.parent)
        return folder / f"releases{WITNESS}"

    def earlier(self, run: str, text: RunText) -> Earlier:
        """All other runs that released one round or more: finished, failed, killed, cancelled or rejected."""
        counts, unknown = np.zeros(text.secrets.height, dtype=np.uint32), self._unnoted()
        names = pl.Series(_identities(text.secrets))
        tagged, owner = text.edges["example_id"].to_numpy(), text.edges["secret_id"].to_numpy()
        hashes = self._hashes(text.texts)[tagged]
        for folder in sorted(self._root.iterdir()) if self._root.exists() else ():
            if folder.name == run or not self._released(folder.name, folder / f"releases{WITNESS}"):
                continue
            known = self._read(folder)
            if known is None:
                unknown += 1
                continue
            held = names.is_in(known[0]).to_numpy().copy()
            held[owner[np.isin(hashes, known[1])]] = True
            counts += held
        return Earlier(counts + np.uint32(unknown), unknown)

    def _released(self, run: str, *witness: Path) -> bool:
        return releases_in(self._store / "work" / run / LEDGER, *witness) > 0

    def _read(self, folder: Path) -> tuple[list[str], np.ndarray] | None:
        """Names and hashes; None where they are not there, damaged, or under another identity key."""
        try:
            facts = json.loads((folder / _NAMES).read_bytes())
            whole = (
                facts["examples"] == file_sha256(folder / _EXAMPLES) and facts["identity"] == self._identity
            )
            return (facts["secrets"], np.fromfile(folder / _EXAMPLES, dtype=np.uint64)) if whole else None
        except (OSError, ValueError, KeyError):
            return None

    def _unnoted(self) -> int:
        """Runs of an older hush: `runs/TABLE/KEY` names them, and not whose text they saw.

        One whose ledger is gone counts; one whose ledger tells of no release does not.
        """
        found = {path.name for path in (self._store / "runs").glob("*/*")}
        gone = (run for run in found if not (self._store / "work" / run / LEDGER).exists())
        return len({*gone, *(run for run in found if self._released(run))})

    def _hashes(self, texts: Sequence[bytes]) -> np.ndarray:
        """(n,) uint64: 64 bits of a keyed hash of each text."""
        digests = (hashlib.blake2b(text, key=self._key, digest_size=8).digest() for text in texts)
        return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _identities(secrets: pl.DataFrame) -> list[str]:
    """By secret_id, what tells a secret from others whatever else is renamed."""
    rows = secrets.sort("secret_id").select("kind", "name").iter_rows()
    return [match[1] if (match := _KEYED.fullmatch(name)) else f"{kind} {name}" for kind, name in rows]
