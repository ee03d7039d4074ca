"""Which plan and learning rate a setting takes: what gives the lowest loss when it is played through elsewhere."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from arxiv_plans import plan_of
from arxiv_settings import Setting
from arxiv_training import Bench, Private, certified, scaled_down

from hush_core.training import LanguageModel


def chosen(bench: Bench, setting: Setting) -> tuple[Private, list[dict]]:
    """The best of `setting.tried`, and the loss of each; one rule for all settings, at the first start.

    Text of the same kind stands in for the tagged: public text where little of it was trained on, else private
    text without a secret word. Neither costs anything of the promise.
    """
    before = setting.rehearsed_from or setting.phases
    data, stand_ins = bench.data, bench.data.rehearsal
    validation = data.validation
    if setting.stand_ins == "plain":
        stand_ins = [data.private[i] for i in data.plain]
        validation = [data.private[i] for i in data.plain_validation]
    path = bench.folder(before, 0) / f"rehearsals on {setting.stand_ins}.json"
    kept: dict[str, dict] = json.loads(path.read_text()) if path.exists() else {}
    rows = []
    for one in (None, *setting.tried):
        label = "before" if one is None else one.label
        if label not in kept:
            model = bench.after(before, 0)
            if one is not None:
                _play(bench, one, model, stand_ins)
            loss = model.evaluate(validation, max_examples=len(validation))
            kept[label] = {
                "c": one and one.recipe.c,
                "rate": one and one.rate,
                "rounds": one and one.recipe.rounds,
                "noise_multiplier": one and plan_of(data, one.recipe, bench.work).noise_multiplier,
                "bits_per_byte": loss,
            }
            path.write_text(json.dumps(kept, indent=1))
            print(f"  rehearsal: {label}: {loss:.4f}", flush=True)
        rows.append({"setting": setting.name} | kept[label])
    best = min(range(len(setting.tried)), key=lambda i: rows[1 + i]["bits_per_byte"])
    return setting.tried[best], rows


def _play(bench: Bench, one: Private, model: LanguageModel, stand_ins: list[bytes]) -> None:
    small, count = scaled_down(plan_of(bench.data, one.recipe, bench.work), len(stand_ins))
    with tempfile.TemporaryDirectory() as folder:
        certified(small, stand_ins[:count], model, one.rate, Path(folder) / "run")
