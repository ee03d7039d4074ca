"""A run that is killed anywhere, or that meets a full disk, goes on; every release stays counted.

The children are forked from one server, which never computes: this file as a program, of the process that has
loaded torch (`warm`).
"""

import hashlib
import inspect
import itertools
import json
import os
import random
import re
import resource
import signal
import sys
import traceback
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
import warm
from private_runs import uncertified
from small_disk import small_disk
from waiting import PATIENCE

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.errors import InputError
from hush_core.training import ReleaseLedger, SecureGaussian, WeightedPoissonSampler, byte_gpt, fit_private

TEXTS = [bytes([97 + i % 3]) * (5 + i % 20) for i in range(40)]
KILLED = -signal.SIGKILL


def fit(folder, rounds, every, progress=None, seed=0):
    plan = uncertified(np.full(40, 0.2), 0.5, rounds, 8)
    settings = TrainConfig(rounds=rounds, batch=8, learning_rate=1e-2, micro_batch=8, checkpoint_every=every)
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32, seed=seed)
    return fit_private(plan, TEXTS, model, settings, folder, progress)


def lines(folder):
    """The ledger's releases; the last one may be cut."""
    path = folder / "releases.jsonl"
    return path.read_bytes().splitlines()[1:] if path.exists() else []


# In the child


def watch(seen):
    """Append each key's hash and each (key, counter) to `seen` before anything is drawn; returns `note`."""
    file, write = os.open(seen, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), os.write

    def note(*words):
        write(file, (" ".join(map(str, words)) + "\n").encode())

    def name(thing):
        (key,) = (v for v in vars(thing).values() if isinstance(v, bytes) and len(v) == 32)
        return hashlib.sha256(key).hexdigest()[:12]

    def init(cls, word):
        made = cls.__init__

        def noted(self, *args, **kwargs):
            made(self, *args, **kwargs)
            note(word, name(self))

        cls.__init__ = noted

    def draws(method):
        signature = inspect.signature(method)

        def noted(self, *args, **kwargs):
            if not depth:
                note("draw", name(self), signature.bind(self, *args, **kwargs).arguments["counter"])
            depth.append(method)
            try:
                return method(self, *args, **kwargs)
            finally:
                depth.pop()

        return noted

    depth = []  # one such method may call another
    init(SecureGaussian, "noise")
    init(WeightedPoissonSampler, "sampler")
    for word, method in list(vars(SecureGaussian).items()):
        # not `_encryptor`: a rounding that 64 digits do not settle asks it for further ones, of the same draw
        if (
            word[0] != "_"
            and inspect.isfunction(method)
            and "counter" in inspect.signature(method).parameters
        ):
            setattr(SecureGaussian, word, draws(method))
    return note


def die_at(nth, inside, note):
    """SIGKILL at the nth call of os.write, fsync or replace: before it, or (inside) half or all done."""
    calls = 0

    def hook(word, real):
        def hooked(first, *args):
            nonlocal calls
            calls += 1
            if calls == nth:
                target = args[0] if word == "replace" else os.readlink(f"/proc/self/fd/{first}")
                note("died", word, Path(target).name)
                if inside:
                    real(
                        first, *(bytes(args[0])[: len(args[0]) // 2] if word == "write" else a for a in args)
                    )
                os.kill(os.getpid(), signal.SIGKILL)
            return real(first, *args)

        setattr(os, word, hooked)

    for word in ("write", "fsync", "replace"):
        hook(word, getattr(os, word))


def train(folder, rounds, every, die=None, limit=None, late=False, kill=None):
    """One attempt; what it returned, or its refusal. `limit`: of a file's size, from the start or (late) from the
    first round on. `kill`: SIGPROF, which nobody takes, after so many rounds and seconds of processor time, so that
    other work on the machine changes nothing."""
    note = watch(folder.with_suffix(".seen"))
    if die:
        die_at(*die, note)
    seen = itertools.count()

    def after_a_round(*_):
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        if kill and next(seen) == kill[0]:
            signal.setitimer(signal.ITIMER_PROF, kill[1])

    limits = (limit or resource.RLIM_INFINITY,) * 2
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    if not late:
        after_a_round()
    try:
        fitted = fit(folder, rounds, every, after_a_round)
    except InputError as error:
        return {"refused": str(error)}
    again = fit(folder, rounds, every, seed=9).model.network
    pairs = zip(fitted.model.network.parameters(), again.parameters(), strict=True)
    return {
        "released": fitted.rounds_released,
        "rounds_applied": fitted.rounds_applied,
        "applied": [row["round"] for row in fitted.log],
        "resumed": fitted.resumed,
        "loads": all(torch.equal(one, other) and bool(one.isfinite().all()) for one, other in pairs),
    }


# The server


def serve():
    torch.set_num_threads(1)
    for request in sys.stdin:
        order = json.loads(request)
        folder, (reading, writing) = Path(order["folder"]), os.pipe()
        child = os.fork()
        if not child:
            os.dup2(2, 1)
            try:
                call = globals()[order.pop("do")]
                os.write(writing, json.dumps(call(**{**order, "folder": folder})).encode())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        os.close(writing)
        with open(reading, "rb") as pipe:
            result = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([status, json.loads(result) if result and status == 0 else None]), flush=True)


@pytest.fixture(scope="module")
def ask():
    """ask("train", folder=…) → (exit status, negative for a signal; what the child returned)."""
    given, here = os.environ | {"PYTHONPATH": warm.PATHS}, Path(__file__).parent
    (orders, asks), (answers, says) = os.pipe(), os.pipe()
    server = warm.start("test_kills", [], cwd=here, env=given, streams=(says, 2, orders))
    os.close(orders), os.close(says)
    with open(answers) as answer, open(asks, "w", buffering=1) as order:

        def one(do, *, folder, **more):
            order.write(json.dumps({"do": do, "folder": str(folder), **more}) + "\n")
            return tuple(json.loads(answer.readline()))

        yield one
    server.wait(PATIENCE)


# What must hold


def notes(folder):
    return [line.split() for line in folder.with_suffix(".seen").read_text().splitlines()]


def check_counts(folder, rounds):
    """After each attempt: whatever was drawn is counted, nothing was drawn twice, no key came back."""
    draws = [(line[1], int(line[2])) for line in notes(folder) if line[0] == "draw"]
    counted = len(lines(folder))
    assert len(set(draws)) == len(draws) <= counted <= rounds
    assert {counter for _, counter in draws} <= set(range(counted))
    for word in ("noise", "sampler"):
        keys = [line[1] for line in notes(folder) if line[0] == word]
        assert len(set(keys)) == len(keys)
    return {counter for _, counter in draws}


def check_end(folder, rounds, every, result):
    """After the last: the count is the plan's, and only what was lost between two checkpoints is missing."""
    drawn, applied = check_counts(folder, rounds), result["applied"]
    assert result["resumed"] and result["loads"]
    assert result["released"] == len(lines(folder)) == rounds
    assert applied == sorted(set(applied)) and len(applied) == result["rounds_applied"]
    assert set(applied) <= drawn <= set(range(rounds))
    attempts = defaultdict(list)
    for number, line in enumerate(lines(folder)):
        row = json.loads(line)
        assert row["release"] == number and set(row) == {"release", "attempt", "link"}
        attempts[row["attempt"]].append(number)
    *killed, last = attempts.values()
    assert list(attempts) == sorted(attempts) and set(last) <= set(applied)
    for releases in killed:
        kept = [number for number in releases if number in applied]
        assert kept == releases[: len(kept)]
        whole = releases[-1] // every * every  # the last checkpoint that was written before the next release
        assert set(range(releases[0], whole)) <= set(kept)
    return rounds - len(applied)


@pytest.mark.slow
def test_killed_at_random_moments(ask, tmp_path):
    rng, folder, rounds, every = random.Random(5), tmp_path / "run", 120, 3
    kills = 0
    for _ in range(12):
        after = rng.randint(0, 4)
        pause = rng.uniform(1e-6, 0.015) if after else rng.uniform(1e-6, 0.6)
        status, result = ask("train", folder=folder, rounds=rounds, every=every, kill=(after, pause))
        kills += status == -signal.SIGPROF
        if folder.with_suffix(".seen").exists():
            check_counts(folder, rounds)
    assert kills >= 6  # all 12, unless a round takes less than a millisecond
    status, result = ask("train", folder=folder, rounds=rounds, every=every)
    assert status == 0
    check_end(folder, rounds, every, result)


@pytest.mark.slow
def test_killed_at_every_write_of_a_round(ask, tmp_path):
    """Before each os.write, fsync and replace, and in the middle of writes: from the opening of the ledger to
    the first count in a new folder, and from there into the next round where there is a checkpoint."""
    folder, rounds, died = tmp_path / "run", 40, []
    previous = ("replace", "checkpoint.previous.pt", False)
    for place, nth in enumerate(
        [*range(1, 9), 22, *range(1, 17), *range(8, 20), *range(8, 20), *range(8, 20)]
    ):
        if (
            place >= 25 and previous in died
        ):  # it needs a checkpoint, which depends on where the kills before hit
            break
        for inside in (False, True):
            status, _ = ask("train", folder=folder, rounds=rounds, every=1, die=(nth, inside))
            assert status == KILLED
            check_counts(folder, rounds)
            (*_, last) = (line for line in notes(folder) if line[0] == "died")
            died.append((*last[1:], inside))
            if last[1] != "write":
                break  # after this call is before the next
    written, named = (
        ("releases.jsonl", "releases.witness", "checkpoint.part"),
        ("checkpoint.previous.pt", "checkpoint.pt"),
    )
    assert set(died) >= {("write", name, inside) for name in written for inside in (False, True)}
    assert set(died) >= {("fsync", name, False) for name in (*written, "run")}
    assert set(died) >= {("replace", name, False) for name in named}
    status, result = ask("train", folder=folder, rounds=rounds, every=1)
    assert status == 0
    assert 0 < check_end(folder, rounds, 1, result) <= len(died)
    assert {entry.name for entry in folder.iterdir()} == {*written[:2], *named}


def test_a_release_is_on_the_disk_before_it_is_drawn_and_a_checkpoint_before_it_is_named(
    tmp_path, monkeypatch
):
    """SIGKILL leaves the page cache alive, a power cut does not: so the order of the calls is checked."""
    calls = []

    def hook(module, word, of):
        real = getattr(module, word)

        def hooked(*args, **kwargs):
            calls.append(of(*args, **kwargs))
            return real(*args, **kwargs)

        monkeypatch.setattr(module, word, hooked)

    for word in ("write", "fsync"):
        hook(os, word, lambda file, *_, w=word: (w, Path(os.readlink(f"/proc/self/fd/{file}")).name))
    hook(os, "replace", lambda _, target: ("replace", Path(target).name))
    hook(SecureGaussian, "stream", lambda *_: ("draw",))
    fit(tmp_path / "run", 3, 2)
    ledger = [(word, f"releases.{file}") for file in ("jsonl", "witness") for word in ("write", "fsync")]
    opened = [*ledger[:2], ("fsync", "releases.witness"), ("fsync", "run")]
    part = [("write", "checkpoint.part"), ("write", "checkpoint.part"), ("fsync", "checkpoint.part")]
    named, folder = ("replace", "checkpoint.pt"), ("fsync", "run")
    first, again = (
        [*part, named, folder],
        [*part, ("replace", "checkpoint.previous.pt"), folder, named, folder],
    )
    a_round = [*ledger, ("draw",)]
    assert calls == [*opened, *a_round, *a_round, *first, *a_round, *again]


@pytest.mark.slow
def test_a_file_limit_stops_a_checkpoint_and_the_one_before_serves(ask, tmp_path):
    folder, rounds, every = tmp_path / "run", 20, 4
    assert ask("train", folder=folder, rounds=rounds, every=every, kill=(9, 1e-6))[0] == -signal.SIGPROF
    held = {entry.name: entry.read_bytes() for entry in folder.glob("*.pt")}
    counted = len(lines(folder))
    applied = len(json.loads(held["checkpoint.pt"].split(b"\n")[0])["log"])
    status, result = ask("train", folder=folder, rounds=rounds, every=every, limit=20_000)
    assert status == 0
    assert re.fullmatch(
        f"{folder}: has no room for [12] checkpoints of [0-9.]+ MB, so no round is released: File too large. Hint: "
        f"free space on this disk, or make the folder writable, and start again: training continues from round "
        rf"{applied} \(checkpoint.pt\)",
        result["refused"],
    )
    assert len(lines(folder)) == counted  # three restarts in a row would have spent all the rounds
    assert {entry.name: entry.read_bytes() for entry in folder.glob("*.p*t")} == held
    check_counts(folder, rounds)
    status, result = ask("train", folder=folder, rounds=rounds, every=every)
    assert result["applied"][:applied] == list(range(applied))
    check_end(folder, rounds, every, result)


def test_a_file_limit_stops_the_count_before_the_release(ask, tmp_path):
    folder, rounds, made = tmp_path / "run", 30, 20  # so many that the notes stay shorter than the ledger
    header = len(json.dumps({"run": "0" * 64, "rounds": rounds})) + 1
    length = sum(len(json.dumps({"release": k, "attempt": 1, "link": "0" * 16})) + 1 for k in range(made))
    for late in (True, False):  # the second finds a cut line that it cannot complete
        limit = header + length + 10
        status, result = ask("train", folder=folder, rounds=rounds, every=100, limit=limit, late=late)
        assert (
            status == 0 and "cannot be written, so no round is released: File too large" in result["refused"]
        )
        assert check_counts(folder, rounds) == set(range(made))
        assert len(lines(folder)) == made + 1 and lines(folder)[-1] == b'{"release"'
    status, result = ask("train", folder=folder, rounds=rounds, every=100)
    assert status == 0 and result["applied"] == list(range(made + 1, rounds))
    check_end(folder, rounds, 100, result)


@pytest.mark.slow
def test_a_full_disk_is_one_clear_error_and_the_run_goes_on_when_there_is_room(tmp_path):
    """A run, and a ledger alone, on a disk of 1 MB that something else fills."""
    with small_disk(tmp_path / "disk", 1024) as disk:
        if disk is None:
            pytest.skip("only root may mount a disk to fill")
        work, path, before = disk.folder / "run", disk.folder / "ledger", {}

        def entries():
            return {entry.name: hashlib.sha256(entry.read_bytes()).hexdigest() for entry in work.iterdir()}

        def refused(progress=None):
            with pytest.raises(InputError) as caught:
                fit(work, 12, 5, progress)
            assert "training continues from round 5 (checkpoint.pt)" in str(caught.value)
            return str(caught.value)

        def filled(stage, done, total):
            if done == 7:
                disk.fill()
            before.update(entries())

        assert "checkpoint could not be written: No space left on device" in refused(filled)
        after = entries()
        assert set(after) == {"checkpoint.pt", "releases.jsonl", "releases.witness"}
        for _ in range(2):
            again = refused()
            assert "has no room for" in again and "no round is released: No space" in again
        assert entries() == after, "not a round was spent on the full disk, nothing was littered"
        assert after["checkpoint.pt"] == before["checkpoint.pt"]
        disk.resize(1024)
        fitted = fit(work, 12, 5)
        assert fitted.rounds_released == 12
        assert [row["round"] for row in fitted.log] == [*range(5), 10, 11]

        no_room = "cannot be written, so no round is released: No space left on device"
        with ReleaseLedger(path, run="r", rounds=10_000) as ledger:
            ledger.count()
            disk.fill()
            with pytest.raises(InputError, match=no_room):
                while True:
                    ledger.count()
        assert path.read_bytes()[-1:] != b"\n", "it was cut"
        with pytest.raises(InputError, match=no_room), ReleaseLedger(path, run="r", rounds=10_000):
            pass
        disk.resize(1024)
        with ReleaseLedger(path, run="r", rounds=10_000) as late:
            assert late.count() == ledger.released + 1 and late.attempt in (2, 3)


if __name__ == "__main__":
    serve()
    os._exit(0)  # torch takes seconds to go
