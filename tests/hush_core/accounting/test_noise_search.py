"""The root of a gap that falls: certified itself, and within the precision of what is not."""

import math

import pytest

from hush_core.accounting.noise_search import falling_root


@pytest.mark.parametrize("guess", [-1.0, 0.69, 0.7, 3.0])
@pytest.mark.parametrize("refused_below", [-math.inf, 0.5, 0.7])
def test_the_root_of_a_falling_gap(guess, refused_below):
    """Where too little noise is refused the gap is infinite, so no line goes through it: half the way is next."""
    asked = []

    def gap(log_sigma):
        assert math.isfinite(log_sigma)
        asked.append(log_sigma)
        return math.inf if log_sigma < refused_below else 0.7 - log_sigma

    found = falling_root(gap, guess, precision=1e-4)
    assert found in asked and 0.7 <= found <= 0.7 + 1e-4
    assert len(asked) < 40
