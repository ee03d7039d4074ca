"""Steps of `hush audit`: each attack on a registered model, kept by its inputs; a killed one resumes by parts.

The tables of these steps stay in the private store. What is published of them is made in `audit_tables`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence

import polars as pl
from pydantic import BaseModel

from hush_core.certificate import read_certificate, read_tables
from hush_core.config import RANKED
from hush_core.files import whole_file
from hush_core.weights.roles import CERTIFIED, HELD_BACK, HELD_OUT
from tasks.audit_inputs import AuditInputs
from tasks.models import Model
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, Store, open_store

SEED = 11
"""Of the alternatives, and of which texts are attacked: other than those of the job's own attack."""
STOP_AFTER = 8
"""A value is given up when so many alternatives rank above it; the evidence asks no further."""
MOST_CONTEXTS = 8
PART = 50
"""Secrets between two saves."""
MOST_TEXTS = 400
"""Texts of each kind that losses and k-extraction look at, drawn at random."""


class MemberTexts(BaseModel, frozen=True):
    """Distinct texts that the rounds drew, and distinct ones that no training saw."""

    tagged: Ref
    """Those with a secret that the rounds drew: example_id · path · text, as the others."""
    members: Ref
    """Those that the others are compared with: the same, or the drawn ones without a secret."""
    others: Ref
    like_members: bool
    """Whether both were parted by chance; if not, a difference may also be one between the kinds of text."""


@cached_task(name="audit_rank", version=1)
def rank_values(model: Model, inputs: AuditInputs, alternatives: int) -> Ref:
    """`exposure` of every secret with a value among fresh alternatives."""
    from hush_core.auditing.exposure import exposure
    from hush_core.training import load_model

    store = open_store()
    opened = load_model(store.path(model.files, verify=True)).on_accelerator()
    texts, places = store.read_frame(inputs.examples)["text"].to_list(), store.read_frame(inputs.occurrences)
    secrets = store.read_frame(inputs.secrets)

    def some(ids: Sequence[int]) -> pl.DataFrame:
        return exposure(
            opened, texts, places.filter(pl.col("secret_id").is_in(ids)), secrets, alternatives=alternatives,
            seed=SEED, max_contexts=MOST_CONTEXTS, stop_after=STOP_AFTER,
        )  # fmt: skip

    table = _in_parts(
        store, content_key("audit_rank", 1, model, inputs, alternatives), places, "secret_id", some
    )
    return store.put_frame(table, kind="audit_ranks")


@cached_task(name="audit_rank_redacted", version=1)
def rank_redacted(model: Model, inputs: AuditInputs, alternatives: int) -> Ref:
    """The same of every redacted value, at its placeholders."""
    from hush_core.auditing.exposure import redacted_exposure
    from hush_core.training import load_model

    store = open_store()
    opened = load_model(store.path(model.files, verify=True)).on_accelerator()
    texts, places = store.read_frame(inputs.examples)["text"].to_list(), store.read_frame(inputs.redactions)
    values, redacted = store.read_frame(inputs.redacted_values), store.read_frame(inputs.redacted)

    def some(ids: Sequence[int]) -> pl.DataFrame:
        return redacted_exposure(
            opened, texts, places.filter(pl.col("redacted_id").is_in(ids)), values, redacted,
            alternatives=alternatives, seed=SEED, max_contexts=MOST_CONTEXTS, stop_after=STOP_AFTER,
        )  # fmt: skip

    key = content_key("audit_rank_redacted", 1, model, inputs, alternatives)
    return store.put_frame(_in_parts(store, key, places, "redacted_id", some), kind="audit_ranks")


@cached_task(name="audit_write", version=1)
def write_values(model: Model, inputs: AuditInputs, *, redacted: bool) -> Ref:
    """`written_out_table` of every secret with a value, or of every redacted one."""
    from hush_core.auditing.against_certificate import written_out_table
    from hush_core.auditing.contexts import redacted_targets, value_targets
    from hush_core.training import load_model

    store = open_store()
    opened = load_model(store.path(model.files, verify=True)).on_accelerator()
    texts, both = store.read_frame(inputs.examples)["text"].to_list(), opened.objective.kind == "masked"
    key = "redacted_id" if redacted else "secret_id"
    places = store.read_frame(inputs.redactions if redacted else inputs.occurrences)

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
    from hush_core.training import load_model

    store, progress = open_store(), progress_log()
    one, two = (load_model(store.path(m.files, verify=True)).on_accelerator() for m in (model, start))
    found = {}
    for table in {texts.tagged, texts.members, texts.others}:
        rows = store.read_frame(table)
        losses = calibrated_loss(one, two, rows["text"].to_list(), progress)
        whole = pl.concat([rows.drop("text"), losses], how="horizontal")
        found[table] = store.put_frame(whole, kind="audit_losses")
    return Losses(tagged=found[texts.tagged], members=found[texts.members], others=found[texts.others])


class Extraction(BaseModel, frozen=True):
    """`k_extraction` by reference: (share, from, to) of each model and of the difference."""

    prefix: int
    length: int
    texts: int
    trained: tuple[float, float, float]
    start: tuple[float, float, float]
    difference: tuple[float, float, float]
    table: Ref


@cached_task(name="audit_extract", version=1)
def extract_texts(model: Model, start: Model, texts: MemberTexts) -> Extraction | None:
    """k-extraction of texts with a secret; None where no text is long enough, or the model's context too short."""
    from hush_core.auditing.k_extraction import k_extraction, window_of
    from hush_core.training import load_model

    store = open_store()
    one, two = (load_model(store.path(m.files, verify=True)).on_accelerator() for m in (model, start))
    told = store.read_frame(texts.tagged)["text"].to_list()
    prefix = length = window_of(one, two, told)
    if not length:
        return None
    found = k_extraction(one, two, told, prefix=prefix, length=length, progress=progress_log())
    return Extraction(
        prefix=prefix, length=length, texts=found.texts, trained=found.trained, start=found.start,
        difference=found.difference, table=store.put_frame(found.table, kind="audit_extracted"),
    )  # fmt: skip
