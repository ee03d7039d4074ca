"""Training under a ProtectionPlan, and nothing looser: sample, clip, add noise, step, count.

Reading order: sampler → data → rounds → layers → gradient_scale → norms → clipping → comparison → noise →
language_model → independence → models → update → module → ledger → run. `plain` and `untagged` train without
protection; `mixing` and `averaging` post-process releases; `loop`, `ranks`, `schedule`, `lora`, `checkpoint` and
`rate_search` support it.
"""

from hush_core.history.ledger import ReleaseLedger
from hush_core.training.clipping import ClippedSum, clipped_gradient_sum
from hush_core.training.job import Job, OtherTexts
from hush_core.training.language_model import LanguageModel
from hush_core.training.lora import adapted, with_lora
from hush_core.training.models import byte_gpt, load_model, open_model, save_model
from hush_core.training.module import PrivateModule
from hush_core.training.noise import SecureGaussian
from hush_core.training.plain import fit_plain
from hush_core.training.rate_search import RateTrial, best_rate, learning_curve, split_public, try_rate
from hush_core.training.run import Fitted, fit_job, fit_private, rounds_without_checkpoint
from hush_core.training.sampler import WeightedPoissonSampler
from hush_core.training.untagged import UntaggedFit, fit_untagged
from hush_core.training.update import Update

__all__ = [
    "ClippedSum", "Fitted", "Job", "LanguageModel", "OtherTexts", "PrivateModule", "RateTrial",
    "ReleaseLedger", "SecureGaussian", "UntaggedFit", "Update", "WeightedPoissonSampler", "adapted", "best_rate",
    "byte_gpt", "clipped_gradient_sum", "fit_job", "fit_plain", "fit_private", "fit_untagged",
    "learning_curve", "load_model", "open_model", "rounds_without_checkpoint", "save_model", "split_public",
    "try_rate", "with_lora",
]  # fmt: skip
