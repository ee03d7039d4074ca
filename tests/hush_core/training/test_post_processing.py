"""What is done to a release: mixing in untagged text, averaging, keeping the best, correcting Adam's moments."""

from io import BytesIO

import numpy as np
import pytest
import torch
from private_runs import TEXTS as TAGGED
from private_runs import UNTAGGED, dying, lines, tiny, uncertified, weights
from tiny_models import tiny_model
from torch import nn

from hush_core.config import ByteGptModel, LoraConfig, TrainConfig
from hush_core.errors import InputError
from hush_core.training import Job, OtherTexts, byte_gpt, fit_private, save_model, with_lora
from hush_core.training.averaging import KeptWeights, NoisyAdam
from hush_core.training.loop import frozen
from hush_core.training.mixing import UntaggedMix
from hush_core.training.processes import fit_in_processes

ROUNDS, BATCH = 12, 4


def plan(noise=0.5, rounds=ROUNDS, rate=0.1):
    return uncertified(np.full(40, rate), noise, rounds, BATCH)


def config(**keys):
    return TrainConfig(**{"rounds": ROUNDS, "batch": BATCH, "learning_rate": 1e-2, "micro_batch": 4} | keys)


def test_untagged_text_never_reaches_a_release(tmp_path, releases):
    """No tagged example is drawn: what is released is 0 and the noise, however much untagged text is mixed in."""
    model = tiny()
    before = model.evaluate(UNTAGGED)
    settings = config(untagged_batch=16)
    done = fit_private(
        plan(0.5, rate=0.0), TAGGED, model, settings, tmp_path / "w", others=OtherTexts(untagged=UNTAGGED)
    )
    assert len(releases) == ROUNDS == lines(tmp_path / "w") == done.rounds_released
    assert all(not total.any() for total, _ in releases)
    noise = torch.cat([mean.double() for _, mean in releases]) * BATCH / 0.5
    assert abs(noise.std() - 1) < 6 / (2 * len(noise)) ** 0.5  # 1 in 10^9
    assert model.evaluate(UNTAGGED) < before - 1


def test_a_mix_before_its_release_is_refused():
    mix = UntaggedMix(tiny(), UNTAGGED, count=4, batch=BATCH, micro_batch=4)
    with pytest.raises(InputError, match="before the round was released"):
        mix(0)


def test_the_update_is_the_mean_over_released_and_plain_gradients():
    """(B · mean + Σ plain)/(B + n), in float64; without the plain part, clipped or undivided it is not."""
    model = tiny()
    parameters = list(model.network.parameters())
    mix = UntaggedMix(model, UNTAGGED, count=len(UNTAGGED), batch=BATCH, micro_batch=7)
    drawn = [torch.Generator().manual_seed(k) for k in range(len(parameters))]
    mean = [torch.randn(p.shape, generator=source) for p, source in zip(parameters, drawn, strict=True)]
    for p, g in zip(parameters, mean, strict=True):
        p.grad = g.clone()
    mix(3)
    got = torch.cat([p.grad.flatten() for p in parameters]).double()
    model.network.zero_grad()
    sequences, _ = model.encode(UNTAGGED)
    for row in sequences:
        batch = model.objective.collate([model.objective.show(row, np.random.default_rng(0))])
        model.losses(model.network, batch).sum().backward()
    plain = torch.cat([p.grad.flatten() for p in parameters]).double()
    released = torch.cat([g.flatten() for g in mean]).double()
    want = (BATCH * released + plain) / (BATCH + len(UNTAGGED))
    assert torch.allclose(got, want, rtol=1e-4, atol=1e-6)
    clipped = (BATCH * released + plain / plain.norm()) / (BATCH + len(UNTAGGED))
    undivided = (BATCH * released + plain) / BATCH
    for wrong in (released, undivided, released + plain / len(UNTAGGED), clipped):
        assert not torch.allclose(got, wrong, rtol=1e-2, atol=1e-4)


def test_draws_differ_between_rounds_and_attempts():
    model = tiny()
    one, two = (UntaggedMix(model, UNTAGGED, count=4, batch=8, micro_batch=4) for _ in range(2))
    assert torch.equal(one._sum(0), one._sum(0))
    assert not torch.equal(one._sum(0), one._sum(1))
    assert not torch.equal(one._sum(0), two._sum(0))


def test_a_mix_without_text_is_refused_before_a_round_is_spent(tmp_path):
    with pytest.raises(InputError, match="has no such text"):
        fit_private(plan(), TAGGED, tiny(), config(untagged_batch=4), tmp_path / "w")
    assert not (tmp_path / "w" / "releases.jsonl").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_masked_models_and_adapters_mix(tmp_path, name):
    words = [b"the quick brown fox jumps", b"over the lazy dog", b"pack my box"] * 6
    model = tiny_model(tmp_path, name)
    if name == "gpt2":
        model = with_lora(model, LoraConfig(rank=2), seed=0)
    before = model.evaluate(words[:3])
    texts = [b"liquor jugs"] * 40
    settings = config(untagged_batch=16)
    fit_private(
        plan(0.05, rate=0.0), texts, model, settings, tmp_path / "w", others=OtherTexts(untagged=words)
    )
    assert model.evaluate(words[:3]) < before - 0.05  # the adapters' gain: 0.108 ± 0.006 over the draws


KEYS = {"untagged_batch": 8, "average": "ema", "keep": "best", "evaluate_every": 3, "optimizer": "adamw_bc"}


@pytest.mark.slow
def test_several_processes_and_a_resume_with_every_lever(tmp_path):
    """Two processes, stopped after a while, and one goes on: the count is the plan's, the model its."""
    save_model(tiny(), tmp_path / "start")
    settings = config(checkpoint_every=4, **KEYS)

    others = OtherTexts(untagged=UNTAGGED[6:], validation=UNTAGGED[:6])

    def stop(stage, done, total):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_in_processes(
            2, Job(plan(), TAGGED, tmp_path / "start", settings, None, tmp_path / "w", tmp_path / "out", others),
            stop,
        )  # fmt: skip
    spent = lines(tmp_path / "w")
    assert 6 <= spent < ROUNDS
    model = tiny(3)
    done = fit_private(plan(), TAGGED, model, settings, tmp_path / "w", others=others)
    assert done.resumed and done.rounds_released == done.rounds_applied == lines(tmp_path / "w") == ROUNDS
    losses = [row["validation_loss"] for row in done.log if "validation_loss" in row]
    assert len(losses) == 4 and model.evaluate(UNTAGGED[:6]) == pytest.approx(min(losses), rel=1e-6)
    again = tiny(4)
    fit_private(plan(), TAGGED, again, settings, tmp_path / "w", others=others)  # all spent: the same model
    assert torch.equal(weights(model), weights(again))


@pytest.fixture
def iterates(monkeypatch):
    """The weights after every round."""
    seen = []
    add = KeptWeights.add

    def spy(self, round):
        seen.append(torch.cat([p.detach().flatten() for p in self._trained.values()]).double())
        add(self, round)

    monkeypatch.setattr(KeptWeights, "add", spy)
    return seen


@pytest.mark.few(1)
@pytest.mark.parametrize("average", ["none", "ema", "tail"])
def test_the_average_is_that_of_the_iterates_in_float64(tmp_path, iterates, average):
    settings = config(average=average, average_decay=0.8)
    got = weights(fit_private(plan(), TAGGED, tiny(), settings, tmp_path).model).double()
    stack = torch.stack(iterates)
    power = 0.8 ** torch.arange(ROUNDS - 1, -1, -1, dtype=torch.float64)
    want = {
        "none": stack[-1],
        "ema": (power[:, None] * stack).sum(0) / power.sum(),
        "tail": stack[ROUNDS // 2 :].mean(0),
    }
    assert torch.allclose(got, want.pop(average), rtol=1e-5, atol=1e-7)
    assert all(not torch.allclose(got, other, rtol=1e-3, atol=1e-5) for other in want.values())


def test_what_is_kept_is_the_best_of_what_was_evaluated(tmp_path):
    """The rounds teach other letters than the validation text's: an early state is best there, and not the last."""
    start = tiny()
    settings = config(keep="best", evaluate_every=2, learning_rate=6e-2, average="ema", average_decay=0.5)
    done = fit_private(
        plan(0.05), TAGGED, start, settings, tmp_path, others=OtherTexts(validation=UNTAGGED[:8])
    )
    losses = [row["validation_loss"] for row in done.log if "validation_loss" in row]
    assert len(losses) == ROUNDS // 2
    assert done.model.evaluate(UNTAGGED[:8]) == pytest.approx(min(losses), rel=1e-6)
    assert min(losses) < losses[-1] - 0.1


def test_public_text_decides_where_there_is_no_validation_text(tmp_path):
    settings = config(keep="best", evaluate_every=4)
    with pytest.raises(InputError, match="train.keep"):
        fit_private(plan(), TAGGED, tiny(), settings, tmp_path / "a")
    done = fit_private(
        plan(), TAGGED, tiny(), settings, tmp_path / "b", others=OtherTexts(public=UNTAGGED[:8])
    )
    losses = [row["public_loss"] for row in done.log if "public_loss" in row]
    assert done.model.evaluate(UNTAGGED[:8]) == pytest.approx(min(losses), rel=1e-6)


@pytest.mark.slow
def test_averages_survive_a_kill(tmp_path, iterates):
    """Dead after round 8: the rest is averaged together with what the checkpoint holds."""
    settings = config(average="tail", checkpoint_every=4)
    with dying(8):
        fit_private(plan(), TAGGED, tiny(), settings, tmp_path)
    data = (tmp_path / "checkpoint.pt").read_bytes()
    stored = torch.load(BytesIO(data[data.index(b"\n") + 1 : -32]), weights_only=True)
    first = torch.cat([t.flatten() for name, t in stored["extra"].items()]).double()
    iterates.clear()
    got = weights(fit_private(plan(), TAGGED, tiny(5), settings, tmp_path).model).double()
    assert len(iterates) == 4  # after 2 of the 6 that count
    assert torch.allclose(got, (2 * first + torch.stack(iterates).sum(0)) / 6, rtol=1e-5, atol=1e-7)
    with pytest.raises(InputError, match="does not fit"):
        fit_private(plan(), TAGGED, tiny(), config(), tmp_path)


def test_adam_without_noise_is_adam_and_with_it_takes_its_variance_off():
    generator = torch.Generator().manual_seed(1)
    signal_ = torch.tensor([0.0, 1.0, 10.0])
    gradients = [signal_ + torch.randn(3, generator=generator) for _ in range(400)]

    def steps(make):
        p = nn.Parameter(torch.zeros(3))
        optimizer = make([p])
        for g in gradients:
            p.grad = g.clone()
            optimizer.step()
        return p.detach(), optimizer

    plain, _ = steps(lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.0))
    same, _ = steps(lambda p: NoisyAdam(p, 1e-3, 0.0))
    assert torch.allclose(plain, same, rtol=1e-5)
    corrected, optimizer = steps(lambda p: NoisyAdam(p, 1e-3, 1.0))
    # E v = signal² + 1: Adam moves signal 1 by 1/√2 of a step, the corrected one by a whole step
    assert abs(plain[1] / plain[2]) == pytest.approx(2**-0.5, rel=0.1)
    assert abs(corrected[1] / corrected[2]) == pytest.approx(1.0, rel=0.1)
    assert abs(corrected[0]) < 6 * abs(plain[0])  # the floor: noise alone is not divided by nearly nothing
    other = NoisyAdam([nn.Parameter(torch.zeros(3))], 1e-3, 1.0)
    other.load_state_dict(optimizer.state_dict())
    assert float(other.state_dict()["state"][0]["step"]) == 400


def test_the_variance_that_is_taken_off_is_the_updates_own(tmp_path, monkeypatch):
    """(σC/(B + n))²: measured on updates that are nothing but noise and constant plain gradients."""
    taken = []
    step = NoisyAdam.step

    def spy(self, closure=None):
        (group,) = self.param_groups
        gradient = torch.cat([p.grad.flatten() for p in group["params"]]).double()
        taken.append((group["noise_variance"], gradient))
        step(self, closure)

    monkeypatch.setattr(NoisyAdam, "step", spy)
    settings = config(optimizer="adamw_bc", untagged_batch=1, learning_rate=1e-12)
    fit_private(
        plan(30.0, rate=0.0), TAGGED, tiny(), settings, tmp_path, others=OtherTexts(untagged=UNTAGGED[:1])
    )
    (said,) = {variance for variance, _ in taken}
    noise = torch.stack([g for _, g in taken])
    measured = float(noise.var(dim=0).mean())  # over rounds: the plain part is the same in all
    assert said == (30.0 / (BATCH + 1)) ** 2
    assert measured == pytest.approx(said, rel=0.05)


TABLES = {"transformer.wte.weight", "transformer.wpe.weight"}


@pytest.mark.few(1)
@pytest.mark.parametrize("freeze", [("embedding",), ("matrices",), ("embedding", "matrices")])
def test_what_is_frozen_stays_and_takes_no_noise(tmp_path, releases, freeze):
    model = tiny()
    before = {name: p.detach().clone() for name, p in model.network.named_parameters()}
    settings, others = config(freeze=freeze, untagged_batch=4), OtherTexts(untagged=UNTAGGED)
    done = fit_private(plan(), TAGGED, model, settings, tmp_path, others=others)
    moved = {n for n, p in done.model.network.named_parameters() if not torch.equal(p, before[n])}
    matrices = {n for n, p in before.items() if p.dim() > 1 and n not in TABLES}
    still = (TABLES if "embedding" in freeze else set()) | (matrices if "matrices" in freeze else set())
    assert moved == set(before) - still
    assert {len(total) for total, _ in releases} == {sum(before[n].numel() for n in moved)}
    assert all(p.requires_grad for p in model.network.parameters())


def test_adapters_without_their_matrices_are_refused(tmp_path):
    model = with_lora(tiny(), LoraConfig(rank=2, targets=("c_attn",)), seed=0)
    with pytest.raises(InputError, match="leaves no parameter"):
        fit_private(plan(), TAGGED, model, config(freeze=("matrices",)), tmp_path / "w")
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("freeze", [(), ("embedding",), ("matrices",), ("embedding", "matrices")])
def test_a_config_knows_how_many_numbers_the_noise_is_added_to(freeze):
    shape, context = ByteGptModel(layers=2, width=32, heads=2), 50
    network = byte_gpt(shape, context).network
    with frozen(network, freeze):
        trained = sum(p.numel() for p in network.parameters() if p.requires_grad)
    assert shape.parameters(context, freeze) == trained
