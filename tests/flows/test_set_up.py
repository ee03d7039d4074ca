"""What is done once for a user: the first command then compiles nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows import set_up

ROOT = Path(__file__).parents[2]


def test_a_database_that_cannot_be_made_and_a_cache_that_is_not_ones_own_fail_no_set_up(
    monkeypatch, tmp_path
):
    def fails():
        raise subprocess.CalledProcessError(1, "prefect")

    monkeypatch.setattr(set_up, "make_empty", fails)
    monkeypatch.setattr(set_up, "compile_rules", lambda: tmp_path / "hush/rules-1")
    assert str(tmp_path / "hush") in set_up.set_up()
    monkeypatch.setattr(set_up, "compile_rules", lambda: None)
    assert "nothing is kept" in set_up.set_up()


@pytest.mark.slow
def test_the_first_scan_after_it_compiles_nothing(tmp_path):
    def python(*words):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, *words], env=environment, cwd=tmp_path, check=True, timeout=600)
        files = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
        return {path.name: path.stat().st_mtime_ns for path in files}

    made = python("-c", "from flows import set_up; set_up.make_empty = lambda: None; print(set_up.set_up())")
    assert {name.rpartition(".")[2] for name in made} == {"hsdb", "vscdb", "json", "words"}
    scan = "from hush_core.secrets.detectors.credential_scanner import *; from pathlib import Path; "
    scan += "from hush_core.secrets.detectors.credential_versions import compile_gates; "
    scan += "CredentialScanner(Path('cache/other')).scan(b'key = 1'); compile_gates()"
    assert python("-c", scan) == made
