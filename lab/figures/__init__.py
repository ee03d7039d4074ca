"""Pictures of the laboratory's pages, drawn as `hush_core.figures` draws: same bytes for the same tables."""

from importlib import import_module
from typing import Any

_PICTURES = {
    "attack_against_bound": "attack_bounds", "certificate_scale": "scale", "loss_by_records": "user_level",
    "memorised_over_noise": "memorisation", "utility_against_noise": "utility",
    "Curve": "panels", "Panel": "panels", "draw_panels": "panels",
}  # fmt: skip
"""By name, its file; loaded when it is first asked for, as matplotlib takes longer than a list of replications."""


def __getattr__(name: str) -> Any:
    if name not in _PICTURES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PICTURES[name]}"), name)


__all__ = [
    "Curve", "Panel", "attack_against_bound", "certificate_scale", "draw_panels", "loss_by_records",
    "memorised_over_noise", "utility_against_noise",
]  # fmt: skip
