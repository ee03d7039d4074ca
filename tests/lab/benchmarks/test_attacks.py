"""The benchmarks of attacks: exposure.py goes on where it stopped, the nights' repository, and what rules lose."""

import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "lab/benchmarks"))

import exposure as benchmark
import memorisation
import runs_to_catch
from nightly_attacks import COPIES, LATE, TEAM, company
from nightly_loss import git

import hush_core.auditing.exposure as attack
from hush_core.auditing.made_up import make_credentials


@pytest.mark.slow
def test_stopped_midway_it_goes_on_behind_the_finished_parts(tmp_path, monkeypatch):
    """Six secrets in parts of two; stopped in the third part, which alone is attacked again."""
    asked, real = [], attack.exposure

    def stopped(model, texts, places, secrets, **settings):
        asked.append(places["secret_id"].unique().sort().to_list())
        if len(asked) == 3:
            raise KeyboardInterrupt
        return real(model, texts, places, secrets, **settings)

    monkeypatch.setattr(attack, "exposure", stopped)
    arguments = ["--secrets", "6", "--part", "2", "--processes", "1", "--layers", "1", "--width", "16"]
    arguments += ["--steps", "2", "--alternatives", "20", "--folder", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        benchmark.main(arguments)
    first = asked[:3]
    result = benchmark.main(arguments)
    assert first == [[0, 1], [2, 3], [4, 5]]
    assert asked[3:] == [[4, 5], [0, 2, 4]], "what was cut off, and the sample that is ranked in whole"
    assert result["parts_kept_from_before"] == 2
    assert sum(row["tried"] > 0 for row in result["by_repeats"]) == 3


@pytest.mark.slow
def test_a_row_of_memorisation_tells_training_from_the_start_model(tmp_path, monkeypatch, capsys):
    """Two rounds under much noise: no random text comes out of either model."""
    sizes = ["--rounds", "2", "--width", "16", "--noise", "4", "--work", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["memorisation.py", *sizes, "--out", str(tmp_path / "rows.json")])
    memorisation.main()
    said = capsys.readouterr().out
    assert "memorised 0 " in said and "by_start 0 " in said and (tmp_path / "rows.json").is_file()


@pytest.mark.slow
def test_half_of_the_noise_is_caught_and_a_right_training_is_not():
    mechanisms = runs_to_catch.TRAININGS
    broken, _ = runs_to_catch.runs_until_refuted(
        mechanisms["noise at half of its scale"][0], seed=1, most=200
    )
    right, named = runs_to_catch.runs_until_refuted(mechanisms["right"][0], seed=1, most=100)
    assert broken is not None and right is None and 0 < named < 1


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


ROOT = Path(__file__).resolve().parents[3]


def test_a_narrower_scanner_loses_lines_and_the_same_one_loses_none(tmp_path):
    script = tmp_path / "now/lab/benchmarks/credential_lost.py"
    script.parent.mkdir(parents=True)
    shutil.copy(ROOT / "lab/benchmarks/credential_lost.py", script)
    for name in ("before", "now"):
        room = tmp_path / name / "hush_core/secrets/detectors"
        room.mkdir(parents=True)
        kept = "b'ann' not in text and " if name == "now" else ""
        scanner = (
            "class CredentialScanner:\n    def scan(self, text):\n        line = text.split(b'\\n')[1]\n"
        )
        scanner += f"        return [type('', (), {{'value': line}})] if {kept}line else []\n"
        (room / "credentials.py").write_text(scanner)
        for folder in (room, room.parent, room.parent.parent):
            (folder / "__init__.py").touch()

    def compared(before):
        command = [sys.executable, str(script), "--before", str(tmp_path / before), "--count", "300"]
        return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin"})

    lost, kept = compared("before"), compared("now")
    assert lost.returncode == 1 and "ann" in lost.stdout and "now 300" not in lost.stdout
    assert kept.returncode == 0 and "lost: 0" in kept.stdout
