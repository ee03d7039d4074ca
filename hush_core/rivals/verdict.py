"""What the losses of several seeds say: intervals, and which rival to take.

The intervals are over the randomness of training alone (batches, noise, order): the data and the held-out text are
the same for all. With few seeds they are wide; with one there is no interval.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Verdict:
    """chosen: the rival of the lowest mean loss; None if no rival has a loss. alike: those that its seeds do not
    distinguish from it, the nearest first. why: in one sentence."""

    chosen: str | None
    alike: tuple[str, ...]
    why: str


def mean_and_half_width(losses: Sequence[float]) -> tuple[float, float | None]:
    """The mean and half of Student's interval for it, at `CONFIDENCE`; None for a single value."""
    values = np.asarray(losses, np.float64)
    if len(values) < 2:
        return float(values.mean()), None
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()), float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * spread


def means_differ(one: Sequence[float], other: Sequence[float], level: float) -> bool:
    """Whether Welch's test rejects equal means at this level. Without any spread, whether they differ; of a single
    seed with any, nothing is known."""
    if min(len(one), len(other)) < 2:
        return False
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if a.var() == 0 and b.var() == 0:
        return bool(a[0] != b[0])
    return bool(stats.ttest_ind(a, b, equal_var=False).pvalue < level)


def verdict_of(losses: Mapping[str, Sequence[float]]) -> Verdict:
    """Which rival to take, by its losses on the held-out text (one a seed; none where it failed).

    It is the lowest mean. The others are tested against it at 1 − CONFIDENCE, divided by their number (Bonferroni).
    """
    known = {name: values for name, values in losses.items() if len(values)}
    if not known:
        return Verdict(None, (), "no rival has a loss on held-out text, so none can be chosen")
    means = {name: float(np.mean(values)) for name, values in known.items()}
    ranked = sorted(means, key=means.__getitem__)
    best, others = ranked[0], ranked[1:]
    level = (1 - CONFIDENCE) / max(len(others), 1)
    alike = tuple(name for name in others if not means_differ(known[best], known[name], level))
    why = f"{best} has the lowest mean loss, {means[best]:.4f}"
    if min(map(len, known.values())) < 2:
        why += "; one seed shows nothing of chance, so take several before you believe it"
    elif not others:
        why += ", and is alone"
    elif alike:
        why += f"; its seeds do not tell it apart from {', '.join(alike)}"
    else:
        why += (
            f", {means[others[0]] - means[best]:.4f} below the next ({others[0]}), which is more than chance"
        )
    return Verdict(best, alike, why)
