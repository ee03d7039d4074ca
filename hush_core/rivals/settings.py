"""The rivals that a config offers: the same job, data and promise under each mechanism.

>>> [rival.name for rival in rivals_of(config, ["dp_sgd", "user_wise/longest/8"])]      # doctest: +SKIP
['dp_sgd', 'user_wise/longest/8']
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from hush_core.config import MECHANISMS, Capacities, HushConfig
from hush_core.errors import InputError
from hush_core.weights import step_for

CAPACITIES: tuple[str, ...] = get_args(Capacities)
WITHOUT_SECRET = ("noise", "plain", "drop")
COMPARED = ("noise", "plain")
"""What becomes of examples without a secret, where nobody asks for one of the three."""
SELECTIONS = {
    name for one in MECHANISMS.values() if "select" in one.model_fields
    for name in get_args(one.model_fields["select"].annotation)
}  # fmt: skip
PROGRAM = ("capacities", "c", "noise_multiplier", "objective")
"""Keys of `weights` that only hush's program has a use for."""
TAKEN = {
    name: [key for key, takes in (
        ("capacities", name == "hush"), ("select", "select" in one.model_fields),
        ("records", "records" in one.model_fields), ("without_secret", one.makes_noise),
    ) if takes]
    for name, one in MECHANISMS.items()
}  # fmt: skip
"""What a rival's name may say, by kind."""
NAMES = ", ".join(name + "".join(f"[/{key.upper()}]" for key in keys) for name, keys in TAKEN.items())
MOST_RECORDS = 1_000_000
STEP = frozenset({"train.optimizer", "train.untagged_batch", "train.learning_rate"})
"""Keys that follow from what becomes of text without a secret, so each rival has its own choice of them."""


@dataclass(frozen=True)
class Rival:
    """One mechanism with its settings.

    Attributes:
        name: as it is asked for, and shown.
        config: the job under it; None where the config cannot be run so, and `why` says so.
    """

    name: str
    config: HushConfig | None
    why: str = ""


def rivals_of(config: HushConfig, asked: Sequence[str] = ()) -> list[Rival]:
    """The rivals to compare: each that is `asked` for by name, or all kinds.

    hush is compared with each of its capacity rules, and with and without noise (plain) on text that no secret
    names; the others treat that text as the config does. The config's settings of its own mechanism are kept for
    rivals of that kind. Two names of the same settings are one rival.

    Raises:
        InputError: an unknown name, or the config promises several runs.
    """
    if config.promise is not None:
        raise InputError(
            "promise", "counts the runs of this data, and a comparison makes one for every rival and seed",
            "compare with a config without `promise`",
        )  # fmt: skip
    found: dict[str, Rival] = {}
    for name in asked or MECHANISMS:
        for parts in _expanded(name):
            rival = _rival(config, parts)
            if rival.config is None or rival.config not in [one.config for one in found.values()]:
                found.setdefault(rival.name, rival)
    return list(found.values())


def _expanded(name: str) -> list[list[str]]:
    """`hush` without a capacity rule or without what becomes of the rest: every one of them."""
    kind, *options = name.strip().split("/")
    if kind not in MECHANISMS:
        raise InputError(f"--mechanisms: {name}", "is no mechanism", f"name some of {NAMES}")
    if kind != "hush":
        return [[kind, *options]]
    rules = [part for part in options if part in CAPACITIES]
    rest = [part for part in options if part not in CAPACITIES]
    return [
        [kind, rule, *without]
        for without in ([rest] if rest else [[one] for one in COMPARED])
        for rule in rules or CAPACITIES
    ]


def _rival(config: HushConfig, parts: Sequence[str]) -> Rival:
    name, (kind, *options) = "/".join(parts), parts
    noisy = MECHANISMS[kind].makes_noise
    if noisy and config.mechanism.unit_dp and "epsilon" not in MECHANISMS[kind].model_fields:
        return Rival(name, None, f"{kind} noise is planned for the secrets' levels, not for (ε, δ)")
    data = config.model_dump(exclude_unset=True)
    mechanism, weights = _mechanism(config, kind), dict(data.get("weights", {}))
    if kind != "hush":
        weights = {key: value for key, value in weights.items() if key not in PROGRAM}
    if not noisy:
        weights.pop("without_secret", None)
    for part in options:
        key, value = _meaning(name, part)
        if key not in TAKEN[kind]:
            raise InputError(f"--mechanisms: {name}", f"{kind} has no {key}", f"name some of {NAMES}")
        if key in ("without_secret", "capacities"):
            weights[key] = value
            if key == "capacities" and value != "equalised":
                weights.pop("noise_multiplier", None)
        else:
            mechanism[key] = value
    data |= {"mechanism": mechanism, "weights": weights}
    data["audit"] = {**data.get("audit", {}), "unprotected": False}
    train = {key: value for key, value in data["train"].items() if f"train.{key}" not in config.chosen & STEP}
    if noisy and weights.get("without_secret", "noise") != "plain":
        plainly = {"untagged_batch", *(["optimizer"] if train.get("optimizer") == "preconditioned" else [])}
        train = {key: value for key, value in train.items() if key not in plainly}
    data["train"] = train
    try:
        rival = HushConfig.model_validate(data).for_mechanism()
        return Rival(name, rival.with_chosen(step_for(rival)) if noisy else rival)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part not in MECHANISMS)
        what = str(first["msg"]).removeprefix("Value error, ")
        return Rival(name, None, f"{where}: {what}" if where else what)


def _mechanism(config: HushConfig, kind: str) -> dict[str, Any]:
    """The config's own section for its own kind; for another, the same promise."""
    own = config.mechanism.model_dump(exclude_unset=True)
    if config.mechanism.kind == kind:
        return {**own, "kind": kind}
    promise = {key: own[key] for key in ("epsilon", "delta") if key in own}
    return {"kind": kind, **(promise if MECHANISMS[kind].makes_noise else {})}


def _meaning(name: str, part: str) -> tuple[str, Any]:
    """Key and value of one part of a rival's name."""
    for key, values in (
        ("capacities", CAPACITIES),
        ("without_secret", WITHOUT_SECRET),
        ("select", SELECTIONS),
    ):
        if part in values:
            return key, part
    if part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_RECORDS:
        return "records", int(part)
    raise InputError(f"--mechanisms: {name}", f"{part!r} says nothing", f"name some of {NAMES}")
