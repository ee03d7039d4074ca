"""Every picture, from tables: PNG, 960 pixels wide, the same bytes for the same tables.

>>> noise_by_method({"kl": 103.8, "renyi": 3.0, "blow_up": 2.83}, Path("noise.png"))    # doctest: +SKIP

Each function takes frames and the path to write, and returns the path. Labels are names of secrets (never
values, `docs/configuration.md`). Colours are Okabe and Ito's, told apart by colour-blind readers; whatever
colour says, a marker or a label says too. One file here is one question; `canvas` is what they share.
"""

from hush_core.figures.attack import exposure
from hush_core.figures.canvas import METHOD_LABELS, MOST_ROWS, Figure, short_name
from hush_core.figures.cost import losses, noise_by_method
from hush_core.figures.frontier import frontier
from hush_core.figures.graph import secret_graph
from hush_core.figures.leakage import leakage_by_length, leakage_by_rounds
from hush_core.figures.learning import RUN, learning_curves
from hush_core.figures.posterior import posterior_against_target, posterior_curves, trade_off
from hush_core.figures.scale import certificate_scale
from hush_core.figures.utility import utility_against_noise
from hush_core.figures.weights import _percent, weights_retained

__all__ = [
    "METHOD_LABELS", "MOST_ROWS", "RUN", "Figure", "_percent", "certificate_scale", "exposure", "frontier",
    "leakage_by_length", "leakage_by_rounds", "learning_curves", "losses", "noise_by_method",
    "posterior_against_target", "posterior_curves", "secret_graph", "short_name", "trade_off",
    "utility_against_noise", "weights_retained",
]  # fmt: skip
