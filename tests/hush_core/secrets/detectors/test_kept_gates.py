"""Compiled gates that an extraction keeps: taken again, and compiled anew where the file is damaged."""

import hyperscan
import pytest

from hush_core.secrets.detectors import credential_rules as rules

ROWS = [(rb"key=[0-9]{4}", 3, 0), (rb"^token", 5, hyperscan.HS_FLAG_MULTILINE)]
TEXT = b"a key=1234\ntoken"


@pytest.fixture()
def folder(tmp_path):
    before = list(rules._FOLDER)
    rules.keep_in(tmp_path)
    yield tmp_path
    rules.keep_in(before[0] if before else None)


def test_kept_gates_are_taken_and_damaged_ones_compiled_anew(folder, monkeypatch):
    wanted = [(3, 10), (5, 16)]
    assert sorted(rules.ends_in(TEXT, rules.compiled(ROWS))) == wanted
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], whole[32:]):
        file.write_bytes(damaged)
        assert rules._loaded(file) is None
        assert sorted(rules.ends_in(TEXT, rules.compiled(ROWS))) == wanted
        assert file.read_bytes()[:32] == whole[:32] or rules._loaded(file) is not None
    monkeypatch.setattr(hyperscan, "dumpb", None)  # nothing is compiled, so nothing written
    assert sorted(rules.ends_in(TEXT, rules.compiled(ROWS))) == wanted
    with pytest.raises(TypeError):
        rules.compiled([(rb"other", 1, 0)])


def test_gates_that_are_compiled_otherwise_have_another_name(folder, monkeypatch):
    """What is compiled counts, not what it was written from; and how."""
    rules.compiled([(rb"key=[0-9]{4,90}", 3, 0)])
    (file,) = folder.iterdir()
    assert file.stem == rules._name([(rb"key=[0-9]{4,}", 3, 0)])
    monkeypatch.setattr(rules, "_MODE", hyperscan.HS_MODE_STREAM)
    assert file.stem != rules._name([(rb"key=[0-9]{4,}", 3, 0)])
