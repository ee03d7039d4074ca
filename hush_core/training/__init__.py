"""Training under a ProtectionPlan, and nothing looser: sample, clip, add noise, step, count.

Reading order: sampler → layers → norms → clipping → noise → data → models → module → ledger → run.
"""

from hush_core.training.clipping import ClippedSum, clipped_gradient_sum
from hush_core.training.ledger import ReleaseLedger
from hush_core.training.models import byte_gpt, evaluate, load_model, per_example_losses, save_model
from hush_core.training.module import PrivateModule
from hush_core.training.noise import SecureGaussian
from hush_core.training.run import Fitted, fit_plain, fit_private
from hush_core.training.sampler import WeightedPoissonSampler

__all__ = [
    "ClippedSum",
    "Fitted",
    "PrivateModule",
    "ReleaseLedger",
    "SecureGaussian",
    "WeightedPoissonSampler",
    "byte_gpt",
    "clipped_gradient_sum",
    "evaluate",
    "fit_plain",
    "fit_private",
    "load_model",
    "per_example_losses",
    "save_model",
]
