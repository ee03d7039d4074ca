"""What a run records: names that the tracker takes."""

import re

from mlflow.utils.validation import _validate_param_name

from tasks.recording import parameter_name


def test_a_repository_of_any_name_can_be_recorded():
    """A run of a repository called gtk+ trained to its end, and was lost when it was recorded."""
    for name in ("gtk+", "a@b", "café", "x=y&z"):
        _validate_param_name(parameter_name(f"source.{name}"))
    assert parameter_name("source.my-repo.v2") == "source.my-repo.v2"
    assert not re.search(r"[+@=&]", parameter_name("source.gtk+@=&"))
