"""Every picture, from tables: PNG, 960 pixels wide, the same bytes for the same tables.

>>> noise_by_method({"kl": 103.8, "renyi": 3.0, "blow_up": 2.83}, Path("noise.png"))    # doctest: +SKIP

Each function takes frames and the path to write, and returns the path. Labels are names of secrets (never
values, `docs/configuration.md`). Colours are Okabe and Ito's, which colour-blind readers can distinguish; a marker
or a label also says what a colour says. One file here is one question; `canvas` is what they share.
"""

from importlib import import_module
from typing import Any

from hush_core.figures.names import METHOD_LABELS, short_name

_PICTURES = {
    "attack": ("exposure",),
    "audit": ("audit_against_certificate", "inference_curves", "samples_at_risk"),
    "canvas": ("MOST_ROWS",),
    "runs": ("bound_by_run", "loss_by_runs"),
    "cost": ("losses", "noise_by_method", "noise_by_runs"),
    "frontier": ("frontier",),
    "graph": ("secret_graph",),
    "learning": ("RUN", "learning_curves"),
    "posterior": ("posterior_against_target", "posterior_curves", "trade_off"),
    "rehearsal": ("rehearsed",),
    "rivals": ("rivals",),
    "weights": ("_percent", "weights_retained"),
}
"""By file, what it draws; loaded when it is first asked for, as matplotlib takes longer than most commands."""


def __getattr__(name: str) -> Any:
    for file, drawn in _PICTURES.items():
        if name in drawn:
            globals()[name] = found = getattr(import_module(f"{__name__}.{file}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "METHOD_LABELS", "MOST_ROWS", "RUN", "_percent", "audit_against_certificate", "bound_by_run",
    "exposure", "frontier", "inference_curves", "learning_curves", "loss_by_runs", "losses", "noise_by_method",
    "noise_by_runs", "posterior_against_target", "posterior_curves", "rehearsed", "rivals", "samples_at_risk",
    "secret_graph", "short_name", "trade_off", "weights_retained",
]  # fmt: skip
