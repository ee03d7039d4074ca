"""The mechanisms set beside each other on one data set, at one promise (docs/mechanisms.md).

Reading order: settings (which rivals a config offers) → verdict (what their losses say).
"""

from hush_core.rivals.settings import Rival, rivals_of
from hush_core.rivals.verdict import CONFIDENCE, Verdict, mean_and_half_width, verdict_of

__all__ = ["CONFIDENCE", "Rival", "Verdict", "mean_and_half_width", "rivals_of", "verdict_of"]
