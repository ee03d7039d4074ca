"""Step 2c: what the other runs of this store released, which a promise of several runs counts in, and the model
that it starts from."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.config import HushConfig
from hush_core.errors import InputError
from hush_core.history import Earlier, RunHistory, RunText
from hush_core.history.earlier import with_retired
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION
from tasks.champion import Champion, fetch_champion
from tasks.refutation import refuted_runs
from tasks.runtime.caching import content_key
from tasks.runtime.environment import home
from tasks.runtime.steps import run_logger, step
from tasks.runtime.store import Ref, Store, open_store


class OtherRuns(BaseModel, frozen=True):
    """What the other runs of this store released, by reference (`hush_core.history.Earlier`)."""

    runs: Ref
    """run · key · noise_multiplier · rounds · released · settings."""
    profiles: Ref
    """run · secret_id · examples · rate · same_promise."""
    by_secret: Ref
    """secret_id · earlier_runs u32: how many trained on it, or may have · `bare`: one did so without noise."""
    secrets: int
    """Secrets that another run trained on, or may have."""
    most: int
    """The most runs of any secret."""
    unknown: int
    """Of these, runs that do not say how they drew whose text. They count for every secret."""

    @classmethod
    def of(cls, earlier: Earlier, store: Store) -> OtherRuns:
        table = pl.DataFrame({"earlier_runs": earlier.counts, "bare": earlier.noise_free}).with_row_index(
            "secret_id"
        )
        return cls(
            runs=store.put_frame(earlier.runs, kind="runs"),
            profiles=store.put_frame(earlier.profiles, kind="history"),
            by_secret=store.put_frame(table, kind="earlier_runs"),
            secrets=earlier.secrets,
            most=earlier.most,
            unknown=earlier.unknown,
        )

    def load(self, store: Store) -> Earlier:
        noise_free = store.read_frame(self.by_secret)["bare"].to_numpy()
        return Earlier(store.read_frame(self.runs), store.read_frame(self.profiles), noise_free, self.unknown)


class Before(BaseModel, frozen=True):
    """What was there before a run of a promise: the other runs, and the model that this one starts from (None: the
    public start)."""

    others: OtherRuns
    secrets: Ref
    """Those of this run and, where it starts from an earlier run's model, those that only earlier runs name: that
    model may still reveal them. They are in no example."""
    champion: Champion | None = None
    without_rounds: bool = False
    """No text of a secret is new since the runs that were made: this one trains on the untagged text alone."""

    def made(self, store: Store) -> int:
        """How many runs of the promise were made."""
        return store.read_frame(self.others.runs).height


def run_history() -> RunHistory:
    """Of this home's store."""
    place = home()
    return RunHistory(
        place.store, key=place.identity_key(), identity=place.fingerprint("identity"), refuted=refuted_runs()
    )


def note_refuted_elsewhere() -> None:
    """Ask the registry whether an audit of another home refuted a run that this home counts, and keep it."""
    from tasks.audit_record import note_elsewhere  # mlflow comes with it

    note_elsewhere(run_history().all_names())


def whole_files(examples: pl.DataFrame) -> list[str]:
    """Which content each example is of, by a name that is good in this run alone."""
    return examples.select(pl.concat_str("source", "revision", "path", separator="\0")).to_series().to_list()


def job_name(config: HushConfig, version: int, *tables: Ref) -> str:
    """Equal for one job done again: same tables, same config but for how the work is done and shown, and a trainer
    of the same `version`, which would resume it."""
    essential = config.model_copy(update={"train": config.train.essential()})
    settings = essential.model_dump(mode="json", exclude={"tracking", "audit"})
    return content_key("job", version, settings, config.settings_digest, list(tables))


@step(name="find earlier runs")
def find_earlier_runs(
    config: HushConfig,
    job: str,
    examples: Ref,
    edges: Ref,
    secrets: Ref,
    occurrences: Ref,
    weights: Ref,
    public: Ref,
) -> Before:
    """All other runs that released anything, up to now; and the model to start from, from the second run on, where
    the config does so. For a job that has begun, as they were when it began.

    Not cached: what it looks at changes. Raises InputError: an audit refuted one of these runs, here or by what the
    registry says, which ends the promise."""
    note_refuted_elsewhere()
    store, history = open_store(), run_history()
    if (begun := history.before(job)) is not None:
        found = Before.model_validate_json(begun)
        _refuse_refuted(config, history, store.read_frame(found.others.runs))
        return found
    frames = [store.read_frame(table) for table in (examples, edges, secrets)]
    texts, files = frames[0]["text"].to_list(), whole_files(frames[0])
    roles = store.read_frame(weights)["role"]
    plain, drawn = roles.is_in([PLAIN, VALIDATION, HELD_OUT]), (roles == CERTIFIED).to_numpy()
    without_noise = [*frames[0].filter(plain)["text"], *store.read_frame(public)["text"]]
    places = store.read_frame(occurrences)
    made: set[str] = set()
    while True:  # what only a run of other settings named is in its model too; that may lead to further runs
        table = frames[2]
        if config.train.start == "champion":
            table = with_retired(frames[2], history.named(config.settings_digest, made))
        text = RunText.now(
            texts, frames[1], table, files=files, without_noise=without_noise, occurrences=places,
            plain=plain.to_numpy(), drawn=drawn,
        )  # fmt: skip
        earlier = history.earlier("", text)
        others_too = earlier.runs.filter(pl.col("settings") != config.settings_digest)["key"].to_list()
        if config.train.start != "champion" or made.issuperset(others_too):
            break
        made.update(others_too)
    _refuse_refuted(config, history, earlier.runs)
    _refuse_now_untagged(earlier, table, frames[0])
    if table is not frames[2]:
        secrets = store.put_frame(table, kind="secrets")
    others = OtherRuns.of(earlier, store)
    runs, made = config.promise.runs if config.promise else 0, set(earlier.runs["key"].to_list())
    run_logger().info("%d of %d promised runs were made", len(made), runs)
    continues = config.train.start == "champion" and bool(made)
    without_rounds = continues and may_skip_rounds(config) and history.trained_before(text)
    champion = None
    if continues and (without_rounds or len(made) < runs):
        ended = tuple(one for one in history.models() if one[0] in {*made, ""})
        champion = fetch_champion(config.tracking.model, ended)
    return Before(others=others, secrets=secrets, champion=champion, without_rounds=without_rounds)


def _refuted(config: HushConfig, history: RunHistory, runs: pl.DataFrame) -> list[str]:
    """Of `runs`, and of all of this promise, those that an audit refuted: also one without certified
    rounds, and one whose secrets are in no text any more."""
    counted = set(runs["key"].to_list()) | history.of_settings(config.settings_digest)
    return sorted(counted & refuted_runs().keys())


def _refuse_refuted(config: HushConfig, history: RunHistory, runs: pl.DataFrame) -> None:
    """No run follows one that an audit refuted, whatever is promoted by then (mathematics.md §8, Proposition 16).
    Raises InputError: an audit refuted one of these runs, or another of the promise."""
    broken = _refuted(config, history, runs)
    if broken:
        raise InputError(
            "promise.runs",
            f"an audit refuted run {broken[0][:12]} of this promise, which has ended with that: no bound of all "
            "runs holds any more, and a choice made after an audit is not covered by one",
            "find what broke it (`hush audit --code`, and the priors of the secrets that the audit names). Then "
            "begin a new promise in a fresh HUSH_HOME, from the public start, when all models of this one are gone",
        )


def _refuse_now_untagged(earlier: Earlier, secrets: pl.DataFrame, examples: pl.DataFrame) -> None:
    """No run of a promise uses text as anybody's that an earlier one protected as a secret's. Raises InputError:
    names the secret and a file."""
    if not earlier.now_untagged.height:
        return
    _, example = earlier.now_untagged.row(0)
    place = "public text" if example < 0 else ":".join(examples.select("source", "path").row(example))
    what = f"earlier runs protected it as {now_untagged_names(earlier, secrets)}, and no entry names it now"
    hint = "name it as those runs did, or leave it out of training by an entry with `protect: drop`"
    raise InputError(f"promise.runs: {place} ({earlier.now_untagged.height} texts in all)", what, hint)


def now_untagged_names(earlier: Earlier, secrets: pl.DataFrame) -> str:
    """The secrets whose text this run uses as anybody's."""
    ids = earlier.now_untagged["secret_id"].unique().sort()
    names = secrets.sort("secret_id")["name"].gather(ids).to_list()
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@step(name="next run")
def next_run(config: HushConfig, examples: Ref, edges: Ref, secrets: Ref) -> str:
    """In words: how many runs of the config's promise were made, and how many rounds one would make now; empty
    without a promise.

    Not cached: what it looks at changes. Nothing is noted or promised by it: `find_earlier_runs` does that.
    """
    if config.promise is None:
        return ""
    store, history = open_store(), run_history()
    made = history.made(config.settings_digest)
    words = f"{made} of {config.promise.runs} promised runs were made"
    frames = [store.read_frame(table) for table in (examples, edges, secrets)]
    text = RunText.now(frames[0]["text"].to_list(), *frames[1:])
    if _refuted(config, history, history.earlier("", text).runs):
        return f"{words}, and an audit refuted one of them: no other may follow"
    if made and may_skip_rounds(config) and history.trained_before(text):
        return f"{words}; no text of a secret is new since, so a run now makes no certified round"
    return f"{words}; a run now makes {config.after(made).train.rounds:,} certified rounds"


def may_skip_rounds(config: HushConfig) -> bool:
    """Whether a run in which no text of a secret is new makes no certified round."""
    return config.train.start == "champion" and config.weights.without_secret == "plain"
