"""Whole runs: interrupted, resumed, refused; never more releases than certified. Kills: `test_kills.py`."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from private_runs import TEXTS, dying, lines, tiny, uncertified
from waiting import PATIENCE

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.corpus.prompted import PromptedText
from hush_core.corpus.records import Records
from hush_core.errors import InputError
from hush_core.training import byte_gpt, fit_plain, fit_private, rounds_without_checkpoint

ROUNDS = 24


def make_plan(rounds=ROUNDS, noise=0.5):
    return uncertified(np.full(40, 0.1), noise, rounds, 4)


def config(**more):
    given = {"rounds": ROUNDS, "batch": 4, "learning_rate": 1e-2, "micro_batch": 4, "checkpoint_every": 5}
    return TrainConfig(**given | more)


def test_dying_between_count_and_step_loses_the_round_not_the_count(tmp_path):
    settings = config(schedule="linear")
    with dying(12, counted=True):
        fit_private(make_plan(), TEXTS, tiny(), settings, tmp_path)
    rows = []
    watch = lambda row: rows.append((dict(row), lines(tmp_path)))  # noqa: E731
    fitted = fit_private(make_plan(), TEXTS, tiny(), settings, tmp_path, watch=watch)
    assert (fitted.rounds_released, lines(tmp_path)) == (ROUNDS, ROUNDS)
    assert [row for row, _ in rows] == fitted.log[-len(rows) :]
    assert [counted for _, counted in rows] == [*range(14, ROUNDS + 1)]  # seen as it is made, not at the end
    assert fitted.rounds_applied == ROUNDS - 3  # rounds 10, 11 (after the checkpoint) and 12 are lost
    assert [row["round"] for row in fitted.log] == [*range(10), *range(13, ROUNDS)]
    for row in fitted.log:  # the rate is that of the release's number
        assert row["learning_rate"] == pytest.approx(1e-2 * (1 - row["round"] / ROUNDS))


@pytest.mark.parametrize("signals", [1, 2])
def test_sigint_finishes_the_round_and_loses_nothing_and_two_stop_at_once(tmp_path, signals):
    def interrupt(stage, done, total):
        for _ in range(signals if done == 7 else 0):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path, interrupt)
    assert signal.getsignal(signal.SIGINT) is before
    assert lines(tmp_path) == 7
    fitted = fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    assert fitted.rounds_released == ROUNDS and fitted.rounds_applied == {1: ROUNDS, 2: ROUNDS - 2}[signals]


class Ended(BaseException):
    """What a runner's own handler of SIGTERM raises."""


def test_sigterm_finishes_the_round_and_then_reaches_who_listened_before(tmp_path):
    def end(number, frame):
        raise Ended

    def interrupt(stage, done, total):
        for _ in range(2 if done == 7 else 0):  # `timeout` sends it to the process and to its group
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(Ended):
            fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path, interrupt)
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert lines(tmp_path) == 7
    fitted = fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    assert fitted.rounds_applied == fitted.rounds_released == ROUNDS


def test_only_public_quantities_leave_and_nothing_is_littered(tmp_path, monkeypatch, capfd):
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    calls = []
    fitted = fit_private(
        make_plan(), TEXTS, tiny(), config(evaluate_every=1), tmp_path / "w", lambda *args: calls.append(args)
    )  # of no public text: there is no loss to tell
    assert calls == [("train", k + 1, ROUNDS) for k in range(ROUNDS)]
    assert fitted.log == [{"round": k, "learning_rate": 1e-2} for k in range(ROUNDS)]
    fit_plain(TEXTS, tiny(), steps=2, batch=4, learning_rate=1e-3)
    assert list(cwd.iterdir()) == []
    kept = {"checkpoint.pt", "checkpoint.previous.pt", "releases.jsonl", "releases.witness"}
    assert {path.name for path in (tmp_path / "w").iterdir()} == kept
    assert (tmp_path / "w").stat().st_mode & 0o077 == 0
    assert capfd.readouterr() == ("", "")


OTHER_PLANS = {"rounds": 3, "noise_multiplier": 0.4, "records": 3}
PROMPTED, POOL = PromptedText(b"ask: 1 say: 1", ((12, 13),)), Records((b"one", b"two"))
OTHER_TEXTS = {
    "text": [b"z"],
    "place of the completion": [PromptedText(bytes(PROMPTED), ((7, 13),))],
    "text without a completion": [bytes(PROMPTED)],
    "pool joined": [PROMPTED, Records((b"onetwo",))],
    "pool cut otherwise": [PROMPTED, Records((b"one",)), Records((b"two", TEXTS[2]))],
}


def test_a_folder_of_another_run_is_refused(tmp_path):
    own, texts = replace(make_plan(2), records=2), [PROMPTED, POOL, *TEXTS[2:]]
    fit_private(own, texts, tiny(), config(), tmp_path)
    plans = [replace(own, **{name: value}) for name, value in OTHER_PLANS.items()]
    others = [(own, [*other, *texts[len(other) :]]) for other in OTHER_TEXTS.values()]
    for plan, given in [*((plan, texts) for plan in plans), *others]:
        with pytest.raises(InputError, match="another plan"):
            fit_private(plan, given, tiny(), config(), tmp_path)
    with pytest.raises(InputError, match="40 rates"):
        fit_private(own, texts[1:], tiny(), config(), tmp_path)
    assert fit_private(own, texts, tiny(), config(), tmp_path).resumed


def test_noise_too_large_to_be_exact_is_refused_before_a_round_is_spent(tmp_path):
    with pytest.raises(InputError, match="standard deviation of .* grid steps"):
        fit_private(make_plan(noise=1e8), TEXTS, tiny(), config(), tmp_path / "w")
    assert not (tmp_path / "w").exists()


def test_it_learns_and_runs_off_the_main_thread(tmp_path):
    model = tiny()
    before = model.evaluate(TEXTS)
    thread = threading.Thread(target=fit_private, args=(make_plan(), TEXTS, model, config(), tmp_path))
    thread.start()
    thread.join(PATIENCE)
    assert lines(tmp_path) == ROUNDS
    assert model.evaluate(TEXTS) < before - 0.5


def test_plain_training_is_repeatable_and_weighted():
    one, two, other = (
        fit_plain(TEXTS, tiny(), steps=5, batch=8, learning_rate=1e-2, seed=seed) for seed in (1, 1, 2)
    )
    assert torch.equal(one.network.lm_head.weight, two.network.lm_head.weight)
    assert not torch.equal(one.network.lm_head.weight, other.network.lm_head.weight)
    rates = np.zeros(40)
    rates[0::3] = 0.5  # only texts of "a"
    model = fit_plain(TEXTS, tiny(), steps=40, batch=7, learning_rate=1e-2, rates=rates)
    assert model.evaluate(TEXTS[0::3]) < 0.3 < 2 < model.evaluate(TEXTS[1::3])
    with pytest.raises(InputError, match="are empty"):
        fit_plain([], tiny(), steps=1, batch=1, learning_rate=1.0)


def test_a_ledger_that_lost_lines_is_refused_beside_a_checkpoint(tmp_path):
    fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    path = tmp_path / "releases.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    for kept in (0, 1, 4, 20):
        path.write_bytes(b"".join(whole[:kept]))
        seen = tmp_path / "releases.witness"
        both = seen.read_bytes()
        for lost in (both, b""):  # the witness tells; and where that was lost too, the checkpoint
            seen.write_bytes(lost)
            with pytest.raises(InputError, match="has seen 24"):
                fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
        seen.write_bytes(both)
    path.write_bytes(b"".join(whole))
    assert fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path).rounds_released == ROUNDS


def test_a_spent_run_without_its_checkpoints_is_refused_and_not_the_model_it_began_with(tmp_path):
    fitted = fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    kept = [(file, file.read_bytes()) for file in sorted(tmp_path.glob("checkpoint*.pt"))]
    assert {file.name for file, _ in kept} == {"checkpoint.pt", "checkpoint.previous.pt"}
    assert rounds_without_checkpoint(tmp_path) == 0 == rounds_without_checkpoint(tmp_path / "new")
    for file, _ in kept:
        file.unlink()
    assert rounds_without_checkpoint(tmp_path) == ROUNDS
    with pytest.raises(InputError, match=f"spent all {ROUNDS} certified rounds, and no checkpoint") as error:
        fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    assert "backup" in error.value.hint
    for file, data in kept:
        file.write_bytes(data)
    again = fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    for one, other in zip(fitted.model.network.parameters(), again.model.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_witness_lies_where_it_is_asked_for(tmp_path):
    """A run's folder put back from a backup of yesterday is whole in itself; the witness elsewhere tells."""
    (tmp_path / "apart").mkdir()
    work, witness = tmp_path / "w", tmp_path / "apart" / "releases.witness"
    with dying(7):
        fit_private(make_plan(), TEXTS, tiny(), config(), work, witness=witness)
    yesterday = {file: file.read_bytes() for file in work.iterdir()}
    assert not (work / "releases.witness").exists()
    fit_private(make_plan(), TEXTS, tiny(), config(), work, witness=witness)
    for file, data in yesterday.items():
        file.write_bytes(data)
    with pytest.raises(InputError, match="counts 7 releases, its witness .*apart.* has seen 24"):
        fit_private(make_plan(), TEXTS, tiny(), config(), work, witness=witness)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_room_is_asked_for_as_much_as_checkpoints_take(tmp_path, kind):
    settings = config().model_copy(update={"optimizer": kind, "rounds": 5})
    model = byte_gpt(ByteGptModel(layers=2, width=64, heads=2), 64, seed=0)
    taken = []
    fallocate = os.posix_fallocate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "posix_fallocate", lambda *a: taken.append(a[2]) or fallocate(*a))
        fit_private(make_plan(5), TEXTS, model, settings, tmp_path)
    size = (tmp_path / "checkpoint.pt").stat().st_size
    assert size <= taken[0] <= 1.3 * size + 50_000
