"""The settings that are compared, one declaration each. All but the first work through at most 91,200 examples.

That is what today's row took: 2,500 steps of 16 and 100 rounds of 512.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arxiv_plans import Recipe
from arxiv_training import ANNEALED, Phase, Plain, Private

START = Plain("start", 2500)
PUBLIC = Plain("public", 3000)
DOWN = Plain("public", 500, rates=ANNEALED)
ROUNDS, BATCH = 100, 512
TAGGED_BATCH = 464
"""About as many of a batch of 512 hold a secret word, so that the rates stay as they are."""


@dataclass(frozen=True)
class Setting:
    """Phases without noise, then certified rounds by one of the plans that are tried, if any.

    Attributes:
        tried: plans and learning rates; taken is what gives the lowest loss in a rehearsal.
        stand_ins: what the rehearsal trains on in place of tagged text; `plain` ones hold no secret word.
        rehearsed_from: phases before the rehearsal, where the setting's own have seen the stand-ins.
        starts: how often all is trained anew.
    """

    name: str
    phases: tuple[Plain, ...]
    tried: tuple[Private, ...] = ()
    stand_ins: str = "rehearsal"
    rehearsed_from: tuple[Plain, ...] = ()
    starts: int = 3


def _tried(method: str, capacities: str | None, cs: Sequence[float | None], rates: Sequence[float], *,
           rounds: int = ROUNDS, batch: int = BATCH, tagged_only: bool = False) -> tuple[Private, ...]:  # fmt: skip
    recipes = [Recipe(method, capacities, c, rounds, batch, tagged_only) for c in cs]
    return tuple(Private(recipe, rate) for recipe in recipes for rate in rates)


BEGIN = Setting("public start", (START,))
NON_PRIVATE = Setting("non-private", (START, Plain("private", ROUNDS, batch=BATCH, rates=((1e-3, 1.0),))))
OURS = _tried("blow_up", "equalised", (0.05, 0.4), (5e-4,))
TAGGED = _tried(
    "blow_up", "equalised", (0.05, 0.4), (2e-4, 5e-4), rounds=64, batch=TAGGED_BATCH, tagged_only=True
)
MORE = Plain("untagged", 1300, rates=ANNEALED, to_best=True)
LESS = Plain("untagged", 800, rates=ANNEALED, to_best=True)
EVERYTHING = Plain("private", 3200, rates=ANNEALED)
SETTINGS = (
    BEGIN,
    Setting("paper: kl, no program", (START,), _tried("kl", None, (None,), (2e-4,)), starts=1),
    Setting("paper: kl, program", (START,), _tried("kl", "paper", (0.002, 0.005, 0.02), (2e-4, 5e-4))),
    Setting("ours: all in the noise", (START,), OURS),
    Setting("ours: plain first", (START, MORE), TAGGED, rehearsed_from=(START,)),
    Setting(
        "ours: public first", (PUBLIC, DOWN),
        _tried("blow_up", "equalised", (0.05, 0.4), (2e-4, 5e-4), rounds=68), stand_ins="plain",
    ),
    Setting(
        "ours: public, then plain first", (PUBLIC, LESS), TAGGED, stand_ins="plain", rehearsed_from=(PUBLIC, DOWN)
    ),
    Setting("control: the start's own text, annealed", (START, Plain("start", 500, rates=ANNEALED)), starts=1),
    Setting("control: public text alone", (PUBLIC, replace(DOWN, steps=2700)), starts=1),
    Setting(
        "control: public and untagged text alone",
        (PUBLIC, Plain("public and untagged", 2700, rates=ANNEALED)), starts=1,
    ),
    Setting(
        "control: ours, plain in place of the certified rounds",
        (PUBLIC, LESS, Plain("public and untagged", 1000, rates=((3e-4, 0.5), (1e-4, 0.5)))), starts=1,
    ),
    Setting("redaction", (START, replace(EVERYTHING, texts="redacted")), starts=1),
    NON_PRIVATE,
    Setting("non-private, batches of 16", (START, EVERYTHING)),
    Setting(
        "non-private, retained data, batches of 16",
        (START, replace(EVERYTHING, drawn_as=Recipe("blow_up", "equalised", 0.4, ROUNDS, BATCH))), starts=1,
    ),
)  # fmt: skip


def quick(setting: Setting) -> Setting:
    """The same with a hundredth of the steps: to see that it works."""

    def less(phase: Phase) -> Phase:
        if isinstance(phase, Private):
            return replace(phase, recipe=_less(phase.recipe))
        drawn_as = phase.drawn_as and _less(phase.drawn_as)
        return replace(phase, steps=max(8, phase.steps // 100), batch=min(phase.batch, 64), drawn_as=drawn_as)

    return replace(
        setting,
        phases=tuple(map(less, setting.phases)),
        tried=tuple(map(less, setting.tried)),
        rehearsed_from=tuple(map(less, setting.rehearsed_from)),
        starts=min(setting.starts, 2),
    )


def _less(recipe: Recipe) -> Recipe:
    c = recipe.c and max(recipe.c, 0.2)
    return replace(recipe, c=c, rounds=10, batch=64 if recipe.batch == BATCH else 58)
