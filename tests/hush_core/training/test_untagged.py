"""Ordinary training on untagged text: the best state is kept, the same arguments give the same bytes."""

import os
import signal

import pytest
import torch
from private_runs import TEXTS, tiny
from tiny_models import tiny_model

from hush_core.config import LoraConfig, UntaggedConfig
from hush_core.errors import InputError
from hush_core.training import fit_untagged, save_model, with_lora
from hush_core.training.loop import threads_for
from hush_core.training.untagged import usual_rate
from hush_core.training.update import make_optimizer

VALIDATION = [bytes([97 + i % 3]) * (4 + i % 9) for i in range(12)]


def settings(**keys):
    return UntaggedConfig(**{"steps": 40, "batch": 8, "evaluate_every": 10, "learning_rate": 1e-2} | keys)


def fit(model, texts=TEXTS, validation=VALIDATION, *, seed=1, progress=None, **keys):
    return fit_untagged(
        texts, validation, model, settings(**keys), micro_batch=8, seed=seed, progress=progress
    )


def test_two_runs_give_the_same_bytes_and_another_seed_others(tmp_path):
    files = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        save_model(fit(tiny(), seed=seed, steps=20, learning_rate=(1e-2, 3e-3)).model, tmp_path / name)
        files.append({f.name: f.read_bytes() for f in sorted((tmp_path / name).iterdir())})
    assert files[0] == files[1] != files[2]


def test_the_model_ends_where_the_curve_is_lowest_and_training_stops_by_patience():
    """At a constant rate that is too high it stops three looks after the best, and goes on from there, falling."""
    told = []
    model = tiny()
    before = model.evaluate(VALIDATION)
    done = fit(model, steps=500, learning_rate=0.3, patience=3, progress=lambda *a: told.append(a))
    losses = dict(done.curve)
    best = min(done.curve, key=lambda point: point[1])
    assert losses[0] == before
    assert (done.steps, losses[done.steps]) == best
    assert done.model.evaluate(VALIDATION) == best[1] < before
    assert {stage for stage, _, _ in told} == {"untagged"} and {most for _, _, most in told} == {500}
    constant = [step for _, step, _ in told if step <= 400]
    turned = len(constant) - 3 * 10  # the state from which the rate fell
    assert constant == list(range(1, len(constant) + 1)) and 0 < turned < 370
    assert [step for _, step, _ in told if step > 400] == list(range(401, 501))
    looks = [step for step, _ in done.curve]
    assert looks == [*range(0, turned + 1, 10), *range(turned + 10, turned + 101, 10)]
    assert losses[turned] == min(loss for step, loss in done.curve if step <= turned)


def test_the_rate_stays_and_falls_to_0_over_the_last_fifth(monkeypatch):
    made, rates = [], []

    def make(*args):
        made.append(make_optimizer(*args))
        return made[-1]

    monkeypatch.setattr("hush_core.training.untagged.make_optimizer", make)
    fit(tiny(), steps=50, progress=lambda *_: rates.append(made[-1].param_groups[0]["lr"]))
    assert rates == pytest.approx([1e-2] * 40 + [1e-2 * (1 - k / 10) for k in range(1, 11)])


def test_a_rate_that_only_harms_leaves_the_model_as_it_was():
    fitted = fit(tiny()).model
    before = [p.detach().clone() for p in fitted.network.parameters()]
    done = fit(fitted, learning_rate=5.0, patience=2)
    assert done.steps == 0 and done.curve[0][1] == min(loss for _, loss in done.curve)
    assert all(torch.equal(a, b) for a, b in zip(before, fitted.network.parameters(), strict=True))


def test_the_best_of_several_rates_is_taken_and_trials_leave_no_trace():
    told = []
    done = fit(tiny(), learning_rate=(1e-6, 1e-2, 1e-5), progress=lambda *a: told.append(a[0]))
    assert done.learning_rate == 1e-2
    assert set(told) == {"untagged at 1e-06", "untagged at 1e-05", "untagged at 0.01", "untagged"}
    alone = fit(tiny(), learning_rate=1e-2)
    assert alone.curve == done.curve
    for a, b in zip(alone.model.network.parameters(), done.model.network.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("rates, match", [((1e-3, 1e-2), "every rate diverged"), (1e-3, "not finite")])
def test_a_loss_that_is_no_number_is_refused(rates, match):
    model = tiny()
    with torch.no_grad():
        for p in model.network.parameters():
            p.mul_(1e30)
    with pytest.raises(InputError, match=match):
        fit(model, learning_rate=rates)


@pytest.mark.slow
def test_adapters_and_masked_models_train_too(tmp_path):
    words = [b"the quick brown fox jumps", b"over the lazy dog", b"pack my box"] * 6
    masked = tiny_model(tmp_path, "bert")
    adapters = with_lora(tiny_model(tmp_path, "gpt2"), LoraConfig(rank=2), seed=0)
    frozen = {n: p.detach().clone() for n, p in adapters.network.named_parameters() if not p.requires_grad}
    for model in (masked, adapters):
        before = model.evaluate(words[:3])
        fit(model, words, words[:3], learning_rate=1e-2)
        assert model.evaluate(words[:3]) < before
    after = dict(adapters.network.named_parameters())
    assert frozen and all(torch.equal(p, after[n]) for n, p in frozen.items())
    assert (usual_rate(tiny()), usual_rate(masked), usual_rate(adapters)) == (3e-3, 1e-4, 1e-3)
    assert fit(tiny(), learning_rate=None).learning_rate == 3e-3


def test_examples_beyond_the_context_are_counted():
    assert fit(tiny(), [*TEXTS, b"x" * 100], steps=10).cut == 1


def test_a_signal_ends_it_after_a_step():
    def interrupt(stage, done, total):
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(tiny(), progress=interrupt)


@pytest.mark.parametrize("empty", [{"texts": []}, {"validation": []}, {"texts": [b""]}])
def test_no_text_is_refused(empty):
    with pytest.raises(InputError, match="are none"):
        fit(tiny(), **empty)


def test_a_small_step_takes_one_thread_and_what_follows_has_all_of_them_again():
    before, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(2)
        for operations in (1e6, 9e9):
            with pytest.raises(ZeroDivisionError), threads_for(operations):
                seen.append(torch.get_num_threads())
                1 / 0  # noqa: B018
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 2]
