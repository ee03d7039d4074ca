"""The words of a registered version: what a reviewer reads in the registry, and the report's sentences."""

from __future__ import annotations

from hush_core.config import ByteGptModel, HushConfig
from tasks.against import AgainstChampion, difference
from tasks.models import base_name
from tasks.outcome import AllRuns, Outcome, all_runs, losses, worst_ratio
from tasks.runtime.store import Store
from tasks.wording import batch_in_words, counted

MOST_CHARACTERS = 4900
"""MLflow keeps 5,000 of a version's description."""
MOST_WAYS = 8
NOTHING_LEFT = (
    "**No secret that was found was trained on**: values are redacted, other text with a secret is left out"
)
NO_ROUNDS = (
    "no certified round: no text of a secret is new since the runs before, so that the bounds of all runs stay "
    "what they were, and no run of the promise is spent"
)


def model_in_words(config: HushConfig) -> str:
    """The model of a config in a few words; of a folder, its name alone."""
    model = config.model
    if isinstance(model, ByteGptModel):
        return f"{model.kind} {model.layers}x{model.width}, {model.heads} heads, {config.chunk_bytes} bytes"
    name = base_name(model)
    return f"{name}, LoRA rank {model.lora.rank}" if model.lora else f"{name}, all parameters"


def runs_in_words(found: AllRuns, unknown: int) -> str:
    """What other runs mean for the promise. Of this store: nobody knows of others."""
    if not found.most and not found.nothing:
        return "no earlier run in this store trained on any of these secrets"
    runs = f"{found.most} earlier {'run' if found.most == 1 else 'runs'}"
    which = "secret was" if found.secrets == 1 else "secrets were"
    words = f"{found.secrets} {which} trained on by up to {runs} in this store"
    if found.worst is not None:
        words += f"; of all runs together the worst bound is {found.worst:.3g} times its target"
    if found.above:
        words += f", and {found.above} {'secret is' if found.above == 1 else 'secrets are'} ABOVE it"
    if found.nothing:
        words += (
            f"; of {counted(found.nothing, 'secret')} nothing is promised over all runs: an earlier run was "
            "planned otherwise, does not say how it drew, trained on the text without noise, or was refuted. Or a "
            "run used text that another protected and no entry named then"
        )
    if unknown:
        words += f" ({unknown} runs do not say whose text they saw, and count for every secret)"
    return words


def without_noise(config: HushConfig, outcome: Outcome) -> list[str]:
    """What a reviewer must know of text that was trained on without noise."""
    if config.weights.without_secret != "plain":
        return []
    return [
        f"- **{outcome.weighed.trained_plain:,} examples without a secret were trained on WITHOUT noise**: a "
        "secret that no entry names is not protected in them"
    ]


def _bounds_in_words(store: Store, outcome: Outcome) -> str:
    """How near the bounds of the model come to their targets; as on the page, what is over target is said first."""
    together = all_runs(store, outcome)
    if over := together.above + together.nothing:
        return f"{counted(over, 'secret')} ABOVE the target or without a promise over all runs"
    if not outcome.champion:
        return (
            f"every bound is at most its target (the nearest is at {worst_ratio(store, outcome):.1%} of it)"
        )
    return (
        f"every bound of all runs so far is at most its target (the nearest is at {together.worst:.1%} of it); "
        f"the model continues from {outcome.champion.uri}, so no bound of this run alone is of the model"
    )


def _rounds_in_words(config: HushConfig, outcome: Outcome, store: Store) -> str:
    """What the rounds of this run were; of a run without any, why, and what is left of the promise."""
    c = outcome.calibrated
    if not config.mechanism.makes_noise:
        return "no certified round: every bound is its prior, as nothing of a secret was trained on"
    if c.noise_multiplier is None:
        return f"{NO_ROUNDS}; {runs_left(config, outcome, store)}"
    words = (
        f"noise multiplier {c.noise_multiplier:.4g}, {outcome.trained.rounds_released} of {c.rounds} rounds "
        f"released, {batch_in_words(c.expected_batch, c.cycle_batch)}, clip norm {c.clip_norm:g}"
    )
    return f"{words}; {runs_left(config, outcome, store)}" if config.promise else words


def runs_left(config: HushConfig, outcome: Outcome, store: Store) -> str:
    """How many runs of the promise are made and left, this one included; empty without a promise."""
    if not config.promise:
        return ""
    made = all_runs(store, outcome).earlier + (outcome.calibrated.rounds > 0)
    return f"{made} of {config.promise.runs} promised runs made, {config.promise.runs - made} left"


def losses_in_words(outcome: Outcome) -> str:
    """Of each model on held-out text without a secret; empty where nothing was held out."""
    told = " · ".join(f"{name} {bits:.3f}" for name, bits in losses(outcome).items())
    unit = outcome.trained.model.unit
    return told and f"loss in bits per {unit} on held-out text without a secret: {told}"


def describe(
    store: Store,
    config: HushConfig,
    outcome: Outcome,
    warnings: list[str],
    ways: list[str],
    against: AgainstChampion | None,
) -> str:
    """The registry's description of the version, in markdown, for the reviewer; at most MOST_CHARACTERS.

    Args:
        ways: which way each entry went, in sentences.
    """
    facts, shown = _facts(store, config, outcome, warnings, ways), []
    told = ["", "**Against the champion**", "", *apart(difference(against)), "", "**Warnings**", ""]
    room = MOST_CHARACTERS - len("\n".join([*facts, *told])) - 100
    for warning in warnings:
        room -= len(warning) + 3
        if room < 0:
            shown.append(f"- … and {len(warnings) - len(shown)} more: report.html of the run")
            break
        shown.append(f"- {warning}")
    return "\n".join([*facts, *told, *(shown or ["- none"])])


def apart(lines: list[str]) -> list[str]:
    """Markdown's tables with room before each column but the first: MLflow's page leaves none."""
    head = "|---"
    return [
        line if line.startswith(head) else line.replace(" | ", " | &emsp;") if line.startswith("| ") else line
        for line in lines
    ]


def _facts(
    store: Store, config: HushConfig, outcome: Outcome, warnings: list[str], ways: list[str]
) -> list[str]:
    c, w = outcome.calibrated, outcome.weighed
    runs = runs_in_words(all_runs(store, outcome), outcome.trained.others.unknown)
    secrets, words = store.read_frame(c.bounds).height, config.mechanism.in_words
    weight = f"weight retained {w.retained:.1%}"
    certified = f"**{counted(secrets, 'secret')}**: {_bounds_in_words(store, outcome)}"
    return [
        f"{certified if secrets else NOTHING_LEFT}.",
        "",
        *([f"- {_rounds_in_words(config, outcome, store)}"] if secrets else []),
        f"- {f'{weight} by {words}' if words and secrets else words or weight}",
        *(f"- {way}" for way in ways[:MOST_WAYS]),
        *([f"- … and {len(ways) - MOST_WAYS} more: report.html of the run"] if len(ways) > MOST_WAYS else []),
        *without_noise(config, outcome),
        f"- model: {model_in_words(config)}"
        + (f"; learning rate {outcome.learning_rate:g}" if outcome.learning_rate else "")
        + (f", best of {len(outcome.tried)} in rehearsal on public text" if outcome.tried else ""),
        *([f"- {loss}"] if (loss := losses_in_words(outcome)) else []),
        *_attacks(outcome),
        *([f"- {runs}"] if secrets and runs not in warnings else []),
        "- sources: "
        + ", ".join(f"{name}@{mark[:16]} (keyed)" for name, mark in outcome.extracted.commits.items()),
        "",
        "Decide by `report.html`, among the artifacts of the source run, and by "
        f"`hush review models:/{config.tracking.model}/VERSION`, which verifies first.",
    ]


def _attacks(outcome: Outcome) -> list[str]:
    """What was extracted of the values that the model was trained on, and of redacted ones."""
    made = {"values": outcome.attacked, "redacted values": outcome.redacted_attacked}
    return [
        f"- attack: {a.extracted} of {a.secrets} {what} extracted"
        for what, a in made.items()
        if a and a.secrets
    ]
