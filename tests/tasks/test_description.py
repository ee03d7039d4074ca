"""The words of a registered version, as MLflow's page shows them."""

from tasks.description import apart
from tasks.wording import NO_OTHER, AgainstChampion, difference


def test_columns_stand_apart_and_it_stays_a_table():
    """MLflow's page puts one column right behind the other."""
    against = AgainstChampion(uri="models:/code/6", rows=(("noise multiplier", 1.5, 1.25),))
    head, rule, row, *_ = apart(difference(against))
    assert head == "| | &emsp;champion `models:/code/6` | &emsp;this version | &emsp;difference |"
    assert (rule, row) == ("|---|---|---|---|", "| noise multiplier | &emsp;1.5 | &emsp;1.25 | &emsp;-0.25 |")
    assert apart([NO_OTHER]) == [NO_OTHER]
