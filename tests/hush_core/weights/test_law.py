"""The law of what certified rounds gain: what it is made of, how it grows, and how it fails when bent."""

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from hush_core.accounting import noise_for_all
from hush_core.weights import Law, shifts, signal_of, unlike_examples
from hush_core.weights.law import MEASURED, MEASURED_NUMBERS, MEASURED_SIGNAL, UNLIKE, UNLIKE_TO_GAIN

LAW = Law()


def graph(secrets, each, prior=1e-10, target=1e-4):
    """So many secrets, each alone in so many examples."""
    ids = np.repeat(np.arange(secrets, dtype=np.uint32), each)
    edges = pl.DataFrame({"example_id": np.arange(len(ids), dtype=np.uint32), "secret_id": ids})
    table = {"secret_id": np.arange(secrets), "prior": [prior] * secrets, "posterior": [target] * secrets}
    return edges, pl.DataFrame(table)


def test_a_secret_may_shift_all_rounds_by_two_and_a_half_noise_widths():
    edges, secrets = graph(12, 40)
    assert shifts(secrets)[0] == pytest.approx(2.642, abs=1e-3)
    assert signal_of(edges, secrets, n_examples=600) == pytest.approx(12 * 2.642, rel=1e-3)


@pytest.mark.parametrize(("rounds", "epochs", "least"), [(20, 4, 0.9), (20, 20, 0.99), (100, 20, 0.97)])
def test_the_signal_is_what_the_accounting_leaves_where_secrets_are_drawn_often(rounds, epochs, least):
    """The limit is never passed, and four epochs of 40 examples a secret come near it."""
    edges, secrets = graph(10, 40)
    batch = 400 * epochs // rounds
    rates = np.full(400, batch / 400)
    sigma = noise_for_all(edges, rates, secrets, rounds=rounds, method="best")
    share = batch * rounds**0.5 / sigma / signal_of(edges, secrets, n_examples=400)
    assert least < share < 1.001


def test_secrets_that_share_all_of_their_text_count_as_one():
    edges, secrets = graph(1, 30)
    both = pl.concat([edges, edges.with_columns(secret_id=pl.lit(1, pl.UInt32))])
    two = pl.concat([secrets, secrets.with_columns(secret_id=pl.lit(1, pl.Int64))])
    assert signal_of(both, two, n_examples=30) == pytest.approx(
        signal_of(edges, secrets, n_examples=30), rel=1e-6
    )


def test_the_law_goes_through_what_was_measured():
    for share, gained, lost in MEASURED[1:2]:
        signal = MEASURED_SIGNAL / share
        assert LAW.gained(signal, MEASURED_NUMBERS) == pytest.approx((gained, lost))
    assert LAW.gained(310, MEASURED_NUMBERS) == (0.0, 0.0), "0.008 bits are below what the law needs"


def test_the_law_of_unlike_text_goes_through_what_was_measured_there():
    for reached, gained, lost in UNLIKE:
        signal = reached * 69_824**0.5
        assert LAW.gained(signal, 69_824, unlike=True) == pytest.approx((gained, lost))
        assert LAW.share_gained(signal, 69_824, unlike=True) == pytest.approx(gained / UNLIKE_TO_GAIN)
    assert LAW.gained(0.99 * UNLIKE[0][0] * 69_824**0.5, 69_824, unlike=True) == (0.0, 0.0)


def test_text_is_unlike_where_hardly_any_other_text_is_of_its_language():
    languages = pl.Series(["text"] * 20 + ["python"] * 4 + ["text"])
    edges = pl.DataFrame({"example_id": [*range(20), 20, 0]}, schema={"example_id": pl.UInt32})
    none = pl.Series([], dtype=pl.String)
    assert unlike_examples(edges, languages, none).to_list() == [*range(20)], "1 other of 20 is hardly any"
    assert unlike_examples(edges, languages, pl.Series(["text"])).to_list() == [], "and 2 are a tenth"
    assert unlike_examples(edges.head(0), languages, none).is_empty()


def test_a_model_of_four_times_as_many_numbers_needs_twice_the_signal():
    assert LAW.signal_needed(4 * MEASURED_NUMBERS) == 2 * LAW.signal_needed(MEASURED_NUMBERS)
    assert LAW.gained(2500, MEASURED_NUMBERS) == pytest.approx(LAW.gained(5000, 4 * MEASURED_NUMBERS))


@hypothesis.given(
    st.floats(1, 1e6), st.floats(1, 100), st.integers(1000, 10**9), st.floats(0, 1), st.booleans()
)
@hypothesis.settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_more_signal_never_turns_a_gain_into_none(signal, times, numbers, tagged, unlike):
    """The whole text: what is gained where a secret is, less what is lost elsewhere."""
    if LAW.worth(signal, numbers, tagged, unlike=unlike) > 0:
        assert LAW.worth(signal * times, numbers, tagged, unlike=unlike) > 0
    shares = [LAW.share_gained(s, numbers, unlike=unlike) for s in (signal, signal * times)]
    assert shares[0] <= shares[1] <= 1
    assert LAW.worth(signal, numbers, 0.0, unlike=unlike) <= 0, (
        "rounds on the secrets' text gain nothing on other text"
    )
