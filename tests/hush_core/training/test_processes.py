"""Several processes train as one does, and none outlives the run. Runs as a script too: one rank of `both`."""

import json
import os
import select
import signal
import socket
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import pytorch_lightning as lightning
import torch
import warm
from private_runs import has_scale, ledger_in, lines, private, tiny, trainer, uncertified
from pytorch_lightning.strategies import FSDPStrategy, ModelParallelStrategy
from sizes import some
from tiny_models import write_model
from torch import distributed
from waiting import ended

from hush_core.config import HuggingFaceModel, LoraConfig, TrainConfig
from hush_core.errors import InputError
from hush_core.training import (
    PrivateModule,
    ReleaseLedger,
    SecureGaussian,
    WeightedPoissonSampler,
    fit_private,
    load_model,
    open_model,
    processes,
    save_model,
    with_lora,
)
from hush_core.training.data import IGNORED, Objective
from hush_core.training.gradient_scale import GradientScale
from hush_core.training.job import Job
from hush_core.training.loop import run_rounds
from hush_core.training.noise import add_noise
from hush_core.training.placement import longest_input
from hush_core.training.processes import fit_in_processes
from hush_core.training.ranks import Ranks
from hush_core.training.rounds import Rounds
from hush_core.training.update import make_optimizer
from hush_core.training.worker import _join_group, report

TEXTS = [b"the quick", b"lazy dog jumps", b"over", b"five dozen liquor jugs", b"box with", b"pack my dog"]
RATES = np.array([0.13, 0.39, 0.26, 0.52, 0.32, 0.2])


def sizes(key):
    return [len(WeightedPoissonSampler(RATES, key).draw(k)) for k in range(8)]


def is_hard(batches):
    """An empty batch, one that leaves a rank without data, an even one, one of several micro-batches a rank."""
    return {0, 1, 2} <= set(batches) and max(batches) >= 4


KEY = next(key for key in (bytes([k]) * 32 for k in range(256)) if is_hard(sizes(key)))
SIZES = sizes(KEY)
CASES = {
    f"{model} {optimizer}": (model, optimizer, RATES, len(SIZES), PrivateModule)
    for model, optimizer in some([*product(("gpt", "bert", "lora", "pools"), ("adamw", "sgd"))], 4)
} | {"gpt preconditioned": ("gpt", "preconditioned", RATES, len(SIZES), PrivateModule)}


class NoiseOnEachRank(PrivateModule):
    """Wrong: every rank adds the noise of the whole."""

    def _release(self, total):
        self._released = getattr(self, "_released", -1) + 1
        size = {"scale": self._scale, "clip_norm": self._clip_norm}
        add_noise(total.numpy(), SecureGaussian(), self._released, **size)
        distributed.all_reduce(total)
        return total.div_(self._batch).float()


EMPTY = {
    "noise": ("gpt", "sgd", np.zeros(6), 3, PrivateModule),
    "noise on each rank": ("gpt", "sgd", np.zeros(6), 3, NoiseOnEachRank),
}


def make_plan(rates, rounds):
    return uncertified(np.asarray(rates), 0.5, rounds, 4)


def train(bert, folder, model, optimizer, rates, rounds, kind):
    """The flat weights (rounds + 1, p) before the first and after every round; releases in the ledger (-1: none).

    Keys are fixed here, by handing PrivateModule and Rounds what fit_private draws for itself.
    """
    folder.mkdir(parents=True)
    here = HuggingFaceModel(kind="huggingface", name=str(bert))
    made = open_model(here)[0] if model == "bert" else tiny()
    if model == "lora":
        made = with_lora(made, LoraConfig(rank=2), seed=3)
    plan, ranks = make_plan(rates, rounds), Ranks.current()
    items = made.encode(TEXTS)[0]
    if model == "pools":  # of three records, of which a round shows two
        plan = replace(plan, records=2)
        items = [tuple(made.encode([text, text[::-1], text[:4]])[0]) for text in TEXTS]
    trained = [p for p in made.network.parameters() if p.requires_grad]
    flat = lambda: torch.cat([p.detach().flatten() for p in trained]).numpy().copy()  # noqa: E731
    seen = [flat()]
    rate = {"adamw": 1e-2, "sgd": 1.0, "preconditioned": 1e-2}[optimizer]
    scale = GradientScale.of(made, TEXTS[::-1], clip_norm=1.0) if optimizer == "preconditioned" else None
    ledger = ReleaseLedger(folder / "ledger", run="test", rounds=rounds) if ranks.first else None
    try:
        module = private(
            plan, made.network, made.losses, ledger.__enter__() if ledger else None, kind,
            optimizer=make_optimizer(made.network, optimizer, rate), scale=scale,
            noise=SecureGaussian(b"n" * 32) if ranks.first else None, on_step=lambda _: seen.append(flat()),
        )  # fmt: skip
        data = Rounds(
            items, made.objective, WeightedPoissonSampler(plan.rates, key=KEY), rounds=rounds, micro_batch=2,
            longest=longest_input(made), records=plan.records, rank=ranks.rank, ranks=ranks.count,
        )  # fmt: skip
        run_rounds(module, data, folder, lambda: False)
        return np.array(seen), ledger.released if ledger else -1
    finally:
        if ledger:
            ledger.__exit__(None, None, None)


def main(folder, *names):
    """One rank of some cases, or of all."""
    ranks = Ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    _join_group(folder / "rendezvous", ranks)
    out = {}
    every = {**CASES, **EMPTY}
    for name in names or every:
        case = every[name]
        out[name], out[f"{name} released"] = train(folder / "bert", folder / f"{ranks.rank}" / name, *case)
    np.savez(folder / f"{ranks.rank}.npz", **out)
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of two gloo ranks saw, all cases in one launch."""
    folder, count = tmp_path_factory.mktemp("both"), 2
    write_model(folder / "bert", "bert")
    env = os.environ | {"WORLD_SIZE": "2", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    env["PYTHONPATH"] = warm.PATHS
    code = f"import runpy, sys; sys.argv = ['', {str(folder)!r}]; runpy.run_path({__file__!r}, run_name='__main__')"

    def rank(k):
        return warm.run("coded", [code], env=env | {"RANK": str(k), "LOCAL_RANK": str(k)}, timeout=600)

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(rank, range(count)))
    assert [one.returncode for one in done] == [0, 0], done
    return SimpleNamespace(bert=folder / "bert", ranks=[np.load(folder / f"{k}.npz") for k in range(count)])


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_two_processes_equal_one_to_the_bit(tmp_path, both, case):
    one, released = train(both.bert, tmp_path / "one", *CASES[case])
    first, second = (rank[case] for rank in both.ranks)
    assert one.shape == first.shape == (len(SIZES) + 1, one.shape[1])
    assert np.abs(np.diff(one, axis=0)).max(axis=1).min() > 1e-3  # every round moved the model
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, one)
    assert released == both.ranks[0][f"{case} released"] == len(SIZES)
    assert both.ranks[1][f"{case} released"] == -1


def test_the_noise_is_added_once_and_counted_once(both):
    """Error rate 1e-6 for each of three rounds; √2 is what two ranks would make of it."""
    for step in np.diff(both.ranks[0]["noise"].astype(float), axis=0) * 4:
        assert has_scale(step, 0.5) and not has_scale(step, 0.5 * 2**0.5)
    for step in np.diff(both.ranks[0]["noise on each rank"].astype(float), axis=0) * 4:
        assert not has_scale(step, 0.5) and has_scale(step, 0.5 * 2**0.5)
    assert both.ranks[0]["noise released"] == 3


POISSON = np.array([0.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.2, 0.1, 0.05, 0.7])


def shares(rounds, ranks):
    """(rounds, n) how often each example was seen by all ranks together. Example i is a sequence of tokens i."""
    sequences = [np.full(2 + i % 4, i) for i in range(len(POISSON))]
    seen = np.zeros((rounds, len(POISSON)), dtype=int)
    for rank in range(ranks):
        share = Rounds(
            sequences, Objective("causal"), WeightedPoissonSampler(POISSON, KEY), rounds=rounds, micro_batch=2,
            longest=4, rank=rank, ranks=ranks,
        )  # fmt: skip
        for k in range(rounds):
            for part in share[k].parts:
                assert part.inputs.shape == (2, 4)
                labels = part.labels[:, 0].numpy()
                np.add.at(seen[k], labels[labels != IGNORED], 1)
    return seen


@pytest.mark.few(1)
@pytest.mark.parametrize("ranks", [2, 3])
def test_shares_of_all_ranks_are_the_poisson_batch_of_one(ranks):
    """That batch is Poisson's (`test_sampler.py`)."""
    seen = shares(200, ranks)
    sampler = WeightedPoissonSampler(POISSON, KEY)
    for k, row in enumerate(seen):
        np.testing.assert_array_equal(np.flatnonzero(row), sampler.draw(k))
    assert seen.max() == 1


def test_strategies_that_shard_the_parameters_are_refused(tmp_path):
    """Lightning itself refuses FSDP without a GPU, in its constructor: here the rule is asked alone."""

    class Sharded(PrivateModule):
        def configure_model(self):
            pass

    model = tiny()
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "devices": 1}
    with warnings.catch_warnings(), ledger_in(tmp_path, 3, released=0) as ledger:
        warnings.simplefilter("ignore")
        module = private(make_plan(RATES, 3), model.network, model.losses, ledger, Sharded)
        items, sampler = model.encode(TEXTS)[0], WeightedPoissonSampler(RATES)
        data = Rounds(items, model.objective, sampler, rounds=3, micro_batch=2, longest=longest_input(model))
        parallel = lightning.Trainer(accelerator="cpu", strategy=ModelParallelStrategy(), **quiet)
        try:
            with pytest.raises(InputError, match=r"ModelParallelStrategy.*adapters"):
                parallel.fit(module, data.loader())
        finally:
            distributed.destroy_process_group()
        module._trainer = trainer(strategy=FSDPStrategy())
        with pytest.raises(InputError, match=r"FSDPStrategy.*adapters"):
            module.on_fit_start()
        with pytest.raises(ValueError, match="requires a GPU"):
            lightning.Trainer(accelerator="cpu", strategy="fsdp", **quiet)


MARK = b"CONFIDENTIAL"
LONG = [MARK + bytes([97 + i % 3]) * (i % 20) for i in range(40)]
ROUNDS = 24


def job(folder, rounds=ROUNDS):
    if not (folder / "model").exists():
        save_model(tiny(seed=5), folder / "model")
    plan = uncertified(np.full(40, 0.1), 0.5, rounds, 4)
    settings = TrainConfig(rounds=rounds, batch=4, learning_rate=1e-2, micro_batch=4, checkpoint_every=5)
    return Job(plan, LONG, folder / "model", settings, None, folder / "work", folder / "out")


def workers():
    return [p for p in psutil.Process().children(recursive=True) if is_worker(p)]


def is_worker(process):
    try:
        return "hush_core.training.worker" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False


def alive(process):
    """A zombie has ended; nobody may collect the orphans here."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ranked(found, rank):
    return next(p for p in found if p.environ()["RANK"] == str(rank))


def at(round, act):
    """A progress callback."""

    def progress(stage, done, total):
        assert (stage, total) == ("train", ROUNDS)
        if done == round:
            act()

    return progress


def nothing_is_left(folder):
    kept = {"checkpoint.pt", "checkpoint.previous.pt", "releases.jsonl", "releases.witness"}
    assert {path.name for path in (folder / "work").iterdir()} <= kept | {"rank-0.log", "rank-1.log"}
    for log in (folder / "work").glob("*.log"):
        assert log.stat().st_mode & 0o077 == 0 and MARK not in log.read_bytes()


@pytest.mark.slow
def test_stopped_in_every_way_it_goes_on_and_leaves_no_process(tmp_path, monkeypatch):
    found = []
    outward = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if addresses[0].family == socket.AF_INET and addresses[0].address != "127.0.0.1"
    ]
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", [*outward, "lo"][0])  # and still only loopback is used

    def look():
        found[:] = workers()
        assert len(found) == 2
        for worker in found:
            assert MARK.decode() not in " ".join([*worker.cmdline(), *worker.environ().values()])
            assert all(c.laddr.ip == "127.0.0.1" for c in worker.net_connections())
        (folder,) = (tmp_path / "work").glob("processes-*")
        assert folder.stat().st_mode & 0o077 == 0
        assert not any(MARK in path.read_bytes() for path in folder.iterdir())
        with pytest.raises(InputError, match="another process"):
            fit_in_processes(1, job(tmp_path))

    def interrupt():
        look()
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(processes, "_GRACE", 0.0)  # for those that fail: a checkpoint takes its time
        fit_in_processes(2, job(tmp_path), at(3, interrupt))  # ends after the round: none is lost
    first = lines(tmp_path / "work")
    assert 3 <= first < ROUNDS and not any(map(alive, found))
    nothing_is_left(tmp_path)

    def kill():
        look()
        ranked(found, 1).kill()

    with pytest.raises(RuntimeError, match="rank 1 was ended by SIGKILL.*start again.*checkpoint"):
        fit_in_processes(2, job(tmp_path), at(first + 3, kill))
    second = lines(tmp_path / "work")
    assert first + 3 <= second < ROUNDS and not any(map(alive, found))
    nothing_is_left(tmp_path)

    def die():
        (tmp_path / "seen").write_text(" ".join(str(worker.pid) for worker in workers()))
        os.kill(os.getpid(), signal.SIGKILL)

    parent = os.fork()  # cheaper than a new interpreter, which would import everything once more
    if parent == 0:
        try:
            fit_in_processes(2, job(tmp_path), at(second + 2, die))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(parent, 0)[1]) == -signal.SIGKILL
    seen = (tmp_path / "seen").read_text().split()
    assert len(seen) == 2
    for pid in seen:
        ended(int(pid))
    assert second + 2 <= lines(tmp_path / "work") < ROUNDS

    rows = []
    fitted = fit_in_processes(2, job(tmp_path), watch=rows.append)
    assert fitted.resumed and fitted.cut == 0
    assert rows and rows == fitted.log[-len(rows) :]  # this attempt's, each once, as it was made
    assert fitted.rounds_released == lines(tmp_path / "work") == ROUNDS
    assert first + 5 <= fitted.rounds_applied == len(fitted.log) < ROUNDS
    assert [row["round"] for row in fitted.log[:first]] == list(range(first))
    nothing_is_left(tmp_path)
    # the same run to one process, which finds nothing left to do
    done = job(tmp_path)
    alone = fit_private(done.plan, done.texts, load_model(done.model_dir), done.settings, done.work_dir)
    assert alone.rounds_applied == fitted.rounds_applied
    models = (alone.model, load_model(done.out_dir))
    for one, other in zip(*(model.network.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_a_refusal_comes_through_and_a_second_signal_kills(tmp_path):
    def stop_hard():
        """A rank that stands still cannot finish its round; the second SIGINT comes while it is waited for.

        Until it is gone: on a busy machine one that comes too early is the same as the first."""
        (worker,) = workers()
        worker.suspend()
        watched = os.pidfd_open(worker.pid)

        def ask_again():
            while not select.select([watched], [], [], 1)[0]:
                os.kill(os.getpid(), signal.SIGINT)
            os.close(watched)

        threading.Thread(target=ask_again, daemon=True).start()
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit_in_processes(1, job(tmp_path), at(2, stop_hard))
    assert not workers() and 2 <= lines(tmp_path / "work") < ROUNDS
    with pytest.raises(InputError, match="belong to another plan") as refused:
        fit_in_processes(1, job(tmp_path, rounds=30))
    assert refused.value.where == str(tmp_path / "work" / "releases.jsonl")
    assert not workers()
    nothing_is_left(tmp_path)


def test_a_log_holds_places_and_no_messages():
    def fails():
        try:
            raise KeyError(MARK)
        except KeyError as error:
            raise ValueError(f"bad text {MARK!r}") from error

    with pytest.raises(ValueError) as caught:
        fails()
    told = report(caught.value)
    assert MARK.decode() not in told
    assert "ValueError" in told and "KeyError" in told and "test_processes.py" in told and "in fails" in told
    assert "No space left" in report(OSError(28, "No space left on device", "file"))
    assert json.dumps(told)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
