"""The repository of lab/benchmarks/nightly_attacks.py: its nights, its public text, what is planted and when."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "lab/benchmarks"))

from nightly_attacks import COPIES, LATE, TEAM, company
from nightly_loss import git

from hush_core.auditing.made_up import make_credentials

NIGHTS, STRIDE = 4, 2


@pytest.mark.slow
def test_every_night_has_the_planted_credentials_and_the_late_one_from_the_middle_on(tmp_path):
    source = tmp_path / "source"
    for path in (*TEAM, *(f"tests/test_{i}.py" for i in range(30))):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(f"NAME = {path!r}\n")
    git(tmp_path, "init", "-q", "-b", "main", str(source))
    for number in range(NIGHTS * STRIDE):
        (source / "tests/test_0.py").write_text(f"NUMBER = {number}\n")
        git(source, "add", "-A")
        git(source, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", f"{number}")
    git(source, "bundle", "create", "-q", str(tmp_path / "one.bundle"), "main")
    given = Namespace(bundle=tmp_path / "one.bundle", nights=NIGHTS, stride=STRIDE)
    made = company(given, tmp_path)
    repository, values = tmp_path / "repository", {c.name: c.value.decode() for c in make_credentials(7)}
    assert len(made) == NIGHTS
    for number, rev in enumerate(made):
        assert f"NUMBER = {1 + STRIDE * number}\n" in git(repository, "show", f"{rev}:tests/test_0.py")
        for name, count in COPIES.items():
            holds = git(repository, "grep", "-lF", values[name], rev) if name != LATE or number >= 2 else ""
            paths = {line.split(":", 1)[1] for line in holds.split()}
            assert len(paths) == (0 if name == LATE and number < 2 else count)
            assert not paths & set(TEAM) and not any(path.startswith("third_party") for path in paths)
        if number < 2:
            assert values[LATE] not in git(repository, "grep", "-hF", "=", rev)
    assert any(path.startswith("third_party/") for path in git(repository, "ls-files").split())
