"""What the registry shows of a run: names that the tracker takes, tables as its page shows them, the champion's."""

import re

import frozen_certificates
from mlflow.utils.validation import _validate_param_name

from tasks.description import apart, certified_bounds
from tasks.recording import parameter_name
from tasks.wording import NO_OTHER, AgainstChampion, difference


def test_columns_stand_apart_and_it_stays_a_table():
    """MLflow's page puts one column right behind the other."""
    against = AgainstChampion(uri="models:/code/6", rows=(("noise multiplier", 1.5, 1.25),))
    head, rule, row, *_ = apart(difference(against))
    assert head == "| | &emsp;champion `models:/code/6` | &emsp;this version | &emsp;difference |"
    assert (rule, row) == ("|---|---|---|---|", "| noise multiplier | &emsp;1.5 | &emsp;1.25 | &emsp;-0.25 |")
    assert apart([NO_OTHER]) == [NO_OTHER]


def test_a_repository_of_any_name_can_be_recorded():
    """A run of a repository called gtk+ trained to its end, and was lost when it was recorded."""
    for name in ("gtk+", "a@b", "café", "x=y&z"):
        _validate_param_name(parameter_name(f"source.{name}"))
    assert parameter_name("source.my-repo.v2") == "source.my-repo.v2"
    assert not re.search(r"[+@=&]", parameter_name("source.gtk+@=&"))


def test_a_value_that_is_redacted_in_one_version_and_learned_in_the_next_is_neither_new_nor_gone(tmp_path):
    (folder,) = (path for path in frozen_certificates.unpack(tmp_path) if path.name == "hush")
    bounds = dict(certified_bounds(folder).iter_rows())
    assert {"alpha", "beta", "gamma", "creds/x", "names/1"} == bounds.keys()
    assert (bounds["creds/x"], bounds["names/1"]) == (1e-10, 1e-6)
