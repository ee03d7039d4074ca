"""Steps of `hush audit`: each attack on a registered model, kept by its inputs; a killed one resumes by parts.

The tables of these steps stay in the private store. What is published of them is made in `audit_tables`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl
from pydantic import BaseModel

from hush_core.certificate import read_certificate, read_tables
from hush_core.config import RANKED
from hush_core.errors import InputError
from hush_core.files import private_folder, whole_file, write_whole
from hush_core.weights.roles import CERTIFIED, HELD_BACK, HELD_OUT
from tasks.models import Model
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, Store, open_store

if TYPE_CHECKING:
    from hush_core.training import LanguageModel

SEED = 11
"""Of the alternatives, and of which texts are attacked: other than those of the job's own attack."""
STOP_AFTER = 8
"""A value is given up when so many alternatives rank above it; the evidence asks no further."""
MOST_CONTEXTS = 8
PART = 50
"""Secrets between two saves."""
MOST_TEXTS = 400
"""Texts of each kind that losses and k-extraction look at, drawn at random."""


FOLDER = "auditable"


class AuditInputs(BaseModel, frozen=True):
    """The model before the certified rounds, and the tables that the attacks read."""

    start: Model
    examples: Ref
    occurrences: Ref
    secrets: Ref
    redactions: Ref
    redacted_values: Ref
    redacted: Ref


def note_inputs(store: Store, certificate: Ref, inputs: AuditInputs) -> None:
    """Keep them under the digest of the certificate."""
    file = private_folder(store.root / FOLDER) / f"{read_certificate(store.path(certificate)).digest}.json"
    write_whole(file, json.dumps(inputs.model_dump(mode="json"), sort_keys=True).encode())


def find_inputs(store: Store, digest: str, uri: str) -> AuditInputs:
    """Those of the certificate with this digest. Raises InputError: this home did not train the model, or has lost
    what an attack needs."""
    note = store.root / FOLDER / f"{digest}.json"
    if not note.is_file():
        what = "was not trained in this HUSH_HOME, which has neither its texts nor its secrets' values"
        hint = "audit it in the home that trained it; a model of an older hush has to be trained again"
        raise InputError(uri, what, hint)
    inputs = AuditInputs.model_validate_json(note.read_bytes())
    parts = {name: getattr(inputs, name) for name in AuditInputs.model_fields if name != "start"}
    missing = [name for name, ref in {**parts, "start": inputs.start.files}.items() if not store.holds(ref)]
    if missing:
        what = f"cannot be attacked: the store of this HUSH_HOME has lost {', '.join(missing)}"
        hint = "run the job again, which makes them again, or restore the store from a backup"
        raise InputError(uri, what, hint)
    return inputs


class MemberTexts(BaseModel, frozen=True):
    """Distinct texts that the rounds drew, and distinct ones that no training saw."""

    tagged: Ref
    """Those with a secret that the rounds drew: example_id · path · text, as the others."""
    members: Ref
    """Those that the others are compared with: the same, or the drawn ones without a secret."""
    others: Ref
    like_members: bool
    """Whether both were parted by chance; if not, a difference may also be one between the kinds of text."""


@cached_task(name="audit_rank", version=2)
def rank_values(model: Model, inputs: AuditInputs, alternatives: int, *, redacted: bool) -> Ref:
    """`exposure` of every secret with a value among fresh alternatives; of every redacted value at its
    placeholders."""
    from hush_core.auditing.exposure import exposure, redacted_exposure

    store, attack = open_store(), redacted_exposure if redacted else exposure
    opened, texts, key, places = _attacked(store, model, inputs, redacted)
    refs = (inputs.redacted_values, inputs.redacted) if redacted else (inputs.secrets,)
    tables = [store.read_frame(ref) for ref in refs]

    def some(ids: Sequence[int]) -> pl.DataFrame:
        return attack(
            opened, texts, places.filter(pl.col(key).is_in(ids)), *tables, alternatives=alternatives, seed=SEED,
            max_contexts=MOST_CONTEXTS, stop_after=STOP_AFTER,
        )  # fmt: skip

    name = content_key("audit_rank", 2, model, inputs, alternatives, redacted)
    return store.put_frame(_in_parts(store, name, places, key, some), kind="audit_ranks")


@cached_task(name="audit_write", version=1)
def write_values(model: Model, inputs: AuditInputs, *, redacted: bool) -> Ref:
    """`written_out_table` of every secret with a value, or of every redacted one."""
    from hush_core.auditing.against_certificate import written_out_table
    from hush_core.auditing.contexts import redacted_targets, value_targets

    store = open_store()
    opened, texts, key, places = _attacked(store, model, inputs, redacted)
    both = opened.objective.kind == "masked"

    def some(ids: Sequence[int]) -> pl.DataFrame:
        chosen = places.filter(pl.col(key).is_in(ids))
        if redacted:
            values = store.read_frame(inputs.redacted_values)
            targets = redacted_targets(texts, chosen, values, MOST_CONTEXTS, both=both)
        else:
            targets = value_targets(texts, chosen, MOST_CONTEXTS, both=both)
        return written_out_table(opened, list(targets))

    name = content_key("audit_write", 1, model, inputs, redacted)
    return store.put_frame(_in_parts(store, name, places, key, some), kind="audit_written")


def _attacked(
    store: Store, model: Model, inputs: AuditInputs, redacted: bool
) -> tuple[LanguageModel, list[bytes], str, pl.DataFrame]:
    """(the model, the texts, what places are counted by, where the values are)."""
    key, places = ("redacted_id", inputs.redactions) if redacted else ("secret_id", inputs.occurrences)
    texts = store.read_frame(inputs.examples)["text"].to_list()
    return model.load().on_accelerator(), texts, key, store.read_frame(places)


def _in_parts(
    store: Store, key: str, places: pl.DataFrame, column: str, make: Callable[[Sequence[int]], pl.DataFrame]
) -> pl.DataFrame:
    """`make` for some ids of `places` after others, saving each part: a killed step resumes after the last."""
    folder, progress = store.work_dir(key), progress_log()
    ids = places[column].unique().sort().to_list()
    if not ids:
        return make([])
    frames = []
    for first in range(0, len(ids), PART):
        path = folder / f"{first:09d}.parquet"
        if not path.exists():
            with whole_file(path) as file:
                make(ids[first : first + PART]).write_parquet(file)
        frames.append(pl.read_parquet(path))
        progress("secrets attacked", min(len(ids), first + PART), len(ids))
    shutil.rmtree(folder)
    return pl.concat(frames)


@cached_task(name="audit_texts", version=2)
def member_texts(inputs: AuditInputs, certificate: Ref) -> MemberTexts:
    """Which texts the certified rounds drew, and which of the same kind nothing was trained on."""
    store = open_store()
    folder = store.path(certificate, verify=True)
    tables, mechanism = read_tables(folder), read_certificate(folder).facts.plan.mechanism
    weights, tagged = tables["weights.parquet"], tables["edges.parquet"]["example_id"].unique()
    rows = (
        store.read_frame(inputs.examples).select("example_id", "path", "text").join(weights, on="example_id")
    )
    rows = rows.with_columns(tagged=pl.col("example_id").is_in(tagged.implode()))
    drawn = (pl.col("role") == CERTIFIED) & (pl.col("weight") > 0)
    if mechanism.kind == "user_wise":  # a weight is of the item; over the rounds it shows any of its pool
        drawn = pl.col("role") == CERTIFIED
    if mechanism.select in RANKED:  # which of a pool's texts fill an item depends on what they say
        drawn &= ~pl.col("tagged")
    held_back = rows.filter(pl.col("role") == HELD_BACK)
    untagged = rows.filter(drawn & ~pl.col("tagged"))
    with_secret, others = rows.filter(drawn & pl.col("tagged")), rows.filter(pl.col("role") == HELD_OUT)
    members, alike = with_secret, False
    if held_back.height:
        others, alike = held_back, True
    elif untagged.height:
        members, alike = untagged, True
    others = others.filter(~pl.col("text").is_in(rows.filter(drawn)["text"].implode()))
    columns = ("example_id", "path", "text")
    chosen = []
    for frame in (with_secret, members, others):
        distinct = frame.unique("text", keep="first", maintain_order=True).select(columns)
        chosen.append(distinct.sample(min(MOST_TEXTS, distinct.height), seed=SEED).sort("example_id"))
    refs = [store.put_frame(frame, kind="audit_texts") for frame in chosen]
    return MemberTexts(tagged=refs[0], members=refs[1], others=refs[2], like_members=alike)


class Losses(BaseModel, frozen=True):
    """`calibrated_loss` of each table of `MemberTexts`, with example_id and path."""

    tagged: Ref
    members: Ref
    others: Ref


@cached_task(name="audit_losses", version=1)
def calibrate_losses(model: Model, start: Model, texts: MemberTexts) -> Losses:
    """The loss of all these texts by the model, less that by the one before its rounds."""
    from hush_core.auditing.calibrated_loss import calibrated_loss

    store, progress = open_store(), progress_log()
    one, two = (m.load().on_accelerator() for m in (model, start))
    found = {}
    for table in {texts.tagged, texts.members, texts.others}:
        rows = store.read_frame(table)
        losses = calibrated_loss(one, two, rows["text"].to_list(), progress)
        whole = pl.concat([rows.drop("text"), losses], how="horizontal")
        found[table] = store.put_frame(whole, kind="audit_losses")
    return Losses(tagged=found[texts.tagged], members=found[texts.members], others=found[texts.others])


class ExtractedShares(BaseModel, frozen=True):
    """`k_extraction` by reference: (share, from, to) of each model and of the difference."""

    prefix: int
    length: int
    texts: int
    trained: tuple[float, float, float]
    start: tuple[float, float, float]
    difference: tuple[float, float, float]
    table: Ref


@cached_task(name="audit_extract", version=1)
def extract_texts(model: Model, start: Model, texts: MemberTexts) -> ExtractedShares | None:
    """k-extraction of texts with a secret; None where no text is long enough, or the model's context too short."""
    from hush_core.auditing.k_extraction import k_extraction, window_of

    store = open_store()
    one, two = (m.load().on_accelerator() for m in (model, start))
    members = store.read_frame(texts.tagged)["text"].to_list()
    prefix = length = window_of(one, two, members)
    if not length:
        return None
    found = k_extraction(one, two, members, prefix=prefix, length=length, progress=progress_log())
    return ExtractedShares(
        prefix=prefix, length=length, texts=found.texts, trained=found.trained, start=found.start,
        difference=found.difference, table=store.put_frame(found.table, kind="audit_extracted"),
    )  # fmt: skip
