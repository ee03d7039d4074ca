"""How a version's numbers differ from the champion's."""

import frozen_certificates

from tasks.description import certified_bounds


def test_a_value_that_is_redacted_in_one_version_and_learned_in_the_next_is_neither_new_nor_gone(tmp_path):
    (folder,) = (path for path in frozen_certificates.unpack(tmp_path) if path.name == "hush")
    bounds = dict(certified_bounds(folder).iter_rows())
    assert {"alpha", "beta", "gamma", "creds/x", "names/1"} == bounds.keys()
    assert (bounds["creds/x"], bounds["names/1"]) == (1e-10, 1e-6)
