"""plan.yaml: what is written is what is read, options go before it, and a mistake names file and key."""

import pytest

from hush_core.config import Changes, read_plan, write_plan
from hush_core.errors import InputError

CHOSEN = Changes(
    c=0.05, rounds=40, batch=128, learning_rate=5e-5, clip_norm=0.3, schedule="cosine", warmup_rounds=4,
    optimizer="adamw_bc", untagged_batch=64, average="tail",
)  # fmt: skip


def test_what_is_written_is_what_is_read(tmp_path):
    write_plan(tmp_path / "plan.yaml", CHOSEN, "predicted: 2.3\nof many", "σ = 0.7")
    assert read_plan(tmp_path / "plan.yaml") == CHOSEN
    assert (
        (tmp_path / "plan.yaml").read_text().startswith("# predicted: 2.3\n# of many\n# σ = 0.7\nc: 0.05\n")
    )


def test_every_key_of_a_plan_lands_in_the_config():
    assert set(CHOSEN.overrides()) == {
        "weights.c", "weights.noise_multiplier",
        *(f"train.{key}" for key in CHOSEN.model_dump(exclude_none=True) if key != "c"),
    }  # fmt: skip


def test_an_option_goes_before_the_plan():
    both = Changes(rounds=10).over(CHOSEN)
    assert (both.rounds, both.batch, both.c) == (10, 128, 0.05)
    noisy = Changes(noise_multiplier=2.0).over(CHOSEN)
    assert noisy.c is None and noisy.noise_multiplier == 2.0
    assert Changes().over(CHOSEN) == CHOSEN


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("learning_rat: 1\n", "learning_rat"),
        ("rounds: 0\n", "rounds"),
        ("rounds: 3\nrounds: 4\n", ":2"),
        ("- rounds\n", "mapping"),
        ("", "mapping"),
        ("c: 0.1\nnoise_multiplier: 1\n", "both"),
        ("# x\n" * 20_000, "longer"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path, text, says):
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=says) as told:
        read_plan(file)
    assert str(file) in str(told.value)


def test_no_file_is_told(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        read_plan(tmp_path / "nowhere.yaml")
