"""benchmarks/exposure.py goes on where it was stopped; memorisation.py and runs_to_catch.py tell what they say."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "lab/benchmarks"))

import exposure as benchmark
import memorisation
import runs_to_catch

import hush_core.auditing.exposure as attack


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
