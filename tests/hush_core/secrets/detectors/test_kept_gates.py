"""What is kept for the next process: taken again, and made once more where the file is damaged."""

import hyperscan
import numpy as np
import pytest

from hush_core.secrets import kept
from hush_core.secrets.detectors import credential_rules as rules
from hush_core.secrets.guessing import published

ROWS = [(rb"key=[0-9]{4}", 3, 0), (rb"^token", 5, hyperscan.HS_FLAG_MULTILINE)]
TEXT = b"a key=1234\ntoken"


@pytest.fixture()
def folder(tmp_path):
    before = list(kept._FOLDER)
    kept.keep_in(tmp_path)
    yield tmp_path
    kept.keep_in(before[0] if before else None)


def test_kept_gates_are_taken_and_damaged_ones_compiled_anew(folder, monkeypatch):
    wanted = [(3, 10), (5, 16)]
    assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], whole[32:]):
        file.write_bytes(damaged)
        assert kept.kept(file.name) is None
        assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
        assert file.read_bytes()[:32] == whole[:32] or kept.kept(file.name) is not None
    monkeypatch.setattr(hyperscan, "dumpb", None)  # nothing is compiled, so nothing written
    assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
    with pytest.raises(TypeError):
        rules.compiled([(rb"other", 1, 0)])


def test_gates_that_are_compiled_otherwise_have_another_name(folder, monkeypatch):
    """What is compiled counts, not what it was written from; and how."""
    rules.compiled([(rb"key=[0-9]{4,90}", 3, 0)])
    (file,) = folder.iterdir()
    assert file.stem == rules._name([(rb"key=[0-9]{4,}", 3, 0)])
    monkeypatch.setattr(rules, "_MODE", hyperscan.HS_MODE_STREAM)
    assert file.stem != rules._name([(rb"key=[0-9]{4,}", 3, 0)])


def test_kept_hashes_of_common_passwords_are_the_same_and_a_damaged_file_tells_none(folder, monkeypatch):
    hashes = published._hashes.__wrapped__
    made = hashes("md5")
    (file,) = folder.iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(published.words, "common_passwords", None)  # nothing is hashed
        assert np.array_equal(hashes("md5"), made)
    file.write_bytes(file.read_bytes()[:-8])
    assert np.array_equal(hashes("md5"), made)
    assert published.without_published("5f4dcc3b5aa765d61d8327deb882cf99") == ""
