"""Many bounds that do not depend on one another: worked out one after the other, or wherever a mapper is lent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve, curve_of_runs, posterior_curve
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError
from hush_core.mapping import map_parts


class Asked(NamedTuple):
    """One curve: whose count, or which runs one after the other; at which priors; whether from below, too."""

    of: Participation | list[Run]
    priors: np.ndarray
    lower: bool = False


def each_curve(
    asked: Sequence[Asked],
    *,
    method: BoundMethod,
    noise_multiplier: float | None = None,
    rounds: int | None = None,
) -> Iterable[PosteriorCurve | CertificationError]:
    """`posterior_curve` of each, or `curve_of_runs` where runs are given; a refusal stands in its place.

    Args:
        noise_multiplier, rounds: of those that are a count.
    """
    mechanism = {"noise_multiplier": noise_multiplier, "rounds": rounds}
    return map_parts(partial(_curve, method=method, mechanism=mechanism), asked)


def _curve(asked: Asked, *, method: BoundMethod, mechanism: dict) -> PosteriorCurve | CertificationError:
    how = {"priors": asked.priors, "method": method, "lower": asked.lower}
    try:
        if isinstance(asked.of, Participation):
            return posterior_curve(asked.of, **mechanism, **how)
        return curve_of_runs(asked.of, **how)
    except CertificationError as error:
        return error
