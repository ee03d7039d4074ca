"""Gradients scaled by second moments of untagged text: what the scale is, what is released, what a resume keeps."""

import math

import numpy as np
import pytest
import torch
from architecture_sweep import gradients
from private_runs import TEXTS as TAGGED
from private_runs import UNTAGGED, dying, tiny, uncertified

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.training import OtherTexts, fit_private
from hush_core.training.gradient_scale import FLOOR, MARGIN, POWER, GradientScale
from hush_core.training.mixing import UntaggedMix

ROUNDS, BATCH, CLIP = 6, 8, 0.5
RATE = 1e-3


def plan(noise=0.5, rate=0.2):
    return uncertified(np.full(40, rate), noise, ROUNDS, BATCH, CLIP)


def config(**keys):
    given = {"rounds": ROUNDS, "batch": BATCH, "learning_rate": RATE, "micro_batch": 4, "checkpoint_every": 2}
    return TrainConfig(**given | {"optimizer": "preconditioned"} | keys)


def trained(model):
    return {name: p.detach().clone() for name, p in model.network.named_parameters()}


def whole(scale, model):
    """s, number by number."""
    return {name: scale.scaled(name, torch.ones_like(p)).double() for name, p in trained(model).items()}


def moments(model, texts):
    """Mean squared gradients of single examples by plain autograd, float64 sums."""
    found = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in trained(model).items()}
    sequences = model.encode(texts)[0]
    for row in sequences:
        shown = model.objective.collate([model.objective.show(row, np.random.default_rng(0))])
        for name, gradient in gradients(model.network, model.losses, shown).items():
            found[name] += gradient.double().square() / len(sequences)
    return found


def test_a_scale_is_the_inverse_root_of_factored_second_moments_above_the_floor():
    model = tiny()
    scale, found = GradientScale.of(model, UNTAGGED, clip_norm=CLIP), moments(model, UNTAGGED)
    size = sum(moment.numel() for moment in found.values())
    mean = sum(float(moment.sum()) for moment in found.values()) / size
    want = {}
    for name, moment in found.items():
        if moment.dim() == 2:
            own = max(float(moment.mean()), FLOOR * mean)
            rows, columns = (moment.mean(d, keepdim=True).clamp(min=FLOOR * own) for d in (1, 0))
            want[name] = (rows * columns / own) ** -POWER
        else:
            want[name] = moment.clamp(min=FLOOR * mean) ** -POWER
    got = whole(scale, model)
    gain = math.sqrt(sum(float((found[n] * want[n].square()).sum()) for n in want)) / (MARGIN * CLIP)
    for name in want:
        torch.testing.assert_close(got[name] * gain, want[name], rtol=1e-3, atol=0)
    # the update: a unit of rate moves the parameters by a root mean square of 1 where a release is C long
    total = math.sqrt(sum(float((scale.update(n, torch.ones_like(p)) * CLIP).square().sum()) for n, p in
                          trained(model).items()) / size)  # fmt: skip
    assert total == pytest.approx(math.sqrt(size), rel=1e-4)


def test_rows_that_no_text_touches_have_a_bounded_scale():
    """The embedding has rows of bytes that untagged text never holds: their second moment is 0."""
    model = tiny()
    got = whole(GradientScale.of(model, [b"aaaa"] * 3, clip_norm=CLIP), model)
    table = got["transformer.wte.weight"]
    assert all(bool(s.isfinite().all() and (s > 0).all()) for s in got.values())
    assert table.max(0).values.div(table.min(0).values).max() <= len(table) * FLOOR**-POWER


def test_a_round_moves_the_model_by_the_scaled_release(tmp_path, releases):
    """θ ← θ − rate · ratio · s ∘ release, in all trained numbers; without the second s it is another model."""
    model = tiny()
    start = trained(model)
    scale = GradientScale.of(model, UNTAGGED, clip_norm=CLIP, noise=0.5 * CLIP / BATCH)
    fit_private(plan(), TAGGED, model, config(), tmp_path, others=OtherTexts(untagged=UNTAGGED))
    assert len(releases) == ROUNDS
    moved = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in start.items()}
    for _, mean in releases:
        parts = mean.double().split([p.numel() for p in start.values()])
        for (name, s), part in zip(whole(scale, model).items(), parts, strict=True):
            moved[name] -= RATE * float(scale.tensors["ratio"]) * s * part.view_as(s)
    for name, p in trained(model).items():
        torch.testing.assert_close(p.double() - start[name], moved[name], rtol=1e-2, atol=1e-5)


def test_a_single_example_releases_at_most_the_clip_norm_after_scaling(tmp_path, releases):
    """One example drawn in every round: the sum before the noise is at most C long, and all but always C."""
    rates = np.zeros(40)
    rates[7] = 1.0
    alone = uncertified(rates, 0.5, ROUNDS, 1, CLIP)
    fit_private(alone, TAGGED, tiny(), config(batch=1), tmp_path, others=OtherTexts(untagged=UNTAGGED))
    norms = [float(total.norm()) for total, _ in releases]
    assert all(0.99 * CLIP < norm <= CLIP for norm in norms)


def scale_of_run(folder, texts):
    """The scale in the checkpoint of a run on these texts."""
    fit_private(plan(), texts, tiny(), config(), folder, others=OtherTexts(untagged=UNTAGGED))
    (newest,) = folder.glob("checkpoint.pt")
    with open(newest, "rb") as file:
        file.readline()
        stored = torch.load(file, weights_only=True)
    return stored["extra"]


def test_a_scale_does_not_depend_on_tagged_text(tmp_path):
    """Runs on other tagged text, neighbours in every example, have the same scale to the bit."""
    noise = 0.5 * CLIP / BATCH
    one = scale_of_run(tmp_path / "a", TAGGED)
    other = scale_of_run(tmp_path / "b", [text[::-1] + b"#" for text in TAGGED])
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert all(
        torch.equal(one[name], tensor)
        for name, tensor in GradientScale.of(tiny(), UNTAGGED, clip_norm=CLIP, noise=noise).tensors.items()
    )
    seen = GradientScale.of(tiny(), [*UNTAGGED, TAGGED[0]], clip_norm=CLIP, noise=noise).tensors
    assert not all(torch.equal(one[name], seen[name]) for name in one)  # one tagged example would be seen


def test_without_untagged_text_it_is_refused_before_a_round_is_spent(tmp_path):
    for texts in ((), (b"",)):
        with pytest.raises(InputError, match="no such text predicts anything"):
            fit_private(plan(), TAGGED, tiny(), config(), tmp_path / "w", others=OtherTexts(untagged=texts))
    assert not (tmp_path / "w" / "releases.jsonl").exists()


def test_a_resume_keeps_the_scale_and_refuses_another(tmp_path, monkeypatch):
    """Killed after 4 rounds: the same text goes on with the scale of the checkpoint, other text is refused."""
    with dying(4):
        fit_private(plan(), TAGGED, tiny(), config(), tmp_path, others=OtherTexts(untagged=UNTAGGED))
    with pytest.raises(InputError, match="another scale of gradients"):
        fit_private(plan(), TAGGED, tiny(), config(), tmp_path, others=OtherTexts(untagged=[b"other text"]))
    with pytest.raises(InputError, match="does not fit"):
        fit_private(
            plan(), TAGGED, tiny(), config(optimizer="sgd"), tmp_path, others=OtherTexts(untagged=UNTAGGED)
        )
    used, update = [], GradientScale.update
    monkeypatch.setattr(
        GradientScale, "update", lambda self, *given: (used.append(self), update(self, *given))[1]
    )
    scale = GradientScale.of(tiny(), UNTAGGED, clip_norm=CLIP, noise=0.5 * CLIP / BATCH)
    begun = {name: tensor * (1 + 1e-4) for name, tensor in scale.tensors.items()}
    resume = GradientScale.resume
    monkeypatch.setattr(GradientScale, "resume", lambda self, _, where: resume(self, begun, where))
    done = fit_private(plan(), TAGGED, tiny(), config(), tmp_path, others=OtherTexts(untagged=UNTAGGED))
    assert done.resumed and done.rounds_applied == ROUNDS
    assert all(torch.equal(used[0].tensors[name], tensor) for name, tensor in begun.items())


def test_plain_gradients_that_are_mixed_in_are_scaled_alike():
    model = tiny()
    scale = GradientScale.of(model, UNTAGGED, clip_norm=CLIP)
    parts = []
    for given in (None, scale):
        mix = UntaggedMix(model, UNTAGGED, count=8, batch=BATCH, micro_batch=4, key=b"k" * 32, scale=given)
        for p in model.network.parameters():
            p.grad = torch.zeros_like(p)
        mix(0)
        parts.append({name: p.grad.clone() for name, p in model.network.named_parameters()})
    plain, scaled = parts
    for name, gradient in plain.items():
        torch.testing.assert_close(scaled[name] * MARGIN, scale.scaled(name, gradient), rtol=1e-4, atol=1e-6)
