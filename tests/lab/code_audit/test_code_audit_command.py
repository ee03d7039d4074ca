"""`hush audit --code` on the real step, broken for the test: its exit status and what it names."""

import pytest
from typer.testing import CliRunner

from flows.cli import app
from hush_core.training import module
from hush_core.training.noise import add_noise
from lab.statistical_audits import battery


def halved(total, noise, counter, *, scale, clip_norm):
    add_noise(total, noise, counter, scale=scale / 2, clip_norm=clip_norm)


def test_a_step_with_half_the_noise_fails_the_command_by_name(monkeypatch):
    monkeypatch.setattr(module, "add_noise", halved)
    said = CliRunner().invoke(app, ["audit", "--code"])
    assert said.exit_code == 1
    first = said.output[said.output.index("BROKEN") :].splitlines()[0]
    assert first.split()[1] == "noise" and " of 15 properties of the step held" in said.output


@pytest.mark.slow
def test_statistics_of_a_right_installation_refute_nothing_and_of_half_the_noise_say_so(monkeypatch):
    said = CliRunner().invoke(app, ["audit", "--statistics"])
    assert said.exit_code == 0 and "refuted" not in said.output and "cannot tell" in said.output

    monkeypatch.setattr(battery, "REAL", battery.Mechanism(add=halved))
    said = CliRunner().invoke(app, ["audit", "--statistics"])
    assert said.exit_code == 1 and "refuted" in said.output
