"""A checkpoint is whole or refused; the one before it is there when it is needed; a refusal changes nothing."""

import copy
import hashlib
import io
import os
import pickle
import random
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

from hush_core.errors import InputError
from hush_core.training.checkpoint import load_checkpoint, save_checkpoint


def tiny(seed=0, width=8, heads=2):
    torch.manual_seed(seed)
    return GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=width, n_layer=1, n_head=heads))


def adapted(seed=0):
    base = tiny(seed)
    torch.manual_seed(1)  # the adapters are the same on every base
    return get_peft_model(base, LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))


def adamw(model):
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)


def step(model, optimizer, seed):
    """One step on gradients that depend on nothing but the seed."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


def log(rounds):
    return [{"round": k, "learning_rate": 0.1} for k in range(rounds)]


def trained(path, make=tiny, saves=(3,)):
    """A model after max(saves) steps, with a checkpoint at each of `saves`."""
    model = make()
    optimizer = adamw(model)
    for k in range(max(saves)):
        step(model, optimizer, seed=k)
        if k + 1 in saves:
            save_checkpoint(path, model, optimizer, log(k + 1))
    return model, optimizer


def loaded(path):
    """(log, model) as a fresh model gets them from the newest checkpoint."""
    model = tiny(seed=9)
    return load_checkpoint(path, model, adamw(model)), model


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def contents(folder):
    return {entry.name: entry.read_bytes() if entry.is_file() else None for entry in folder.iterdir()}


def refused(path, match, make=tiny, make_optimizer=adamw):
    """It is refused, names the file and the hint; files, model and optimiser stay as they were."""
    model = make()
    optimizer = make_optimizer(model)
    before, files = copy.deepcopy(model), contents(path.parent)
    with pytest.raises(InputError, match=match) as caught:
        load_checkpoint(path, model, optimizer)
    assert same(model, before) and not optimizer.state_dict()["state"]
    assert contents(path.parent) == files
    assert (
        caught.value.where in map(str, (path, path.with_name("checkpoint.previous.pt"))) and caught.value.hint
    )
    return caught.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize("make", [tiny, adapted])
@pytest.mark.parametrize(
    "kind", [adamw, lambda m: torch.optim.SGD(adamw(m).param_groups[0]["params"], lr=0.1)]
)
def test_training_goes_on_as_if_it_had_never_stopped(path, make, kind):
    model = make()
    optimizer = kind(model)
    step(model, optimizer, seed=0)
    rows = [{"round": 0, "learning_rate": 0.1 + 0.2, "public_loss": float("inf")}]
    save_checkpoint(path, model, optimizer, rows)
    other = make()
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.requires_grad:
                parameter.zero_()
    resumed = kind(other)
    assert load_checkpoint(path, other, resumed) == rows
    assert same(model, other)
    for seed in (1, 2):
        step(model, optimizer, seed)
        step(other, resumed, seed)
    assert same(model, other)
    assert path.stat().st_mode & 0o077 == 0


def test_buffers_come_back_and_frozen_weights_are_not_stored(path):
    model = torch.nn.Sequential(torch.nn.Linear(1000, 100), torch.nn.BatchNorm1d(100))
    model[0].requires_grad_(False)
    model[1].running_mean.fill_(3)
    save_checkpoint(path, model, adamw(model), [])
    model[1].running_mean.zero_()
    load_checkpoint(path, model, adamw(model))
    assert model[1].running_mean.eq(3).all()
    assert path.stat().st_size < 10_000  # 100,000 frozen weights of four bytes


def test_a_flipped_byte_anywhere_a_cut_and_a_longer_file_are_refused(path):
    trained(path)
    data, rng = path.read_bytes(), random.Random(3)
    size = len(data)

    def flipped(place):
        return data[:place] + bytes([data[place] ^ rng.randrange(1, 256)]) + data[place + 1 :]

    ends = [0, 1, 40, size - 33, size - 32, size - 1]
    cuts = [0, 1, 31, 32, 33, size - 1, *(rng.randrange(size) for _ in range(10))]
    damaged = [flipped(place) for place in ends + [rng.randrange(size) for _ in range(60)]]
    damaged += [data[:cut] for cut in cuts]
    for wrong in (*damaged, data + b"\0", data + data, hashlib.sha256(b"").digest()):
        path.write_bytes(wrong)
        refused(path, "is damaged")
    path.write_bytes(data)
    assert loaded(path)[0] == log(3)


class Runs:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_pickle_that_would_run_code_does_not_run(path, tmp_path_factory):
    mark = tmp_path_factory.mktemp("code") / "ran"
    trained(path)
    header, archive = path.read_bytes().split(b"\n")[0] + b"\n", io.BytesIO()
    torch.save(Runs(mark), archive)
    plain = pickle.dumps(Runs(mark), protocol=2)
    for payload in (plain, archive.getvalue()):
        for data in (payload, header + payload):
            for digest in (b"", hashlib.sha256(data).digest()):  # the second is what a forger would append
                path.write_bytes(data + digest)
                refused(path, "is damaged")
    assert not mark.exists()
    pickle.loads(plain)
    assert mark.exists()  # so the payload does run code where it is let


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: tiny(width=16), adamw),
        (adapted, adamw),
        (tiny, lambda m: torch.optim.SGD(m.parameters(), lr=0.1)),
        (lambda: torch.nn.Linear(2, 2), adamw),
    ],
)
def test_a_checkpoint_of_another_model_or_optimiser_is_refused(path, make, kind):
    trained(path)
    refused(path, "does not fit", make=make, make_optimizer=kind)


def test_adapters_on_another_base_are_refused_and_on_a_cast_one_are_not(path):
    model, _ = trained(path, make=adapted)
    refused(path, "does not fit", make=lambda: adapted(seed=5))
    other = adapted()
    for parameter in other.parameters():
        if not parameter.requires_grad:
            parameter.data = parameter.data.bfloat16()
    assert len(load_checkpoint(path, other, adamw(other))) == 3
    name = "base_model.model.transformer.h.0.attn.c_attn.lora_B.default.weight"
    assert torch.equal(other.get_parameter(name), model.get_parameter(name))


def test_the_one_before_it_is_kept_and_the_mend_is_real(path):
    trained(path, saves=(3, 6, 9))
    previous = path.with_name("checkpoint.previous.pt")
    assert set(contents(path.parent)) == {path.name, previous.name}
    path.write_bytes(b"x" * 5000)
    error = refused(path, "is damaged")
    hint = "move it away: training continues from round 6 (checkpoint.previous.pt)"
    assert (error.where, error.hint) == (str(path), hint)
    path.rename(path.with_name("away"))
    model = tiny()
    optimizer = adamw(model)
    assert load_checkpoint(path, model, optimizer) == log(6)
    truth, _ = trained(path.with_name("other.pt"), saves=(6,))
    assert same(model, truth)
    before = previous.read_bytes()
    save_checkpoint(path, model, optimizer, log(7))  # the previous one stays until there are two again
    assert previous.read_bytes() == before


def test_with_both_damaged_it_begins_again_only_when_both_were_moved(path):
    trained(path, saves=(1, 2))
    previous = path.with_name("checkpoint.previous.pt")
    for file in (path, previous):
        file.write_bytes(file.read_bytes()[:-1])
    again = "move it away: training begins again from the first weights, and the rounds already released stay"
    for file in (path, previous):
        error = refused(path, "is damaged")
        assert error.where == str(file) and again in error.hint
        file.rename(file.with_name(f"away.{file.name}"))
    assert loaded(path)[0] == []


def test_killed_while_writing_or_between_the_two_renames(path):
    trained(path, saves=(4, 5))
    part = path.with_suffix(".part")
    part.write_bytes(path.read_bytes()[:100])
    assert loaded(path)[0] == log(5)
    assert not part.exists()
    os.replace(path, path.with_name("checkpoint.previous.pt"))
    part.write_bytes(b"whole or not, it was never in place")
    assert loaded(path)[0] == log(5)
    assert not part.exists()


@pytest.mark.parametrize("width", [8, 256])  # 40 kB, written at the end; 10 MB, written inside torch.save
def test_a_full_disk_is_one_clear_error_and_harms_nothing(path, width):
    """/dev/full is a real device: each write to it fails with ENOSPC."""
    model, optimizer = trained(path, make=lambda: tiny(width=width), saves=(3, 6))
    files = contents(path.parent)
    path.with_suffix(".part").symlink_to("/dev/full")
    with pytest.raises(InputError) as caught:
        save_checkpoint(path, model, optimizer, log(9))
    assert str(caught.value) == (
        f"{path}: the checkpoint could not be written: No space left on device. Hint: free space on this disk, "
        "or make the folder writable, and start again: training continues from round 6 (checkpoint.pt)"
    )
    assert contents(path.parent) == files
    save_checkpoint(path, model, optimizer, log(9))
    assert load_checkpoint(path, model, optimizer) == log(9)


def test_a_full_disk_before_the_first_checkpoint(path):
    model = tiny()
    path.with_suffix(".part").symlink_to("/dev/full")
    said = "begins again from the first weights, and the rounds already released"
    with pytest.raises(InputError, match=said):
        save_checkpoint(path, model, adamw(model), [])
    assert contents(path.parent) == {}


def test_a_folder_that_is_gone_is_a_clear_error(path):
    model = tiny()
    with pytest.raises(InputError, match="could not be written: No such file"):
        save_checkpoint(path.parent / "gone" / path.name, model, adamw(model), [])


@pytest.mark.parametrize("width", [8, 256])
def test_ctrl_c_inside_the_write_stays_ctrl_c(path, monkeypatch, width):
    model, optimizer = trained(path, make=lambda: tiny(width=width))
    files, write = contents(path.parent), os.write

    def interrupted(descriptor, data):
        write(descriptor, bytes(data[:10]))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(path, model, optimizer, log(9))
    monkeypatch.undo()
    assert contents(path.parent) == files


def test_short_writes_are_completed(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:1000])))
    model, _ = trained(path)
    monkeypatch.undo()
    rows, other = loaded(path)
    assert rows == log(3) and same(model, other)
