"""What a kept answer rests on."""

import sys

from flows import answers


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
