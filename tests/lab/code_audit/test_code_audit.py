"""The audit of the code passes hush's own step and names what is wrong with copies of it.

Every mistake is one that was made in some DP library or training loop. Nothing here is random: batches are told in
advance, and keys are fixed where the mistake does not lie in the key.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from planted_steps import planted
from sizes import some
from tiny_models import tiny_model

from hush_core.training.clipping import clipped_gradient_sum
from hush_core.training.noise import add_noise
from hush_core.training.sampler import WeightedPoissonSampler
from lab.code_audit import REAL, Check, audit_step, code_report


def broken(parts, *only, model=None):
    checks = audit_step(model, parts=parts, only=only)
    assert all(check.evidence for check in checks)
    return {check.name for check in checks if not check.passed}


def module(*pairs, **names):
    return replace(REAL, module=planted("module", *pairs, **names).PrivateModule)


SUM = "self._release(total)"


def test_the_real_step_holds():
    checks = audit_step()
    assert [check for check in checks if not check.passed] == []
    assert len({check.name for check in checks}) == len(checks) == 15
    assert code_report(checks).endswith("15 of 15 properties of the step held")


@pytest.mark.slow
def test_the_model_is_as_before_and_a_model_of_ones_own_can_be_audited():
    model = REAL.start([])
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    assert not broken(REAL, "sum", "replay", "resume", model=model)
    assert all(torch.equal(value, before[name]) for name, value in model.network.state_dict().items())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "precision"), some([("bert", "fp32"), ("llama", "bf16")], 1))
def test_the_real_step_holds_for_other_models(name, precision, tmp_path):
    model = tiny_model(tmp_path, name).at(precision)
    assert not broken(REAL, "sum", "replay", "sampling", model=model)


def test_a_report_shows_what_is_broken_first():
    report = code_report([Check("noise", True, "full"), Check("start", False, "made of text")])
    assert report.splitlines()[0].startswith("BROKEN  start")
    assert report.endswith("1 of 2 properties of the step held")


# the noise

NOISE = "add_noise(host.numpy(), self._noise, release, scale=self._scale, clip_norm=self._clip_norm)"
DIVIDED = "host.div_(self._batch)"
SCALE = {"noise", "noise of an empty batch", "noise source"}
NOT_OURS = {"noise source", "counted first", "own contribution", "clipping", "division", "release"}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (NOISE.replace("self._scale", "self._scale / 2"), SCALE),
        (NOISE.replace("self._scale", "self._scale * 2 / 3"), SCALE),
        (NOISE.replace("self._scale", "self._scale / self._batch"), SCALE),
        (
            NOISE.replace("self._noise, release", "SecureGaussian(bytes(32)), 0"),
            NOT_OURS | {"noise is fresh"},
        ),
        ("host.add_(torch.randn(len(host)) * self._scale)", NOT_OURS),
        (f"{NOISE} if host.any() else None", {"noise of an empty batch", "counted first", "release"}),
    ],
    ids=["half", "two thirds", "of the mean on the sum", "reused", "torch's", "none on an empty batch"],
)
def test_wrong_noise_is_named(wrong, expected):
    assert expected <= broken(module((NOISE, wrong)), "sum", "replay")


# the sum


def unclipped(model, part, *, losses, **settings):
    grads = torch.autograd.grad(losses(model, part).sum(), list(model.parameters()))
    return dict(zip(dict(model.named_parameters()), grads, strict=True))


def none(model, part, *, into, **settings):
    for name, gradient in unclipped(model, part, **settings).items():
        into[name] += gradient.double()


def by_layer(model, part, *, into, **settings):
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    for name in trained:
        for other, p in trained.items():
            p.requires_grad_(other == name)
        clipped_gradient_sum(model, part, into={name: into[name]}, **settings)
    for p in trained.values():
        p.requires_grad_(True)


def by_micro_batch(model, part, *, clip_norm, into, **settings):
    """Clipped before it is added up: alone an example is clipped right."""
    grads = unclipped(model, part, **settings)
    norm = float(torch.stack([g.norm() for g in grads.values()]).norm())
    for name, gradient in grads.items():
        into[name] += gradient.double() * min(1.0, clip_norm / norm)


def without_cross_term():
    """A norm of tied weights."""
    sizes = planted("norms", ("def _inner(", "def _other_inner("), _inner=lambda one, other: 0.0)
    return planted("clipping", size_of=sizes.size_of).clipped_gradient_sum


def fresh(host, noise, release, scale, clip):
    out = np.zeros(len(host))
    add_noise(out, noise, release, scale=scale, clip_norm=clip)
    return torch.from_numpy(out)


ALTERNATING = (
    "self._old = -self._old if release % 2 else "
    "fresh(host, self._noise, release, self._scale, self._clip_norm); host.add_(self._old)"
)
"""Its scale is right, and it cancels in the sum of two rounds."""
STEPS = {
    "noise of the sum on the mean": (
        ((NOISE, DIVIDED), (f"            {DIVIDED}\n            total = host",
                            f"            {NOISE}\n            total = host")), {}, SCALE, None),
    "noise that alternates in sign": (
        ((NOISE, ALTERNATING),), {"fresh": lambda: fresh}, {"noise is fresh", "noise source"}, set()),
    "a release that is not counted first": (
        (("release = self._ledger.count()", "release = self._ledger.released"),
         (DIVIDED, f"self._ledger.count(); {DIVIDED}")), {}, {"counted first"}, None),
    "division by the realised batch": (
        (("for name, gradient in", "self._examples = max(1, items)\n        for name, gradient in"),
         (DIVIDED, "host.div_(self._examples)")), {}, {"division", "own contribution"}, set()),
    "clipping by layer": (
        (), {"clipped_gradient_sum": lambda: by_layer}, {"sensitivity", "clipping", "division"}, None),
    "clipping of a micro-batch before accumulation": (
        (), {"clipped_gradient_sum": lambda: by_micro_batch}, {"own contribution"}, {"clipping"}),
    "clipping of the whole batch": (
        ((SUM, "self._release(total * min(1.0, bound / max(float(total.norm()), 1e-30)))"),),
        {"clipped_gradient_sum": lambda: none}, {"own contribution"}, {"clipping"}),
    "no clipping": ((), {"clipped_gradient_sum": lambda: none}, {"sensitivity", "clipping"}, set()),
    "a tied weight without its cross term": (
        (), {"clipped_gradient_sum": without_cross_term}, {"clipping"}, set()),
}  # fmt: skip
"""(What stands where, names of its own, what is named, what is not: None for all else)."""


@pytest.mark.slow
@pytest.mark.parametrize("wrong", STEPS)
def test_a_wrong_step_is_named(wrong):
    pairs, names, expected, silent = STEPS[wrong]
    found = broken(module(*pairs, **{name: made() for name, made in names.items()}), "sum", "replay")
    assert found == expected if silent is None else expected <= found and not silent & found


@pytest.mark.slow
@pytest.mark.parametrize("check", [True, False], ids=["refused by the step", "in a step that does not look"])
def test_a_loss_that_mixes_examples_is_named(check):
    def mixing(model):
        def losses(network, batch):
            own = model.losses(network, batch)  # hard ones weigh more, as in mining of examples
            return own * own.detach().softmax(0)

        return losses

    parts = REAL if check else module(("check_before_release(self.model, self._losses, self._probe)", "pass"))
    assert {"own contribution", "clipping"} <= broken(replace(parts, losses=mixing), "sum")


# what else leaves


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "leak",
    [
        "self.log('loss', float(total.norm()))",
        "self.log_dict({'items': items})",
        "print(items)",
        "self.items = items",
        "self.seen = getattr(self, 'seen', []) + [total.norm()]",
        "self.register_buffer('running', total.float().mean())",
        "self.model.transformer.ln_f.bias.data.add_(total[:16].float())",
        "open(self._ledger.path.with_name('statistics'), 'w').write(str(float(total.norm())))",
        "__import__('logging').getLogger('hush').warning('norm %g', float(total.norm()))",
        "self._optimizer.state[self._trained['transformer.ln_f.bias']]['norm'] = total.norm()",
    ],
    ids=["logged", "logged size", "printed", "kept", "list", "buffer", "weights", "file", "logging", "optimiser"],
)  # fmt: skip
def test_a_statistic_that_leaves_without_noise_is_named(leak):
    leaky = module(("for name, gradient in", f"{leak}\n        for name, gradient in"))
    assert broken(leaky, "replay") == {"nothing else leaves"}


@pytest.mark.slow
def test_a_loss_that_is_returned_is_named():
    """Lightning hands what a step returns to every callback and logger."""
    last = "        self._step(batch.round)\n\n    def _items_in"
    leaky = module(
        ("for name, gradient in", "norm = total.norm()\n        for name, gradient in"),
        (last, last.replace("\n\n", "\n        return norm\n\n", 1)),
    )
    assert broken(leaky, "replay") == {"nothing else leaves"}


def test_a_buffer_that_the_loss_updates_is_named():
    """As the running mean of a batch normalisation does."""

    def counting(model):
        model.network.register_buffer("tokens_seen", torch.zeros(()))

        def losses(network, batch):
            network.tokens_seen += float((batch.labels >= 0).sum())
            return model.losses(network, batch)

        return losses

    unchecked = module(("check_before_release(self.model, self._losses, self._probe)", "pass"))
    parts = replace(unchecked, losses=counting)
    assert "nothing else leaves" in broken(parts, "replay")


def test_a_tokenizer_and_weights_made_of_protected_text_are_named():
    def learned(texts):
        model = REAL.start(texts)
        model.tokenizer.add_tokens(sorted({text.decode() for text in texts}))
        return model

    def fitted(texts):
        model = REAL.start(texts)
        with torch.no_grad():
            model.network.transformer.ln_f.bias += sum(map(len, texts)) / len(texts)
        return model

    assert broken(replace(REAL, start=learned), "start") == {"start"}
    assert broken(replace(REAL, start=fitted), "start") == {"start"}


# the batch


class Sampler:
    """By sampling rate, as `WeightedPoissonSampler` is made, and wrong."""

    def __init__(self, rates, key=None):
        self.rates, self.key = np.asarray(rates, dtype=float), key or bytes(32)
        self.real = WeightedPoissonSampler(rates, key=self.key)

    def generator(self, round, use):
        return self.real.generator(round, use)


class Shuffled(Sampler):
    """Each epoch in a new order, cut into batches of the expected size."""

    def draw(self, round):
        size = max(1, round_half(self.rates.sum()))
        epoch, place = divmod(round * size, len(self.rates))
        order = np.random.default_rng(epoch).permutation(len(self.rates))
        return np.sort(order[place : place + size])


class FixedSize(Sampler):
    def draw(self, round):
        chances = self.rates / max(self.rates.sum(), 1e-300)
        size = min(round_half(self.rates.sum()), np.count_nonzero(self.rates))
        return np.sort(np.random.default_rng(round).choice(len(self.rates), size, replace=False, p=chances))


class Pairs(Sampler):
    """Right by example, but neighbours are drawn together."""

    def draw(self, round):
        drawn = np.random.default_rng(round).random(len(self.rates) // 2 + 1).repeat(2)[: len(self.rates)]
        return np.flatnonzero(drawn < self.rates)


class Twice(Sampler):
    """Each batch serves two rounds."""

    def draw(self, round):
        return self.real.draw(round // 2)


class Never(Sampler):
    """No empty batch: it is drawn again until there is one."""

    def draw(self, round):
        drawn = self.real.draw(round)
        return drawn if len(drawn) > 2 else self.real.draw(round + 10_000)


def round_half(x):
    return int(x + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [Shuffled, FixedSize, Pairs, Twice, Never], ids=lambda kind: kind.__name__)
def test_a_wrong_sampler_is_named(wrong):
    assert "Poisson sampling" in broken(replace(REAL, sampler=wrong), "sampling")


DRAWN = "drawn = [self._items[i] for i in self._sampler.draw(round)]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        f"{DRAWN}[:2]",
        f"{DRAWN}; drawn = self._last = drawn or getattr(self, '_last', [])",
        f"{DRAWN}; drawn = drawn + drawn[:1]",
    ],
    ids=["capped", "the last batch in place of an empty one", "an example twice"],
)
def test_batches_that_are_not_what_was_drawn_are_named(wrong):
    rounds = planted("rounds", (DRAWN, wrong))
    rounds.RoundBatch = REAL.rounds.__init__.__globals__["RoundBatch"]
    assert broken(replace(REAL, rounds=rounds.Rounds), "sampling") == {"batches reach the step"}


# the run

KEY = "return os.urandom(32) if rehearsal is None else"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('noise=SecureGaussian(_key(rehearsal, "noise"))', "noise=SecureGaussian(b'n' * 32)"),
        ('before, _key(rehearsal, "sampler"))', "before, b's' * 32)"),
        (KEY, "return hashlib.sha256(use.encode()).digest() if rehearsal is None else"),
    ],
    ids=["noise key kept", "sampler key kept", "both"],
)
def test_a_resume_that_repeats_is_named(right, wrong):
    assert broken(replace(REAL, fit=planted("run", (right, wrong)).fit_private), "resume") == {"resume"}


@pytest.mark.slow
def test_a_resume_that_forgets_its_releases_is_named():
    """A ledger that begins anew with each attempt lets out more than the plan certifies."""
    path = "path = work_dir / LEDGER"
    forgetful = planted("run", (path, f"{path}; [p.unlink() for p in work_dir.glob('releases*')]"))
    assert broken(replace(REAL, fit=forgetful.fit_private), "resume") == {"resume"}
