"""Which runs of this store released what of which secret: noted before a run's first release, and kept.

A certificate's `bound` is of ONE run. What other runs released of the same secret adds to it; from the rates, the
noise and the rounds of each of them, noted here, `bounds.py` beside this file bounds all of them together.

A secret was trained on by a run if the run names it, or if the run's batches could hold a text that is tagged with
it now: so neither a new commit, a renamed file nor an entry that was renamed or added since hides a run. A value's
name ends in a keyed digest of it, and that alone counts: lines, rules and entries are renamed. Of a text that
stands in many places (a licence, an empty form) all copies count that the run tagged with anything, and of those
that it did not tag as many as are missing from those tagged now: the others are no secret's.

Naming a value cuts its file anew, so no text of it need be equal to one of an earlier run. So each run also notes
the whole files of which it used text WITHOUT noise: one that holds a secret now, which that run did not name, was
learned from bare.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.errors import InputError
from hush_core.files import private_folder, sync, write_whole
from hush_core.history.earlier import PROFILES, RUNS, Earlier
from hush_core.history.ledger import LEDGER, WITNESS, releases_in
from hush_core.history.record import SECRETS, RunRecord, RunText, hashes_of

_BEFORE = "before.json"
_MODEL = "model.sha256"
_ADDED = "added-"
"""Folders of runs of other stores, with their public names."""
_ROUND_OFF = 1e-9
"""Relative: the sum of hazards is this good."""


class RunHistory:
    """The runs of a store. Files are replaced whole and synced, so a kill at any moment loses nothing noted."""

    def __init__(self, root: Path, *, key: bytes, identity: str) -> None:
        """`root`: the store's. `key`: secret, of the hashes of texts. `identity`: a public name of that key."""
        self._store, self._root = root, root / "history"
        self._key, self._identity = key, identity

    def public_name(self, run: str) -> str:
        """A keyed hash: the run's own name is a hash of its text, against which guesses could be tried."""
        if run.startswith(_ADDED):
            return run.removeprefix(_ADDED)
        return hashlib.blake2b(run.encode(), key=self._key, digest_size=32).hexdigest()

    def note(self, run: str, text: RunText, *, job: str = "", before: str | None = None) -> Path:
        """Note the run, durably, before it releases anything; where its ledger's witness belongs.

        A run that is noted already keeps what it named before. `before`: what its plan counted in of other runs, to
        be found again by the name of the `job` (`before`).
        """
        folder = private_folder(self._root / run)
        if before is not None:
            write_whole(folder / _BEFORE, json.dumps({"job": job, "before": before}).encode())
        record, before = RunRecord.of(text, self._key), RunRecord.read(folder, self._identity)
        (record.and_also(before) if before else record).write(folder, self._identity)
        sync(self._root)
        sync(self._root.parent)
        return folder / f"releases{WITNESS}"

    def add(self, key: str, record: RunRecord, released: int) -> bool:
        """Count a run of another store from now on, by its public name; whether it was not counted yet.

        Raises:
            InputError: a run is training, whose plan does not know of it.
        """
        if key in self.keys():
            return False
        with self._locked(exclusive=True, why="a run is training, whose plan does not know of this one"):
            folder = private_folder(self._root / f"{_ADDED}{key}")
            record.write(folder, self._identity)
            write_whole(folder / f"releases{WITNESS}", b"of another store\n" * released)
            sync(self._root)
        return True

    def keys(self) -> set[str]:
        """The public names of all runs that are noted, those that released nothing too."""
        folders = self._root.iterdir() if self._root.exists() else ()
        return {self.public_name(folder.name) for folder in folders if folder.is_dir()}

    def listed(self) -> pl.DataFrame:
        """key · noise_multiplier · rounds · released · secrets · added (from another store): every run that
        released anything; nulls where it does not say how it drew."""
        rows = []
        for folder, released in self._released(""):
            record = RunRecord.read(folder, self._identity)
            told = (
                (record.noise_multiplier, record.rounds, record.secrets.height)
                if record
                else (None, None, None)
            )
            sigma, rounds, secrets = told
            added = folder.name.startswith(_ADDED)
            rows.append((self.public_name(folder.name), sigma, rounds, released, secrets, added))
        kinds = {
            "key": pl.String, "noise_multiplier": pl.Float64, "rounds": pl.UInt32, "released": pl.UInt32,
            "secrets": pl.UInt32, "added": pl.Boolean,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def note_model(self, run: str, sha256: str) -> None:
        """What the run ended in: the digest of its model's files."""
        write_whole(self._root / run / _MODEL, sha256.encode())

    def named(self, settings: str) -> pl.DataFrame:
        """name · prior · posterior of every secret that a run of these settings, which released anything, promised
        something of; `name` as in `RunText.identities`."""
        records = (RunRecord.read(folder, self._identity) for folder, _ in self._released(""))
        told = (record.secrets for record in records if record is not None and record.settings == settings)
        return (
            pl.concat([pl.DataFrame(schema=SECRETS), *told])
            .drop_nulls()
            .unique("name", keep="first", maintain_order=True)
        )

    def models(self) -> list[tuple[str, str]]:
        """(public name, digest of the model's files) of every run that ended in a model, the last one last."""
        found = [path for path in self._root.glob(f"*/{_MODEL}") if len(path.read_bytes()) == 64]
        found.sort(key=lambda path: path.stat().st_mtime_ns)
        return [(self.public_name(path.parent.name), path.read_text()) for path in found]

    def before(self, job: str) -> str | None:
        """What the plan of this job's run counted in, once that run has released anything; else None."""
        for folder, _ in self._released(""):
            try:
                noted = json.loads((folder / _BEFORE).read_bytes())
                if noted["job"] == job:
                    return noted["before"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None

    @contextlib.contextmanager
    def training(self, run: str, text: RunText, counted: Earlier | None) -> Iterator[None]:
        """Held while a run trains. Of a run under a promise of several, `counted` is what its plan counted in: no
        other run trains meanwhile, and nothing was released that the plan does not know of.

        Raises:
            InputError: another run trains, or released something since this one was planned. A run that has
                released anything itself goes on: those that came since have counted it in.
        """
        why = "another run is training, and one of the two is under a promise of several runs"
        with self._locked(exclusive=counted is not None, why=why):
            if counted and not self._releases(run) and not self.earlier(run, text).same_as(counted):
                raise InputError(
                    str(self._root),
                    "another run released something since this one was planned",
                    "start it again: its plan then counts that run in",
                )
            yield

    @contextlib.contextmanager
    def _locked(self, *, exclusive: bool, why: str) -> Iterator[None]:
        private_folder(self._root)
        with open(self._root / ".training", "w") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError:
                raise InputError(str(self._root), why, "wait for it to end") from None
            yield

    def earlier(self, run: str, text: RunText) -> Earlier:
        """All other runs that released one round or more: finished, failed, killed, cancelled or rejected.

        What is found by its text is noted in that run by its name, so that the next change of it hides nothing.
        """
        secrets = text.secrets.sort("secret_id").select("prior", "posterior", name=pl.Series(text.identities))
        named, now, files = secrets.with_row_index("secret_id"), self._tagged(text), self._files(text)
        runs, profiles, unknown = [], [pl.DataFrame(schema=PROFILES)], self._unnoted()
        bare = np.zeros(named.height, dtype=bool)
        for folder, released in self._released(run):
            record = RunRecord.read(folder, self._identity)
            if record is None:
                unknown += 1
                continue
            known = record.secrets.with_row_index("secret").join(named, on="name")
            held = pl.concat([_texts_held(record, known, now), _held_in_files(record, known, files)])
            if (more := record.with_edges(held, named)) is not record:
                more.write(folder, self._identity)
            bare[held.filter(pl.col("rate").is_null())["secret_id"].to_numpy()] = True
            profile = _profile(held)
            if profile.height:
                kept = known.filter(
                    pl.col("prior") == pl.col("prior_right"), pl.col("posterior") == pl.col("posterior_right")
                )
                same = profile["secret_id"].is_in(kept["secret_id"].to_list())
                number = pl.lit(len(runs), dtype=pl.UInt32).alias("run")
                profiles.append(profile.select(number, pl.all(), same_promise=same))
                mechanism = record.noise_multiplier, record.rounds, released, record.settings
                runs.append((len(runs), self.public_name(folder.name), *mechanism))
        return Earlier(pl.DataFrame(runs, schema=RUNS, orient="row"), pl.concat(profiles), bare, unknown)

    def _tagged(self, text: RunText) -> pl.DataFrame:
        """secret_id · hash · copies of every text that is tagged now; copies: under whatever tag."""
        tagged = text.edges["example_id"].unique().sort().to_numpy()
        hashes = np.zeros(len(text.texts), dtype=np.uint64)
        hashes[tagged] = hashes_of([text.texts[i] for i in tagged], self._key)
        copies = pl.DataFrame({"hash": hashes[tagged]}).group_by("hash").agg(copies=pl.len())
        owners = text.edges["secret_id"].cast(pl.UInt32)
        table = pl.DataFrame({"secret_id": owners, "hash": hashes[text.edges["example_id"].to_numpy()]})
        return table.unique().join(copies, on="hash")

    def _files(self, text: RunText) -> pl.DataFrame:
        """secret_id · hash of every whole file that holds text of the secret now."""
        tagged = np.zeros(len(text.texts), dtype=bool)
        tagged[text.edges["example_id"].to_numpy()] = True
        owners = text.edges.select(
            pl.col("secret_id").cast(pl.UInt32), example=pl.col("example_id").cast(pl.UInt32)
        )
        return (
            owners.join(text.whole_files(tagged, self._key), on="example")
            .select("secret_id", "hash")
            .unique()
        )

    def _released(self, run: str) -> Iterator[tuple[Path, int]]:
        """Folder and releases of every other run that made any, in the order of their keys."""
        for folder in sorted(self._root.iterdir()) if self._root.exists() else ():
            if folder.name != run and (rounds := self._releases(folder.name)):
                yield folder, rounds

    def _releases(self, run: str) -> int:
        ledger, witness = self._store / "work" / run / LEDGER, self._root / run / f"releases{WITNESS}"
        return releases_in(ledger, witness)

    def _unnoted(self) -> int:
        """Runs of an older hush: `runs/TABLE/KEY` names them, and not whose text they saw.

        One whose ledger is gone counts; one whose ledger tells of no release does not.
        """
        found = {path.name for path in (self._store / "runs").glob("*/*")}
        gone = (run for run in found if not (self._store / "work" / run / LEDGER).exists())
        return len({*gone, *(run for run in found if self._releases(run))})


def _texts_held(record: RunRecord, known: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """secret_id · text · rate: the run's texts that it tagged with a secret, or that are tagged with it now."""
    texts = record.texts.with_row_index("text").with_columns(
        tagged=pl.int_range(pl.len()).is_in(record.edges["text"].unique().to_list())
    )
    by_name = known.join(record.edges, on="secret").select("secret_id", "text")
    by_text = now.join(texts, on="hash")
    counted = texts.filter("tagged").group_by("hash").agg(counted=pl.len())
    others = by_text.filter(~pl.col("tagged")).join(counted, on="hash", how="left")
    # what was trained without noise first, then what was drawn most often
    others = others.sort("rate", descending=True, nulls_last=False)
    missing = pl.col("copies").cast(pl.Int64) - pl.col("counted").fill_null(0)
    others = others.filter(pl.int_range(pl.len()).over("secret_id", "hash") < missing)
    pairs = [part.select("secret_id", "text") for part in (by_name, by_text.filter("tagged"), others)]
    return pl.concat(pairs).unique().join(texts, on="text").select("secret_id", "text", "rate")


def _held_in_files(record: RunRecord, known: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """secret_id · text · rate: of each secret that the run does not name, in a file of which it used text without
    noise, one such text, which stands for what was cut otherwise then."""
    without = record.texts.with_row_index("text").filter(pl.col("rate").is_null()).head(1)
    late = files.join(record.files, on="hash").filter(
        ~pl.col("secret_id").is_in(known["secret_id"].unique().implode())
    )
    return late.select("secret_id").unique().join(without.select("text", "rate"), how="cross")


def _profile(held: pl.DataFrame) -> pl.DataFrame:
    """secret_id · examples · rate of the dominating binomial; the rate errs upwards."""
    hazards = (
        held.filter(pl.col("rate") > 0)
        .group_by("secret_id")
        .agg(examples=pl.len().cast(pl.UInt32), hazard=-((-pl.col("rate")).log1p().sum()))
        .sort("secret_id")
    )
    rate = -np.expm1(-hazards["hazard"].to_numpy() / hazards["examples"].to_numpy()) * (1 + _ROUND_OFF)
    return hazards.select("secret_id", "examples", rate=pl.Series(np.minimum(rate, 1.0), dtype=pl.Float64))
