"""What a kept answer rests on."""

import shutil
import sys

from flows import answers
from hush_core.history.folders import RunFolders
from tasks.runtime.environment import home


def test_another_version_of_any_package_is_other_software(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(tmp_path), str(tmp_path / "gone"), str(tmp_path / "file")]
    )
    (tmp_path / "file").write_text("")
    seen = [answers._software()]
    for name in ("thing-1.0.dist-info", "thing-1.1.dist-info", "other-1.0.egg-info"):
        (tmp_path / name).mkdir()
        seen.append(answers._software())
    assert len({str(each) for each in seen}) == 4
    (tmp_path / "nothing").mkdir()
    assert answers._software() == seen[-1]
    assert any(name.startswith("numpy-") for name in seen[0][1]), "the test is blind"


def test_who_only_looks_at_the_history_keeps_answers_and_a_noted_run_does_not():
    """Under a promise no plan was answered from the store, as each opens the lock of the history."""
    folders = RunFolders(home().store, b"k" * 32)
    with folders.writing(), folders.training(exclusive=False, why=""):
        before = answers._history()
    with folders.writing():
        assert answers._history() == before
    run = folders.begin("a-run-of-this-test")
    assert answers._history() != before
    shutil.rmtree(run)
