"""Which runs of this store released what of which secret: noted before a run's first release, and kept.

A certificate's `bound` is of ONE run. What other runs released of the same secret adds to it; from the rates, the
noise and the rounds of each of them, noted here, `bounds.py` beside this file bounds all of them together.

A run trained on a secret if it names it, or if its batches could hold a text that is tagged with it now. So no new
commit, renamed file, renamed entry or new entry hides a run. A value's name ends in a keyed digest of it, and that
alone counts: lines, rules and entries are renamed. A text that is in many places (a licence, an empty form) counts
for every copy that the run tagged with anything. Of its untagged copies, as many count as are missing from those
tagged now: the others hold no secret.

Naming a value changes how its file is cut, so no text of it need equal one of an earlier run. So each run also
notes the whole files of which it used text WITHOUT noise. If such a file holds a secret now that the run did not
name, the secret was trained on without noise. If the file was edited since, its words identify it (`words.py`).

A run under a promise may make no certified round, if no text with a secret was new. It is noted as well, with 0
rounds: what it trained on without noise counts, and it is not one of the promised runs.
"""

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.errors import InputError
from hush_core.files import private_folder, sync, write_whole
from hush_core.history.earlier import NOW_UNTAGGED, PROFILES, RUNS, Earlier
from hush_core.history.folders import ADDED, MODEL, RunFolders
from hush_core.history.matching import (
    dominating_binomials,
    files_tagged,
    find_now_untagged,
    held_by_words,
    held_in_files,
    noted_as_untagged,
    texts_held,
    texts_tagged,
    texts_untagged,
)
from hush_core.history.passages import passages_noted, passages_of
from hush_core.history.record import FILES, SECRETS, RunRecord
from hush_core.history.run_text import RunText
from hush_core.history.words import words_of, words_of_files, words_of_values

_BEFORE = "before.json"


class RunHistory:
    """The runs of a store. Files are replaced whole and synced, so a kill at any moment loses nothing noted."""

    def __init__(
        self, root: Path, *, key: bytes, identity: str, refuted: Collection[str] = frozenset()
    ) -> None:
        """`root`: the store's. `key`: secret, of the hashes of texts. `identity`: a public name of that key.
        `refuted`: public names of runs whose models were found to hold more than their noise allows."""
        self._folders, self._root = RunFolders(root, key), root / "history"
        self._key, self._identity, self._refuted = key, identity, refuted
        self._last: tuple = (None, None)

    def public_name(self, run: str) -> str:
        """What certificates call a run (`RunFolders.public_name`); the same from when it is noted."""
        return self._folders.public_name(run)

    def note(self, run: str, text: RunText, *, job: str = "", before: str | None = None) -> Path:
        """Note the run, durably, before it releases anything; returns the place for its ledger's witness.

        A run that is noted already keeps what it named before. `before`: what its plan counted of other runs, which
        the name of the `job` finds again (`before`).
        """
        with self._folders.writing():
            folder = self._folders.begin(run)
            if before is not None:
                write_whole(folder / _BEFORE, json.dumps({"job": job, "before": before}).encode())
            known = [pl.DataFrame(schema=FILES), *(record.words for record in self._records(run))]
            words = words_of(text.without_noise, self._key).join(pl.concat(known), on="hash", how="anti")
            record = replace(RunRecord.of(text, self._key), words=words)
            record = replace(record, passages=passages_noted(text, record, *self._passages(text), self._key))
            record = noted_as_untagged(record, text, self._earlier(run, text).now_untagged, self._key)
            noted = RunRecord.read(folder, self._identity)
            (record.and_also(noted) if noted else record).write(folder, self._identity)
            sync(self._root)
            sync(self._root.parent)
        return self._folders.witness(run)

    def add(self, key: str, record: RunRecord, released: int) -> bool:
        """Count a run of another store from now on, by its public name; whether it was not counted yet.

        A run that this store noted, and of which it knows no release (a backup was restored), is counted in its own
        folder; it cannot be made again then, as its ledger does not agree.

        Raises:
            InputError: a run is training, whose plan does not know of it.
        """
        if key in self.all_names():
            return False
        why = "a run is training, whose plan does not know of this one"
        with self._folders.training(exclusive=True, why=why):
            named = (name for name in self._folders.all() if self.public_name(name) == key)
            run = next(named, f"{ADDED}{key}")
            folder = private_folder(self._root / run)
            if RunRecord.read(folder, self._identity) is None:
                record.write(folder, self._identity)
            write_whole(self._folders.witness(run), b"of another store\n" * released)
            sync(self._root)
        return True

    def keys(self) -> set[str]:
        """The public names of all runs that are noted, those that released nothing too."""
        return {self.public_name(name) for name in self._folders.all()}

    def listed(self) -> pl.DataFrame:
        """key · noise_multiplier · rounds · secrets · released · added (from another store) · noted (UTC) of each
        run that released anything, the last one last; nulls where it does not say."""
        rows = []
        for folder, released, record in self._read():
            drew = (record.noise_multiplier, record.rounds, record.secrets.height) if record else (None,) * 3
            noted = datetime.fromtimestamp(folder.stat().st_mtime, UTC) if folder.exists() else None
            row = self.public_name(folder.name), *drew, released, folder.name.startswith(ADDED), noted
            rows.append(row)
        kinds = {
            "key": pl.String, "noise_multiplier": pl.Float64, "rounds": pl.UInt32, "secrets": pl.UInt32,
            "released": pl.UInt32, "added": pl.Boolean, "noted": pl.Datetime("us", "UTC"),
        }  # fmt: skip
        return pl.DataFrame(rows, schema=kinds, orient="row").sort("noted", "key")

    def note_without_rounds(self, run: str, text: RunText, *, job: str, before: str | None) -> None:
        """`note` of a run without certified rounds (`text.rounds` is 0). It counts from here on: it trains on
        untagged text without noise, and has no ledger that would tell when."""
        witness = self.note(run, text, job=job, before=before)
        write_whole(witness, b"trained without noise\n")
        sync(witness.parent)

    def note_model(self, run: str, sha256: str, of: str | None = None) -> None:
        """What the run ended in: the digest of its model's files. `of`: of a run without certified rounds, the
        public name of the run whose releases are in the model, empty where none are."""
        last = max((path.stat().st_mtime_ns for path in self._root.glob(f"*/{MODEL}")), default=0)
        write_whole(self._root / run / MODEL, " ".join([sha256, *([] if of is None else [of])]).encode())
        if (self._root / run / MODEL).stat().st_mtime_ns <= last:  # the clock was set back
            os.utime(self._root / run / MODEL, ns=(last + 1, last + 1))

    def named(self, settings: str, runs: Collection[str] = ()) -> pl.DataFrame:
        """name · prior · posterior of every secret that a run of these settings, or one of `runs` (public names),
        promised something of; of those that released anything. `name` as in `RunText.identities`."""
        promised = [pl.DataFrame(schema=SECRETS)]
        for folder, _, record in self._read():
            if record and (record.settings == settings or self.public_name(folder.name) in runs):
                promised.append(record.secrets)
        return pl.concat(promised).drop_nulls().unique("name", keep="first", maintain_order=True)

    def models(self) -> list[tuple[str, str]]:
        """(public name of the run whose releases are in it, digest of the model's files) of every run that ended in
        a model, the last one last. The name is empty where the model holds no release."""
        paths = sorted(self._root.glob(f"*/{MODEL}"), key=lambda path: path.stat().st_mtime_ns)
        noted = [(path.parent.name, *path.read_text().partition(" ")) for path in paths]
        return [
            (of if blank else self.public_name(run), sha256)
            for run, sha256, blank, of in noted
            if len(sha256) == 64
        ]

    def all_names(self) -> set[str]:
        """The public names of all runs that released or trained anything, those without certified rounds too."""
        return {self.public_name(folder.name) for folder, _ in self._folders.released()}

    def of_settings(self, settings: str) -> set[str]:
        """The public names of all runs of these settings that released or trained anything, those without
        certified rounds too."""
        named = {folder.name: record for folder, _, record in self._read() if record}
        return {self.public_name(run) for run, record in named.items() if record.settings == settings}

    def made(self, settings: str) -> int:
        """How many runs of these settings made certified rounds."""
        return sum(bool(record.rounds) and record.settings == settings for record in self._records())

    def trained_before(self, text: RunText) -> bool:
        """Whether every text that is tagged now was tagged in an earlier run that made certified rounds: then one
        more run has nothing of a secret to learn.

        It depends only on which tagged texts of which runs are equal, which is public (docs/mathematics.md §8), and
        on no model.
        """
        known = [record.tagged_texts() for record in self._records() if record.rounds]
        if not known:
            return False
        return not texts_tagged(text, self._key).join(pl.concat(known), on="hash", how="anti").height

    def before(self, job: str) -> str | None:
        """What the plan of this job's run counted in, once that run has released anything; else None."""
        for folder, _ in self._folders.released():
            try:
                noted = json.loads((folder / _BEFORE).read_bytes())
                if noted["job"] == job:
                    return noted["before"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None

    def _passages(self, text: RunText) -> tuple[pl.DataFrame, pl.DataFrame]:
        """`passages_of`, which reads all text: those of the last one are kept."""
        if self._last[0] is not text:
            self._last = text, passages_of(text, self._key)
        return self._last[1]

    @contextlib.contextmanager
    def training(self, run: str, text: RunText, counted: Earlier | None) -> Iterator[int]:
        """Held while a run trains. Yields the lock's descriptor, which a process that makes the releases has to
        inherit (`RunFolders.training`).

        `counted`: for a run under a promise of several, what its plan counted. No other run trains at the same
        time, and nothing was released that the plan does not know.

        Raises:
            InputError: another run trains, or released something since this one was planned. A run that has itself
                released something continues: later runs have counted it.
        """
        why = "another run is training, and one of the two is under a promise of several runs"
        with self._folders.training(exclusive=counted is not None, why=why) as lock:
            if counted and not self._folders.releases(run) and not self.earlier(run, text).same_as(counted):
                raise InputError(
                    str(self._root),
                    "another run released something since this one was planned",
                    "start it again: its plan then counts that run in",
                )
            yield lock

    def earlier(self, run: str, text: RunText) -> Earlier:
        """All other runs that released one round or more: finished, failed, killed, cancelled or rejected.

        What is found by its text is noted in that run by its name, so that the next change of it hides nothing.
        """
        with self._folders.writing():
            return self._earlier(run, text)

    def _earlier(self, run: str, text: RunText) -> Earlier:
        names = pl.Series(text.identities, dtype=pl.String)  # of no secret as well
        secrets = text.secrets.sort("secret_id").select("prior", "posterior", name=names)
        named = secrets.with_row_index("secret_id")
        now, files = texts_tagged(text, self._key), files_tagged(text, self._key)
        runs, profiles = [], [pl.DataFrame(schema=PROFILES)]
        noise_free = np.zeros(named.height, dtype=bool)
        words = words_of_values(text, self._key), words_of_files(text, self._key)
        records = self._read(run)
        unknown = self._folders.unnoted() + sum(record is None for _, _, record in records)
        records = [(folder, released, record) for folder, released, record in records if record is not None]
        # a word is noted once, by whichever run used it first: what any of them used is asked of each
        used = pl.concat([pl.DataFrame(schema=FILES), *(record.words for _, _, record in records)])
        own, passages = self._passages(text)
        here = texts_untagged(text, self._key)
        untagged = pl.concat([here, *(record.untagged_texts() for _, _, record in records)], how="diagonal")
        here = pl.concat([here, passages])
        named_alike, others, gone = set(named["name"]), [], []
        for folder, released, record in records:
            # an older hush wrote none as null
            theirs = record.secrets.with_columns(pl.col("name").cast(pl.String))
            known = theirs.with_row_index("secret").join(named, on="name")
            found = [held_in_files(record, known, files), held_by_words(record, known, *words, used)]
            held = pl.concat([texts_held(record, known, now, own), *found])
            if (more := record.with_edges(held, named)) is not record:
                more.write(folder, self._identity)
            noise_free[held.filter(pl.col("rate").is_null())["secret_id"].to_numpy()] = True
            gone.append(find_now_untagged(record, known, untagged, passages, text.of_whole_files))
            noise_free[gone[-1]["secret_id"].to_numpy()] = True
            profile = dominating_binomials(held)
            if self.public_name(folder.name) in self._refuted:  # its noise is not what it says, or too little
                noise_free[profile["secret_id"].to_numpy()] = True
            mechanism = record.noise_multiplier, record.rounds, released, record.settings
            if profile.height:
                kept = known.filter(
                    pl.col("prior") == pl.col("prior_right"), pl.col("posterior") == pl.col("posterior_right")
                )
                same = profile["secret_id"].is_in(kept["secret_id"].to_list())
                number = pl.lit(len(runs), dtype=pl.UInt32).alias("run")
                profiles.append(profile.select(number, pl.all(), same_promise=same))
                runs.append((len(runs), self.public_name(folder.name), *mechanism))
                if record.settings == text.settings:
                    named_alike |= set(record.secrets["name"])
            elif record.rounds and record.settings != text.settings:
                others.append((set(record.secrets["name"]), self.public_name(folder.name), *mechanism))
        # of other settings, and of no secret of today: the noise of a run above may have followed from it
        runs += [(len(runs) + i, *run) for i, (_, *run) in enumerate(o for o in others if o[0] & named_alike)]
        gone = [frame.join(here, on="hash").select(NOW_UNTAGGED.keys()) for frame in gone]
        gone = pl.concat([pl.DataFrame(schema=NOW_UNTAGGED), *gone]).unique().sort("secret_id", "example")
        table = pl.DataFrame(runs, schema=RUNS, orient="row")
        return Earlier(table, pl.concat(profiles), noise_free, unknown, gone)

    def _read(self, but: str = "") -> list[tuple[Path, int, RunRecord | None]]:
        """Folder, releases and record of every other run that released anything; None if it does not say how it
        drew."""
        return [
            (folder, n, RunRecord.read(folder, self._identity)) for folder, n in self._folders.released(but)
        ]

    def _records(self, but: str = "") -> list[RunRecord]:
        return [record for _, _, record in self._read(but) if record is not None]
