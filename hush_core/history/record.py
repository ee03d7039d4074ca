"""What one run could have revealed of which secret, as its folder `store/history/KEY/` keeps it.

    run.json          the mechanism (σ, T, a digest of the settings), and names, priors and targets of the secrets
    texts.parquet     hash · rate: a keyed hash and the sampling rate of every text that a batch could hold or that
                      a secret was in; rate is null for a text that was trained or chosen on WITHOUT noise
    edges.parquet     secret · text: rows of the names and of the texts
    files.parquet     hash: a keyed hash of every whole file of which some text was used WITHOUT noise
    items.parquet     secret · rate: the items that may hold text of a secret, of runs whose items are more than
                      examples; edges.parquet then says which texts these hold (`in_items`)
    words.parquet     hash: a keyed hash of every word in such text (`words.py`) that no earlier run noted
    passages.parquet  text · hash: keyed hashes of passages of the texts that are a file of a secret (`passages.py`)
    releases.witness  the ledger's second count (`hush_core/history/ledger.py`)
    name              what was drawn when this store noted the run first (`folders.py`)

A table that was replaced has the beginning of its digest before its name. Nothing of a text and no value is in
the folder: names of secrets are public, or keyed digests; texts are keyed hashes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.files import file_sha256, write_whole
from hush_core.history.run_text import RunText, hashes_of

FORM = 6
"""Of run.json; form 1 has no rates and is not read, 2 no whole files, 3 no words, 4 no items, 5 no passages."""
RUN = "run.json"
SECRETS = {"name": pl.String, "prior": pl.Float64, "posterior": pl.Float64}
TEXTS = {"hash": pl.UInt64, "rate": pl.Float64}
EDGES = {"secret": pl.UInt32, "text": pl.UInt32}
"""in_items, where noted: the secret's rows of `items` count the text. direct: it is the secret's own, not tagged as
a copy or an importer. Older records do not say, and all count as its own."""
ITEMS = {"secret": pl.UInt32, "rate": pl.Float64}
FILES = {"hash": pl.UInt64}
PASSAGES = {"text": pl.UInt32, "hash": pl.UInt64}
_TABLES = {
    "texts": (TEXTS, 2), "edges": (EDGES, 2), "files": (FILES, 3), "words": (FILES, 4), "items": (ITEMS, 5),
    "passages": (PASSAGES, 6),
}  # fmt: skip
"""Columns of each table, and the form since which it is noted."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run: its mechanism, and the tables `secrets` (name · prior · posterior), `texts`, `edges`, `files`,
    `words`, `items` and `passages` (module docstring)."""

    noise_multiplier: float
    rounds: int
    settings: str
    secrets: pl.DataFrame
    texts: pl.DataFrame
    edges: pl.DataFrame
    files: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=FILES))
    words: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=FILES))
    items: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=ITEMS))
    passages: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=PASSAGES))

    def __post_init__(self) -> None:
        for name, value in (("in_items", False), ("direct", True)):
            if name not in self.edges.columns:
                object.__setattr__(self, "edges", self.edges.with_columns(pl.lit(value).alias(name)))

    @property
    def is_tagged(self) -> pl.Series:
        """By row of `texts`: whether a secret was in it."""
        return pl.int_range(self.texts.height, eager=True).is_in(self.edges["text"].unique().to_list())

    def untagged_texts(self) -> pl.DataFrame:
        """hash of every text that the run used and that no secret was in."""
        return self.texts.filter(~self.is_tagged).select("hash").unique()

    def tagged_texts(self) -> pl.DataFrame:
        """hash of every text that a secret was in, and that was not trained on without noise."""
        return self.texts.filter(self.is_tagged & pl.col("rate").is_not_null()).select("hash").unique()

    @classmethod
    def of(cls, text: RunText, key: bytes) -> RunRecord:
        example = text.edges["example_id"].to_numpy()
        tagged = np.zeros(len(text.rates), dtype=bool)
        tagged[example] = True
        drawn = np.flatnonzero((text.rates > 0) | tagged)
        place = np.full(len(text.rates), -1)
        place[drawn] = np.arange(len(drawn))
        rows = place[example]
        owners, used = np.unique(text.edges["secret_id"].to_numpy()[rows >= 0], return_inverse=True)
        promised = text.secrets.sort("secret_id").select("prior", "posterior")
        secrets = pl.DataFrame({"name": text.identities}, schema={"name": pl.String}).hstack(promised)[owners]
        hashes = hashes_of([text.texts[i] for i in drawn], key)
        noise_free = np.unique(hashes_of(text.without_noise, key))
        texts = pl.DataFrame(
            {
                "hash": np.concatenate([hashes, noise_free]),
                "rate": pl.Series([*text.rates[drawn], *[None] * len(noise_free)], dtype=pl.Float64),
            },
            schema=TEXTS,
        )
        edges = pl.DataFrame({"secret": used, "text": rows[rows >= 0]}, schema=EDGES)
        edges = edges.with_columns(
            in_items=pl.lit(text.items is not None), direct=pl.Series(text.direct[rows >= 0])
        )
        items = pl.DataFrame(schema=ITEMS)
        if text.items is not None:
            place_of = pl.DataFrame(
                {"secret_id": owners, "secret": range(len(owners))}, schema_overrides=ITEMS
            )
            held = text.items.with_columns(pl.col("secret_id").cast(place_of.schema["secret_id"]))
            held = held.join(place_of, on="secret_id").select("secret", "rate")
            items = held.cast(dict(ITEMS)).sort("secret", "rate")
        plain = np.zeros(len(text.rates), dtype=bool) if text.plain is None else text.plain
        files = text.whole_files(plain, key).select("hash").unique("hash", maintain_order=True)
        return cls(
            text.noise_multiplier, text.rounds, text.settings, secrets, texts, edges, files, items=items
        )  # fmt: skip

    def and_also(self, before: RunRecord) -> RunRecord:
        """This and what the same run noted before: nothing that was noted is lost, and nothing is counted twice."""
        same = self.texts.equals(before.texts)
        offset = 0 if same else before.texts.height
        mine = self.secrets.unique("name", keep="first", maintain_order=True)
        added = mine.filter(~pl.col("name").is_in(before.secrets["name"].to_list()))
        secrets = pl.concat([before.secrets, added])
        places = secrets.with_row_index("place").unique("name", keep="first")
        place = self.secrets.join(places, on="name", maintain_order="left")["place"]
        own = pl.DataFrame(
            {
                "secret": place.gather(self.edges["secret"]), "text": self.edges["text"] + offset,
                "in_items": self.edges["in_items"], "direct": self.edges["direct"],
            }, schema_overrides=EDGES,
        )  # fmt: skip
        items = self.items.with_columns(secret=place.gather(self.items["secret"])).sort("secret", "rate")
        if not items.equals(before.items.sort("secret", "rate")):  # both count: better too many than too few
            items = pl.concat([before.items, items])
        return replace(
            self,
            secrets=secrets,
            texts=before.texts if same else pl.concat([before.texts, self.texts]),
            edges=pl.concat([before.edges, own]).unique(maintain_order=True),
            files=pl.concat([before.files, self.files]).unique(maintain_order=True),
            words=pl.concat([before.words, self.words]).unique(maintain_order=True),
            passages=pl.concat(
                [before.passages, self.passages.with_columns(pl.col("text") + pl.lit(offset, pl.UInt32))]
            ).unique(maintain_order=True),
            items=items,
        )

    def with_edges(self, held: pl.DataFrame, named: pl.DataFrame) -> RunRecord:
        """The same, with what was found by its text under a secret's name of today: `held` has secret_id · text,
        `named` secret_id · name. Nothing was promised of it then, so prior and target are null. Itself, where all
        of it is noted."""
        rows = self.secrets.with_row_index("secret").select("secret", "name")
        noted = self.edges.join(rows, on="secret").select("name", "text")
        found = held.select("secret_id", "text").join(named.select("secret_id", "name"), on="secret_id")
        new = found.select("name", "text").drop_nulls().unique().join(noted, on=["name", "text"], how="anti")
        if not new.height:
            return self
        fresh = sorted(set(new["name"].to_list()) - set(self.secrets["name"].to_list()))
        nothing = [None] * len(fresh)
        added = pl.DataFrame({"name": fresh, "prior": nothing, "posterior": nothing}, schema=SECRETS)
        secrets = pl.concat([self.secrets, added])
        places = secrets.with_row_index("secret").unique("name", keep="first").select("secret", "name")
        edges = new.join(places, on="name").select("secret", "text").sort("secret", "text").cast(dict(EDGES))
        edges = edges.with_columns(in_items=pl.lit(False), direct=pl.lit(False))
        return replace(self, secrets=secrets, edges=pl.concat([self.edges, edges]))

    def write(self, folder: Path, identity: str) -> None:
        """Tables first, then the document that names them, durably. A table whose content changes gets another
        file, and those of the record before stay for its readers: a kill leaves that one whole, or this one."""
        digests = {}
        for name in _TABLES:
            data, file = io.BytesIO(), f"{name}.parquet"
            getattr(self, name).write_parquet(data)
            digests[file] = hashlib.sha256(data.getvalue()).hexdigest()
            place = _place(folder, file, digests[file])
            if place.exists() and file_sha256(place) != digests[file]:
                place = _replaced(folder, file, digests[file])
            write_whole(place, data.getvalue())
        facts = {
            "form": FORM, "identity": identity, "noise_multiplier": self.noise_multiplier, "rounds": self.rounds,
            "settings": self.settings, "secrets": self.secrets.to_dict(as_series=False),
            "tables": digests,
        }  # fmt: skip
        before = {}
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            before = json.loads((folder / RUN).read_bytes())["tables"]
        kept = {_place(folder, *table) for table in [*digests.items(), *before.items()]}
        for name in digests:
            for file in {folder / name, *folder.glob(f"[0-9a-f]*-{name}")} - kept:
                file.unlink(missing_ok=True)
        write_whole(folder / RUN, json.dumps(facts, sort_keys=True).encode())

    @classmethod
    def read(cls, folder: Path, identity: str) -> RunRecord | None:
        """None where it is not there, damaged, of an older hush, or under another identity key."""
        try:
            facts = json.loads((folder / RUN).read_bytes())
            places = {name: _place(folder, name, digest) for name, digest in facts["tables"].items()}
            whole = all(digest == file_sha256(places[name]) for name, digest in facts["tables"].items())
            form = facts["form"]
            if not whole or form not in (2, 3, 4, 5, FORM) or facts["identity"] != identity:
                return None
            tables = {
                name: pl.read_parquet(places[f"{name}.parquet"])
                if form >= since
                else pl.DataFrame(schema=schema)
                for name, (schema, since) in _TABLES.items()
            }
            return cls(
                float(facts["noise_multiplier"]), int(facts["rounds"]), facts["settings"],
                pl.DataFrame(facts["secrets"], schema=SECRETS), **tables,
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None


def _replaced(folder: Path, name: str, digest: str) -> Path:
    """The file of a table that has another content than the first one of that name."""
    return folder / f"{digest[:16]}-{name}"


def _place(folder: Path, name: str, digest: str) -> Path:
    """The file of a table with this content."""
    return place if (place := _replaced(folder, name, digest)).exists() else folder / name
