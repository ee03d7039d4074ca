"""What a paper claims, what we found, and the mark that follows from the two numbers and from nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Want = Literal["equal", "at_least", "at_most", "more", "less"]
"""`equal`, `at_least`, `at_most`: reproduced or not. `more`, `less`: the paper's figure can be exceeded as well, by
a larger number or by a smaller one."""
REPRODUCED, EXCEEDED, NOT_REACHED = "reproduced", "exceeded", "not reached"
MARKS = (REPRODUCED, EXCEEDED, NOT_REACHED)


def mark_of(ours: float | None, paper: float, want: Want, tolerance: float) -> str:
    """The mark of one number beside another.

    Args:
        ours: None or NaN where nothing could be measured: not reached. tolerance: relative to `paper`, or absolute
            where that is 0; the side on which `equal`, `at_least` and `at_most` are wrong by less still counts.
    """
    if ours is None or math.isnan(ours):
        return NOT_REACHED
    reach = tolerance * (abs(paper) or 1.0)
    above, below = ours > paper + reach, ours < paper - reach
    if want == "equal":
        return NOT_REACHED if above or below else REPRODUCED
    upwards = want in ("at_least", "more")
    if below if upwards else above:
        return NOT_REACHED
    better = above if upwards else below
    return EXCEEDED if better and want in ("more", "less") else REPRODUCED


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        text: what is claimed, in a sentence. paper, ours: its figure and what we measured (None: nothing).
        want, tolerance: see `mark_of`. unit: behind both numbers.
        target: a target of this project, not a figure of the paper.
        exploratory: asked after numbers had been seen. It has no mark and is not counted; both figures are shown.
        why: the reason, shown where the mark is `not reached`; a claim that is missed must have one.
    """

    text: str
    paper: float
    ours: float | None
    want: Want
    tolerance: float = 0.0
    unit: str = ""
    target: bool = False
    exploratory: bool = False
    why: str = ""

    @property
    def mark(self) -> str | None:
        """One of MARKS; None of an exploratory claim."""
        if self.exploratory:
            return None
        return mark_of(self.ours, self.paper, self.want, self.tolerance)

    @property
    def missed_by(self) -> str:
        """By how much, in words; nothing of a claim that is not missed."""
        if self.mark != NOT_REACHED:
            return ""
        if self.ours is None:
            return "not measured"
        if self.paper == 0:
            return f"by {abs(self.ours):.3g}{self.unit}"
        return f"by {abs(self.ours / self.paper - 1):.0%} of the figure"
