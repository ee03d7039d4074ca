"""A table finds exactly what a set would, in order, however its hashes are chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.secrets.propagation.copy_index import HashTable, distinct

# upper bits from a few values, so that buckets overflow and the search by halves takes part
CLOSE = st.integers(0, 3).flatmap(lambda top: st.integers(0, 40).map(lambda low: top << 62 | low))
HASHES = st.lists(st.one_of(CLOSE, st.integers(0, 2**64 - 1)), max_size=200)


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(HASHES, HASHES)
def test_it_finds_what_a_set_would(inside, asked):
    table, needles = HashTable.of(np.array(inside, np.uint64)), np.array(asked + inside[:50], np.uint64)
    at, which = table.find(needles)
    assert which.tolist() == [i for i, h in enumerate(needles.tolist()) if h in set(inside)]
    assert np.array_equal(table.hashes[at], needles[which])
    assert table.hashes.tolist() == sorted(set(inside)) == distinct(np.array(inside, np.uint64)).tolist()


@pytest.mark.slow
def test_a_million_hashes_with_one_bucket_full():
    chance = np.random.default_rng(0)
    full = np.arange(1 << 16, dtype=np.uint64)  # all in the first bucket
    spread = chance.integers(0, 2**64 - 1, 1 << 20, dtype=np.uint64)
    table = HashTable.of(np.concatenate([full, spread]))
    needles = np.concatenate([full[::7], spread[::11], chance.integers(0, 2**64 - 1, 1000, dtype=np.uint64)])
    at, which = table.find(needles)
    assert np.array_equal(which, np.flatnonzero(np.isin(needles, table.hashes)))
    assert np.array_equal(table.hashes[at], needles[which])
