"""Items of several records: a round averages the gradients of some of them, and clips the average."""

import copy
import math
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
import torch
from architecture_sweep import gradients, move
from private_runs import dying, has_scale, ledger_in, private, shaken, tiny, uncertified, weights
from scipy import stats
from sizes import some
from tiny_models import CAUSAL, MASKED, tiny_model

from hush_core.config import ByteGptModel, LoraConfig, TrainConfig
from hush_core.corpus.prompted import PromptedText
from hush_core.corpus.records import Records
from hush_core.errors import InputError
from hush_core.training import (
    SecureGaussian,
    WeightedPoissonSampler,
    byte_gpt,
    clipped_gradient_sum,
    fit_private,
    norms,
    with_lora,
)
from hush_core.training import rounds as rounds_module
from hush_core.training import run as run_module
from hush_core.training.data import IGNORED, Objective, PromptedTokens
from hush_core.training.loop import run_rounds
from hush_core.training.rounds import Rounds, drawn_records, fixed_batches, items_at_once, rows_of_item

MOST, ROWS = 3, 4
ITEMS = [
    (b"the quick brown fox", b"jumps", b"over the lazy dog \xff"),
    (b"dog dog dog dog dog",),
    (b"", b"five dozen jugs"),
    (b"a", b"b", b""),
    (b"pack my box with five dozen liquor jugs", b"x"),
]
"""One record of nothing, items of fewer records than `MOST` and lengths that share a shape or do not. In `ROWS`
rows, one of three records has a filler."""


def shown_of(model, items=ITEMS):
    generator = np.random.default_rng(0)
    return [[model.objective.show(row, generator) for row in model.encode(list(item))[0]] for item in items]


def summed(model, shown, clip, *, size=2, most=MOST):
    """The sum over all micro-batches as a round makes it, and the norms of the items in their order there."""
    size_of = sum(p.numel() for p in model.network.parameters() if p.requires_grad)
    grid = rounds_grid(clip, size_of)
    into, found = None, []
    for part in fixed_batches(shown, model.objective, size, model.context, most=most):
        done = clipped_gradient_sum(
            model.network, part, losses=model.losses, clip_norm=clip, grid=grid, into=into, shares=part.shares
        )
        into, found = done.gradients, [*found, *done.norms.tolist()]
    return into, found


def rounds_grid(clip, size):
    return 2.0 ** math.floor(math.log2(clip / math.sqrt(size)) - 20)


def record_gradients(model, shown):
    """Of each item its records' gradients, in float64, one at a time and without padding, by plain autograd."""
    network, losses = copy.deepcopy(model.network).double(), model.at("fp32").losses

    def of(record):
        found = gradients(network, losses, model.objective.collate([record]))
        return torch.cat([g.flatten() for g in found.values()])

    return [[of(record) for record in item] for item in shown]


def clipped(gradient, clip):
    return gradient * min(1.0, clip / max(float(gradient.norm()), 1e-30))


def average_clipped(records, clip):
    return clipped(sum(records) / len(records), clip)


def sum_clipped(records, clip):
    return clipped(sum(records), clip)


def distance(got, gradients, rule, clip):
    """‖got − Σ over items of what the rule makes of their records‖, relative."""
    want = sum(rule(records, clip) for records in gradients)
    return float((torch.cat([g.flatten() for g in got.values()]) - want).norm() / want.norm())


def is_average(model, clip=0.5, tolerance=3e-4):
    """Whether a round's sum is that of averages, clipped."""
    shown = shown_of(model)
    gradients = record_gradients(model, shown)
    got, found = summed(model, shown, clip, most=ROWS)
    want = sorted(float((sum(records) / len(records)).norm()) for records in gradients)
    np.testing.assert_allclose(
        sorted(found)[-len(want) :], want, rtol=2e-2 if tolerance > 1e-2 else 1e-3, atol=1e-6
    )
    assert min(want) < clip < max(want), "the test is blind: none is clipped, or all are"
    return distance(got, gradients, average_clipped, clip) < tolerance


def clip_between(model):
    """A clip norm that clips some averages and not others."""
    gradients = record_gradients(model, shown_of(model))
    sizes = [float((sum(records) / len(records)).norm()) for records in gradients]
    return float(np.median([size for size in sizes if size > 0])) * 0.9


def gpt(context=40, width=32):
    return shaken(byte_gpt(ByteGptModel(layers=2, width=width, heads=2), context, seed=1))


@pytest.mark.few(6)
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_the_sum_is_that_of_a_float64_loop_over_items(name, tmp_path):
    model = tiny_model(tmp_path, name)
    assert is_average(model, clip_between(model))


@pytest.mark.parametrize("name", some(["gpt2", "llama", "bert"], 1))
@pytest.mark.parametrize("dora", [False, True])
def test_of_adapters_too(name, dora, tmp_path):
    model = move(with_lora(tiny_model(tmp_path, name), LoraConfig(rank=3, use_dora=dora)))
    assert is_average(model, clip_between(model))


@pytest.mark.few(2)
@pytest.mark.parametrize("constant", [0.0, norms.GHOST_CONSTANT, 1e9], ids=["kept", "measured", "ghost"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_whichever_way_norms_and_sums_are_made(constant, precision, monkeypatch):
    monkeypatch.setattr(norms, "GHOST_CONSTANT", constant)
    model = gpt().at(precision)
    assert is_average(model, clip_between(model), 3e-4 if precision == "fp32" else 3e-2)


def test_records_in_any_order_and_fillers_among_them_change_nothing_beyond_rounding():
    model = gpt()
    shown = shown_of(model)
    got, _ = summed(model, shown, 0.3)
    turned, _ = summed(model, [item[::-1] for item in shown[::-1]], 0.3)
    padded, _ = summed(model, shown, 0.3, most=8)
    for other in (turned, padded):
        for name, gradient in got.items():
            torch.testing.assert_close(other[name], gradient, rtol=0, atol=1e-5)


def test_prompted_records_are_averaged_whether_anything_of_them_is_learned_or_not():
    model, items = (
        gpt(),
        [(PromptedText(b"ask? say", ((5, 8),)), PromptedText(b"only asked", ())), (b"plain",)],
    )
    shown = shown_of(model, items)
    gradients = record_gradients(model, shown)
    assert float(gradients[0][1].norm()) == 0 < float(gradients[0][0].norm())
    got, _ = summed(model, shown, 0.1)
    assert distance(got, gradients, average_clipped, 0.1) < 3e-4
    got, _ = summed(model, shown, 50.0)
    assert distance(got, gradients, average_clipped, 50) < 3e-4 < distance(got, gradients, sum_clipped, 50)


def test_a_record_with_an_infinite_gradient_leaves_its_item_out_and_no_other():
    model = gpt()
    shown = shown_of(model, [ITEMS[0], ITEMS[4]])
    (both,) = fixed_batches([*shown[:1], shown[1] + shown[1][:1]], model.objective, 2, 16, most=MOST)
    weights = torch.ones(6)
    weights[4] = math.inf
    steep = lambda network, batch: model.losses(network, batch) * weights  # noqa: E731
    got = clipped_gradient_sum(model.network, both, losses=steep, clip_norm=0.3, shares=both.shares)
    (first,) = fixed_batches(shown[:1], model.objective, 2, 16, most=MOST)
    want = clipped_gradient_sum(model.network, first, losses=model.losses, clip_norm=0.3, shares=first.shares)
    for name, gradient in want.gradients.items():
        torch.testing.assert_close(got.gradients[name], gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shares", [torch.ones(2, 2), torch.ones(5), torch.ones(5, 1, 1)])
def test_shares_that_do_not_fit_are_refused(shares):
    model = gpt()
    (batch,) = fixed_batches([[s] for s in shown_of(model)[0]], model.objective, 3, 40)[:1]
    with pytest.raises(InputError, match="shares"):
        clipped_gradient_sum(model.network, batch, losses=model.losses, clip_norm=1.0, shares=shares)


# Shapes


def test_rows_of_an_item_are_few_kinds_and_never_more_than_the_plan_says():
    for most in (1, 2, 3, 5, 8, 50):
        rows = [rows_of_item(pool, most) for pool in range(1, 200)]
        assert all(min(pool, most) <= wide <= most for pool, wide in enumerate(rows, 1))
        assert all(wide < 2 * min(pool, most) for pool, wide in enumerate(rows, 1))
        assert len(set(rows)) <= 2 + math.log2(most)
    assert [items_at_once(32, 2048, rows) for rows in (1, 4, 10, 64)] == [32, 8, 3, 1]
    assert items_at_once(32, 64, 2) == 4


OBJECTIVES = [Objective("causal"), Objective("masked", mask=1, vocabulary=20)]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_taking_one_item_away_leaves_the_shapes_of_the_others(objective):
    """Also whether any row of a masked micro-batch is padded, which decides the path through attention."""
    pools = [
        (40, 40),
        (40, 12),
        (3,),
        (17, 18, 20),
        (40, 40, 40),
        (1, 1),
        (2,),
        (33, 5),
        (20, 20, 20),
        (20, 20),
    ]
    generator = np.random.default_rng(0)
    extra = int(objective.kind == "causal")
    items = [[objective.show(np.full(n + extra, 9), generator) for n in pool] for pool in pools]

    def kinds(items):
        parts = fixed_batches(items, objective, {1: 4, 2: 3, 3: 2}, 40, most=MOST)
        labels = sum(int((p.labels != IGNORED).sum()) for p in parts)
        assert labels == sum(len(record.labels) for item in items for record in item)
        shares = sum(float(len(p.inputs) if p.shares is None else p.shares.sum()) for p in parts)
        assert shares >= len(items) - 1e-4
        out = set()
        for part in parts:
            rows = 1 if part.shares is None else part.shares.shape[1]
            assert len(part.inputs) == rows * {1: 4, 2: 3, 3: 2}[rows]
            path = None if part.attended is None else bool(part.attended.all())
            out.add((rows, part.inputs.shape[1], part.labels.shape[1], path))
        return out

    for i, item in enumerate(items):
        assert kinds([item]) <= kinds(items)
        assert kinds(items[:i] + items[i + 1 :]) <= kinds(items)


def test_ranks_share_out_whole_items():
    objective, generator = Objective("causal"), np.random.default_rng(0)
    items = [[objective.show(np.full(2 + n % 30, n), generator)] * (1 + n % 3) for n in range(50)]
    whole = fixed_batches(items, objective, 4, 40, most=MOST)
    shares = [fixed_batches(items, objective, 4, 40, most=MOST, rank=r, ranks=3) for r in range(3)]
    assert sum(map(len, shares)) == len(whole)
    for r, share in enumerate(shares):
        for k, part in enumerate(share):
            assert torch.equal(part.inputs, whole[r + 3 * k].inputs)


# What is drawn


ROUNDS, POOL, DRAWN = 3000, 7, 3
POOLS = [tuple(np.array([10 * i + r, 10 * i + r]) for r in range(POOL)) for i in range(3)]
"""Record r of item i is the tokens 10·i + r."""


def choices(choose=drawn_records, rounds=ROUNDS, key=b"c" * 32):
    """(rounds, 3, POOL) bool: which records each round showed of items that it always drew."""
    seen = np.zeros((rounds, len(POOLS), POOL), dtype=bool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "drawn_records", choose)
        sampler = WeightedPoissonSampler(np.ones(len(POOLS)), key=key)
        made = Rounds(
            POOLS, Objective("causal"), sampler, rounds=rounds, micro_batch=1, longest=4, records=DRAWN
        )
        for k in range(rounds):
            for part in made[k].parts:
                labels = part.labels[:, 0].numpy()
                for token in labels[labels != IGNORED]:
                    seen[k, token // 10, token % 10] = True
    return seen


def uniform_and_independent(seen, error=1e-6):
    """Exactly DRAWN of each pool; each record with probability DRAWN/POOL, each pair as without replacement; pairs
    of records of different items, and of one record in neighbouring rounds, as products. Exact binomial tests,
    Bonferroni over all of them: a right sampler is rejected for `error` of all keys."""
    rounds = len(seen)
    if not np.all(seen.sum(2) == DRAWN):
        return False
    q, both = DRAWN / POOL, DRAWN * (DRAWN - 1) / POOL / (POOL - 1)
    tests = [(seen[:, i, r], q) for i in range(3) for r in range(POOL)]
    tests += [(seen[:, i, r] & seen[:, i, s], both) for i in range(3) for r in range(POOL) for s in range(r)]
    tests += [
        (seen[:, i, r] & seen[:, j, s], q * q)
        for i in range(3) for j in range(i) for r in range(POOL) for s in range(POOL)
    ]  # fmt: skip
    pairs = [(seen[:-1:2, i, r] & seen[1::2, i, r], q * q) for i in range(3) for r in range(POOL)]
    level = error / (len(tests) + len(pairs))
    return (
        all(stats.binomtest(int(x.sum()), len(x), p).pvalue > level for x, p in tests + pairs) and rounds > 0
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("key", [b"a" * 32, b"b" * 32])
def test_records_are_a_uniform_choice_drawn_anew_and_independent_of_other_items(key):
    assert uniform_and_independent(choices(key=key))


def the_first(item, most, generator):
    return item[:most]


def one_more(item, most, generator):
    return drawn_records(item, most + 1, generator)


def with_replacement(item, most, generator):
    return [item[i] for i in generator.choice(len(item), size=most)]


def neighbours_in_the_pool(item, most, generator):
    start = generator.integers(len(item))
    return [item[(start + i) % len(item)] for i in range(most)]


class _Fixed:
    """The same choice in every round, or for every item of one."""

    def __init__(self, anew):
        self.anew, self.kept = anew, {}

    def __call__(self, item, most, generator):
        which = int(item[0][0]) if self.anew == "never" else id(generator)
        if which not in self.kept:
            self.kept[which] = (generator, generator.choice(len(item), size=most, replace=False))
        return [item[i] for i in self.kept[which][1]]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "choose",
    [the_first, one_more, with_replacement, neighbours_in_the_pool, _Fixed("never"), _Fixed("by round")],
    ids=["first", "k + 1", "with replacement", "neighbours", "never anew", "one choice for all items"],
)
def test_other_choices_are_rejected(choose):
    def loose(item, most, generator):
        return choose(item, most, generator)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "rows_of_item", lambda records, most: max(records, most))
        assert not uniform_and_independent(choices(loose, rounds=1500))


def test_a_pool_with_no_more_records_is_shown_whole():
    generator = np.random.default_rng(0)
    assert len(drawn_records(POOLS[0], POOL, generator)) == POOL
    assert drawn_records(POOLS[0][0], 3, generator)[0] is POOLS[0][0]
    learned = PromptedTokens(np.arange(3), np.ones(3, bool))
    assert drawn_records(learned, 3, generator) == [learned]


class Watched(WeightedPoissonSampler):
    made: ClassVar[list] = []

    def __init__(self, rates, key=None):
        super().__init__(rates, key)
        self.uses = Counter()
        Watched.made.append((self._key, self.uses))

    def generator(self, round, use):
        self.uses[round, use] += 1
        return super().generator(round, use)


TEXTS = [Records(tuple(bytes([97 + (i + r) % 5]) * (3 + r) for r in range(1 + i % 4))) for i in range(20)]


def make_plan(rounds=6, records=2, noise=0.5, rates=0.3):
    rated = np.full(20, rates)
    return uncertified(rated, noise, rounds, 6, records=records)


def config(rounds=6, **more):
    return TrainConfig(rounds=rounds, batch=6, learning_rate=1e-2, micro_batch=4, checkpoint_every=2, **more)


def test_a_resumed_run_draws_from_fresh_keys_and_counts_every_round(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "WeightedPoissonSampler", Watched)
    Watched.made = []
    with dying(3, counted=True):
        fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    fitted = fit_private(make_plan(), TEXTS, tiny(), config(), tmp_path)
    assert (fitted.rounds_released, fitted.rounds_applied, fitted.resumed) == (6, 4, True)
    (one, first), (other, second) = Watched.made
    assert one != other
    for uses, rounds in ((first, 4), (second, 2)):
        wanted = {(k, use) for k in range(rounds) for use in ("sampler", "masks", "records")}
        assert set(uses) == wanted and set(uses.values()) == {1}


def test_pools_of_one_record_train_as_examples_do_to_the_bit(tmp_path):
    texts = [item.texts[0] for item in TEXTS]
    as_pools = [Records((text,)) for text in texts]
    one = fit_private(make_plan(records=1), texts, tiny(), config(), tmp_path / "a", rehearsal=b"r" * 32)
    many = fit_private(make_plan(records=4), as_pools, tiny(), config(), tmp_path / "b", rehearsal=b"r" * 32)
    assert torch.equal(weights(one.model), weights(many.model))
    averaged = fit_private(make_plan(records=4), TEXTS, tiny(), config(), tmp_path / "c", rehearsal=b"r" * 32)
    assert not torch.equal(weights(one.model), weights(averaged.model))


def test_micro_batches_do_not_change_the_model_by_a_bit(tmp_path):
    models = [
        fit_private(
            make_plan(), TEXTS, tiny(), config().model_copy(update={"micro_batch": size}), tmp_path / str(size),
            rehearsal=b"r" * 32,
        ).model
        for size in (1, 7)
    ]  # fmt: skip
    assert torch.equal(weights(models[0]), weights(models[1]))


def noise_of_a_step(tmp_path, records):
    """What a round adds for the noise alone: two steps on the same draws with other noise, and their difference."""
    model, steps = tiny(), []
    items = [tuple(model.encode(list(item.texts))[0]) for item in TEXTS]
    for key in (b"x" * 32, b"y" * 32):
        plan, made = make_plan(1, records, noise=3.0), tiny()
        start = weights(made)
        (tmp_path / key.hex()).mkdir()
        with ledger_in(tmp_path / key.hex(), 1) as ledger:
            module = private(plan, made.network, made.losses, ledger, noise=SecureGaussian(key))
            rounds = Rounds(
                items, made.objective, WeightedPoissonSampler(plan.rates, key=b"s" * 32), rounds=1,
                micro_batch=2, longest=16, records=records,
            )  # fmt: skip
            run_rounds(module, rounds, tmp_path, lambda: False)
        steps.append((weights(made) - start).double().numpy())
    return (steps[0] - steps[1]) / math.sqrt(2)


def test_noise_is_that_of_one_clip_norm_an_item_however_many_records_it_shows(tmp_path):
    """σC/B a coordinate. The noise of a sum of k·B records on the mean, σC/(k·B), is told apart; so is 2/3, 3/2."""
    noise = noise_of_a_step(tmp_path, 4)
    assert has_scale(noise, 3.0 / 6)
    for wrong in (1 / 4, 2 / 3, 3 / 2):
        assert not has_scale(noise, 3.0 / 6 * wrong)


def test_an_item_of_more_records_than_the_plan_says_is_refused_before_a_release(tmp_path):
    model = tiny()
    items = [tuple(model.encode(list(item.texts))[0]) for item in TEXTS]
    plan = make_plan(1, records=2, rates=1.0)
    with ledger_in(tmp_path, 1, released=0) as ledger:
        module = private(plan, model.network, model.losses, ledger)
        rounds = Rounds(
            items, model.objective, WeightedPoissonSampler(plan.rates), rounds=1, micro_batch=2, longest=16,
            records=3,
        )  # fmt: skip
        with pytest.raises(InputError, match="items of 3 records, the plan says 2"):
            module.training_step(rounds[0], 0)
