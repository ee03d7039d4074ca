"""The law: what certified rounds gain, by the targets, the number of independent secrets and the model's size.

**The signal is fixed by the promise.** A secret that takes part Σρ_j times a round in expectation is certified at σ
where, in the limit of many, Σρ_j·√T/σ ≤ κ_j = Φ⁻¹(r_j) − Φ⁻¹(p_j) (docs/mathematics.md §7; `unit_capacities`): 2.64
from p = 1e-10 to r = 1e-4. Where no example holds two secrets, Σ_j Σρ_j = B. The signal B√T/σ is the longest that
the clipped gradients of all rounds can add up to, in units of the noise of one number. So it is at most Σ_j κ_j for
any T, B and c. Secrets that share examples give less (`signal_of`), and so do rounds that draw a secret seldom.

**The gain depends on what other text teaches.** Where untagged or public text is of the secrets' kind, leaving the
secrets out loses little. Where none is, as with letters beside code, the rounds gain a multiple. `UNLIKE` was
measured on arXiv abstracts beside gcc's code: a byte GPT of 69,824 numbers, gradients scaled by untagged text, 128
examples of which join each round of 256.

**The gain beside text of the kind** was measured on pallets/click with teams' files as secrets: a byte GPT of
161,568 numbers, AdamW at 1e-3 on all of them, 20 rounds, σ 1.9, B√T/σ = 31. The noise was then scaled down
(`MEASURED`).

Limits. Of click: one repository, one start, one draw of noise, rates compared on the same text. A direction, no
proof. Between the points it is a straight line in the share of the noise. Other sizes follow by √(numbers), as the
length of the noise does; no other size was measured. Of `train.freeze` and adapters nothing is known: they count as
the whole model. A rehearsal on untagged text (docs/planning.md) measures the same on the job's own text, and
overrides the law.
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.weights.settings import unit_capacities
from hush_core.weights.solve import solve_weights

MEASURED = ((0.0, 0.126, 0.069), (0.03, 0.040, 0.031), (0.1, 0.008, 0.026), (1.0, 0.0, 0.026))
"""(share of the noise, bits a byte gained on text with a secret, bits lost on other text). With all of the noise
the gain was below 0 and the loss was not measured: it counts as at a tenth."""
MEASURED_SIGNAL = 31.0
"""B√T/σ at all of the noise."""
MEASURED_NUMBERS = 161_568
TO_GAIN = 0.186
"""Bits a byte that training without protection gains there on text with a secret."""
MOST_OVERESTIMATE = 0.037
"""Bits a byte by which `Law.worth` was too high, at most: 0.022 on gcc's change logs (three starts), 0.037 on arXiv
abstracts, beside older text of the kind (lab/docs/utility.md). `protect: auto` makes rounds there only where it
predicts more."""
UNLIKE = (
    (0.2, 0.090, 0.193), (0.48, 0.171, 0.192), (0.96, 0.232, 0.197), (1.75, 0.275, 0.184), (4.0, 0.333, 0.179),
    (7.3, 0.356, 0.158), (10.3, 0.359, 0.155),
)  # fmt: skip
"""The same where no other text is of the tagged text's kind: (B√T/σ ÷ √numbers, bits gained on tagged text, bits
lost on other text), both against leaving out at equal compute. Of two data sets the one that gains less, three
starts (lab/docs/utility.md)."""
UNLIKE_ERROR = 0.01
"""Two standard errors of the gain over leaving out that `UNLIKE` gives, over three starts. On the other data set it
was 0.10 to 0.20 too low. `protect: auto` makes rounds beside such text where it predicts more."""
UNLIKE_TO_GAIN = 0.676
"""Bits a byte that training without protection gains there, on the data set where it is less."""
REDACTED_GAIN = 0.94
"""The share of the gain that is kept where values are redacted (lab/docs/utility.md: rare words in abstracts)."""


@dataclass(frozen=True)
class Law:
    """What rounds gain. needed: B√T/σ below which they are taken to gain nothing, of a model of `numbers`."""

    needed: float = 1000.0
    numbers: int = MEASURED_NUMBERS

    def signal_needed(self, numbers: int, *, unlike: bool = False) -> float:
        """The same of a model of another size: √numbers is how long the noise of a round is.

        Args:
            unlike: the secrets' text is of a kind (`SecretGraph.examples.language`) that other text has not.
        """
        return (
            UNLIKE[0][0] * math.sqrt(numbers) if unlike else self.needed * math.sqrt(numbers / self.numbers)
        )

    def gained(self, signal: float, numbers: int, *, unlike: bool = False) -> tuple[float, float]:
        """Bits a byte (gained on text with a secret, lost on other text) at a signal B√T/σ; (0, 0) below
        `signal_needed`, where no rounds are made."""
        if signal <= 0 or signal < self.signal_needed(numbers, unlike=unlike):
            return 0.0, 0.0
        if unlike:
            reached, gains, losses = zip(*UNLIKE, strict=True)
            at, points = math.log(signal / math.sqrt(numbers)), np.log(reached)
            return float(np.interp(at, points, gains)), float(np.interp(at, points, losses))
        share = MEASURED_SIGNAL / signal * math.sqrt(numbers / MEASURED_NUMBERS)
        shares, gains, losses = zip(*MEASURED, strict=True)
        return float(np.interp(share, shares, gains)), float(np.interp(share, shares, losses))

    def share_gained(self, signal: float, numbers: int, *, unlike: bool = False) -> float:
        """Of what training without protection gains on text with a secret, the part that the rounds gain."""
        return self.gained(signal, numbers, unlike=unlike)[0] / (UNLIKE_TO_GAIN if unlike else TO_GAIN)

    def worth(self, signal: float, numbers: int, tagged: float, *, unlike: bool = False) -> float:
        """Bits a byte that rounds gain over leaving out, on the whole text.

        Args:
            tagged: the share of the text that holds a secret, in [0, 1].
        """
        gained, lost = self.gained(signal, numbers, unlike=unlike)
        return tagged * gained - (1 - tagged) * lost


def shifts(secrets: pl.DataFrame) -> np.ndarray:
    """κ_j of every row (prior, posterior), shape (m,): by so many noise widths its text may move all rounds."""
    return unit_capacities(secrets, "normal_quantiles")


def signal_of(edges: pl.DataFrame, secrets: pl.DataFrame, *, n_examples: int) -> float:
    """The largest B√T/σ that the targets allow to rounds that draw only tagged examples: max Σw with Σ_{i∋j} w_i ≤
    κ_j.

    Args:
        edges: example_id, secret_id. secrets: (m,) rows by secret_id, with prior and posterior.

    It is the limit of many draws of a secret; four epochs in 20 rounds reach 0.83 of it with 5 examples a secret,
    0.98 with 50.
    """
    if edges.is_empty():
        return 0.0
    kappa = shifts(secrets)
    scale = 1 / float(kappa.max())  # no weight can reach 1 then, so that capacities alone bind
    weights = solve_weights(edges, n_examples=n_examples, capacities=scale * kappa).weights
    held = edges["example_id"].unique().to_numpy()
    return float(weights[held].sum()) / scale


FEW = 0.1
"""Other text counts as of a kind if it has this many examples of it for each tagged one."""


def unlike_examples(edges: pl.DataFrame, languages: pl.Series, public: pl.Series) -> pl.Series:
    """The ids of tagged examples whose kind of text (`language`) untagged and public text has not, or hardly.

    Args:
        edges: example_id. languages: (n,), of the examples by id. public: of the public ones.
    """
    ids = edges["example_id"].unique().sort()
    tagged, others = languages.gather(ids), languages.to_frame("kind").with_row_index("id")
    others = others.filter(~pl.col("id").is_in(ids.implode()))["kind"]
    had, held = (dict(kinds.value_counts().iter_rows()) for kinds in (pl.concat([others, public]), tagged))
    unlike = [kind for kind, count in held.items() if had.get(kind, 0) < FEW * count]
    return ids.filter(tagged.is_in(unlike))
