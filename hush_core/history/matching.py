"""Which text of an earlier run is a secret's of today, and what that run did with it.

`record` is of the earlier run; `known` has secret (its row there) and secret_id of the secrets that both name;
`now` has secret_id · hash · copies of every text that is tagged today, `files` secret_id · hash of every whole file
with such a text.
"""

import numpy as np
import polars as pl

from hush_core.history.passages import NOW, found_again
from hush_core.history.record import RunRecord
from hush_core.history.run_text import RunText, hashes_of
from hush_core.history.words import learned_by_words

_ROUND_OFF = 1e-9
"""Relative: the sum of hazards is this good."""


def texts_held(
    record: RunRecord, known: pl.DataFrame, now: pl.DataFrame, passages: pl.DataFrame
) -> pl.DataFrame:
    """secret_id · text · rate: the run's texts that it tagged with a secret, or that are tagged with it now.

    A text counts as it was, or cut and edited since (`passages`: secret_id · hash of what is tagged now). If the
    run's items are more than examples, a secret's items take the place of the texts that it tagged (text is null).
    All of these are in items tagged with the secret (docs/mechanisms.md, Proposition M7)."""
    texts = record.texts.with_row_index("text").with_columns(tagged=record.is_tagged)
    named = known.join(record.edges, on="secret")
    by_name = named.select("secret_id", "text")
    by_items = named.filter("in_items").select("secret_id", "text")
    by_text = now.join(texts, on="hash")
    counted = texts.filter("tagged").group_by("hash").agg(counted=pl.len())
    others = by_text.filter(~pl.col("tagged")).join(counted, on="hash", how="left")
    # what was trained without noise first, then what was drawn most often
    others = others.sort("rate", descending=True, nulls_last=False)
    missing = pl.col("copies").cast(pl.Int64) - pl.col("counted").fill_null(0)
    others = others.filter(pl.int_range(pl.len()).over("secret_id", "hash") < missing)
    pairs = [part.select("secret_id", "text") for part in (by_name, by_text.filter("tagged"), others)]
    pairs.append(found_again(record, passages, "secret_id"))
    found = pl.concat(pairs).unique().join(by_items, on=["secret_id", "text"], how="anti")
    items = known.join(record.items, on="secret").select(
        "secret_id", pl.lit(None, pl.UInt32).alias("text"), "rate"
    )
    return pl.concat([found.join(texts, on="text").select("secret_id", "text", "rate"), items])


def held_in_files(record: RunRecord, known: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """secret_id · text · rate: for each secret that the run does not name, in a file of which it used text without
    noise, one such text. It represents text that was cut otherwise then."""
    late = files.join(record.files, on="hash").filter(
        ~pl.col("secret_id").is_in(known["secret_id"].unique().implode())
    )
    return _for_all_texts(record, late["secret_id"].unique())


def held_by_words(
    record: RunRecord, known: pl.DataFrame, values: pl.DataFrame, files: pl.DataFrame, used: pl.DataFrame
) -> pl.DataFrame:
    """The same for each secret that the run does not name, if its words were in a file, perhaps edited since.

    Counted are words that this run and any other earlier run used without noise (`used`: hash; `values`, `files`:
    `words.py`)."""
    named = known["secret_id"].unique().implode()
    late = [table.filter(~pl.col("secret_id").is_in(named)) for table in (values, files)]
    return _for_all_texts(record, pl.Series(learned_by_words(*late, used), dtype=pl.UInt32))


def _for_all_texts(record: RunRecord, secrets: pl.Series) -> pl.DataFrame:
    """secret_id · text · rate: one text that was used without noise, which represents what was cut otherwise."""
    without = record.texts.with_row_index("text").filter(pl.col("rate").is_null()).head(1)
    return pl.DataFrame({"secret_id": secrets}).join(without.select("text", "rate"), how="cross")


def find_now_untagged(
    record: RunRecord,
    known: pl.DataFrame,
    untagged: pl.DataFrame,
    passages: pl.DataFrame,
    files: pl.DataFrame,
) -> pl.DataFrame:
    """secret_id · hash: text that only an edge protected, and that is text like any other in some run.

    These are the run's texts of a secret, none of them untagged then, that some run or this one uses untagged
    (`untagged`: hash), and passages of those that this one uses so (`passages`: example · hash), where the secret
    is one of whole `files` (secret_id). Importers and copies are not counted: they change with each edit."""
    direct = record.edges.filter("direct").join(known, on="secret").select("secret_id", "text")
    own = record.texts.with_row_index("text").join(record.untagged_texts(), on="hash", how="anti")
    whole = own.join(untagged, on="hash", how="semi").join(direct, on="text")
    here = passages.select(pl.lit(0).alias("here"), "hash").unique()
    moved = (
        found_again(record, here, "here").join(record.passages, on="text").join(here, on="hash", how="semi")
    )
    parts = (whole, moved.join(direct.join(files, on="secret_id", how="semi"), on="text"))
    return pl.concat([part.select("secret_id", "hash") for part in parts]).unique()


def noted_as_untagged(record: RunRecord, text: RunText, gone: pl.DataFrame, key: bytes) -> RunRecord:
    """This run's own record with what it uses untagged of earlier runs' secrets (`gone`: secret_id · example) under
    their names, so that the end of that text hides nothing. A text without noise represents public ones."""
    rows = record.texts.with_row_index("text").filter(~record.is_tagged)
    own = gone.filter(pl.col("example") >= 0)
    hashes = hashes_of([text.texts[i] for i in own["example"]], key)
    held = own.select("secret_id", hash=pl.Series(hashes, dtype=pl.UInt64)).join(rows, on="hash")
    public = gone.filter(pl.col("example") < 0).join(
        rows.filter(pl.col("rate").is_null()).head(1), how="cross"
    )
    names = pl.DataFrame({"name": text.identities}, schema={"name": pl.String}).with_row_index("secret_id")
    return record.with_edges(pl.concat([one.select("secret_id", "text") for one in (held, public)]), names)


def dominating_binomials(held: pl.DataFrame) -> pl.DataFrame:
    """secret_id · examples · rate of the dominating binomial; the rate errs upwards."""
    hazards = (
        held.filter(pl.col("rate") > 0)
        .group_by("secret_id")
        .agg(examples=pl.len().cast(pl.UInt32), hazard=-((-pl.col("rate")).log1p().sum()))
        .sort("secret_id")
    )
    rate = -np.expm1(-hazards["hazard"].to_numpy() / hazards["examples"].to_numpy()) * (1 + _ROUND_OFF)
    return hazards.select("secret_id", "examples", rate=pl.Series(np.minimum(rate, 1.0), dtype=pl.Float64))


def texts_tagged(text: RunText, key: bytes) -> pl.DataFrame:
    """secret_id · hash · copies of every text that is tagged now; copies: under whatever tag."""
    tagged = text.edges["example_id"].unique().sort().to_numpy()
    hashes = np.zeros(len(text.texts), dtype=np.uint64)
    hashes[tagged] = hashes_of([text.texts[i] for i in tagged], key)
    copies = pl.DataFrame({"hash": hashes[tagged]}).group_by("hash").agg(copies=pl.len())
    owners = text.edges["secret_id"].cast(pl.UInt32)
    table = pl.DataFrame({"secret_id": owners, "hash": hashes[text.edges["example_id"].to_numpy()]})
    return table.unique().join(copies, on="hash")


def texts_untagged(text: RunText, key: bytes) -> pl.DataFrame:
    """example · hash of every text that is used now and that no secret is in; −1: public text."""
    rows = np.flatnonzero(text.untagged)
    own = pl.DataFrame({"example": rows, "hash": hashes_of([text.texts[i] for i in rows], key)}, schema=NOW)
    noise_free = np.unique(hashes_of(text.without_noise, key))
    others = pl.DataFrame({"example": np.full(len(noise_free), -1), "hash": noise_free}, schema=NOW)
    return pl.concat([own, others.join(own, on="hash", how="anti")])


def files_tagged(text: RunText, key: bytes) -> pl.DataFrame:
    """secret_id · hash of every whole file that holds text of the secret now."""
    tagged = np.zeros(len(text.texts), dtype=bool)
    tagged[text.edges["example_id"].to_numpy()] = True
    owners = text.edges.select(
        pl.col("secret_id").cast(pl.UInt32), example=pl.col("example_id").cast(pl.UInt32)
    )
    return owners.join(text.whole_files(tagged, key), on="example").select("secret_id", "hash").unique()
