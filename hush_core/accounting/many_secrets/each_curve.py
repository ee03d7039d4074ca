"""Many bounds that do not depend on one another: worked out one after the other, or wherever a mapper is lent."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve, curve_of_runs
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError
from hush_core.mapping import map_parts
from hush_core.progress import Progress

Asked = tuple[list[Run], np.ndarray]
"""One curve: of which runs, at which priors."""
Found = PosteriorCurve | CertificationError
"""It, or why it was refused."""


def each_curve(
    asked: Sequence[Asked],
    *,
    method: BoundMethod,
    lower: bool = False,
    stage: str = "",
    progress: Progress | None = None,
) -> Iterator[Found]:
    """`curve_of_runs` of each; `stage`: what `progress` calls them."""
    found: Iterable[Found] = map_parts(partial(_curve, method=method, lower=lower), asked)
    for done, curve in enumerate(found):
        yield curve
        if progress:
            progress(stage, done + 1, len(asked))


def curves_of_groups(
    groups: Sequence[tuple[np.ndarray, list[Run]]], priors: np.ndarray, **how
) -> Iterator[tuple[np.ndarray, Found]]:
    """(members, their curve: one point for each member) of each group of secrets that share runs.

    Args:
        groups: (places of the members in `priors`, runs). how: as for `each_curve`.
    """
    places = [np.unique(priors[members], return_inverse=True) for members, _ in groups]
    asked = [(runs, distinct) for (_, runs), (distinct, _) in zip(groups, places, strict=True)]
    curves = each_curve(asked, **how)
    for (members, _), (_, back), curve in zip(groups, places, curves, strict=True):
        yield members, curve if isinstance(curve, CertificationError) else curve.at_places(back)


def _curve(asked: Asked, *, method: BoundMethod, lower: bool) -> Found:
    runs, priors = asked
    try:
        return curve_of_runs(runs, priors=priors, method=method, lower=lower)
    except CertificationError as error:
        return error
