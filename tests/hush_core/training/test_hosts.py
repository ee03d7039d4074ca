"""Two network namespaces as two machines: one model to the bit, and no release uncounted when a rank dies.

Needs root and `ip` (iproute2); skipped visibly otherwise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import psutil
import pytest
from tiny_models import write_model

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.training import byte_gpt, load_model, save_model
from hush_core.training.hosts import Hosts, elsewhere
from hush_core.training.processes import fit_in_processes

SCRIPT = Path(__file__).with_name("test_processes.py")
ROUNDS = 12
TEXTS = [b"def step(v): return v + %d" % i for i in range(24)]


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def machines():
    """Two namespaces, joined by a wire that each calls `wire`; the loopback interfaces are down."""
    names = [f"hush{os.getpid()}{side}" for side in "ab"]
    ends = [f"h{os.getpid()}{side}"[-15:] for side in "ab"]
    if shutil.which("ip") is None or os.getuid() or ip("netns", "add", names[0], check=False).returncode:
        pytest.skip("needs root and ip netns")
    try:
        ip("netns", "add", names[1])
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for place, (name, end) in enumerate(zip(names, ends, strict=True), 1):
            ip("link", "set", end, "netns", name, "name", "wire")
            ip("-n", name, "address", "add", f"10.231.7.{place}/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            ip("netns", "del", name, check=False)


@pytest.fixture
def hosts(machines):
    return Hosts(
        tuple(map(tuple, machines)), "wire"
    )  # `ip netns exec` hands the pipe for progress on, ssh does not


def test_two_machines_equal_one_to_the_bit(tmp_path, machines):
    """The ranks of `test_processes.both`, with its keys, batches and an empty batch among them."""
    write_model(tmp_path / "bert", "bert")
    support = str(Path(__file__).parents[2] / "support")
    env = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "wire"}
    env["PYTHONPATH"] = os.pathsep.join([support, *filter(None, [env.get("PYTHONPATH")])])
    case, runs = "gpt adamw", [(count, rank) for count in (1, 2) for rank in range(count)]
    for count in (1, 2):
        (tmp_path / f"{count}").mkdir()
        (tmp_path / f"{count}" / "bert").symlink_to(tmp_path / "bert")
    started = [
        subprocess.Popen(
            [*machines[rank], sys.executable, "-P", str(SCRIPT), str(tmp_path / f"{count}"), case],
            env=env | {"RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": str(count)},
        )
        for count, rank in runs
    ]
    try:
        assert [one.wait(400) for one in started] == [0, 0, 0]
    finally:
        for one in started:
            one.kill()
    one, first, second = (np.load(tmp_path / f"{count}" / f"{rank}.npz") for count, rank in runs)
    assert np.abs(np.diff(one[case], axis=0)).max(axis=1).min() > 1e-3  # every round moved the model
    np.testing.assert_array_equal(first[case], one[case])
    np.testing.assert_array_equal(second[case], one[case])
    released = f"{case} released"
    assert first[released] == one[released] == len(one[case]) - 1 and second[released] == -1


def job(folder):
    if not (folder / "model").exists():
        save_model(byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32, seed=5), folder / "model")
    plan = ProtectionPlan(np.full(len(TEXTS), 0.3), 0.5, ROUNDS, 8, 1.0, "best", pl.DataFrame())
    settings = TrainConfig(rounds=ROUNDS, batch=8, learning_rate=1e-2, micro_batch=4, checkpoint_every=5)
    return plan, TEXTS, folder / "model", settings, None, folder / "work", folder / "out"


def counted(folder):
    return len((folder / "work" / "releases.jsonl").read_bytes().splitlines()) - 1


def ranks():
    """By rank: the worker, on whichever machine."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        if "hush_core.training.worker" in process.cmdline():
            found[process.environ()["RANK"]] = process
    return found


def spaces(process):
    return os.readlink(f"/proc/{process.pid}/ns/net")


def test_a_rank_that_is_killed_ends_the_run_and_every_release_stays_counted(tmp_path, hosts):
    seen = SimpleNamespace(done=0, ranks={})

    def kill(stage, done, total):
        seen.done = done
        if done == 4:
            seen.ranks = ranks()
            assert len({spaces(rank) for rank in seen.ranks.values()} | {spaces(psutil.Process())}) == 3
            seen.ranks["1"].kill()

    with pytest.raises(RuntimeError, match="rank 1 was ended by SIGKILL"):
        fit_in_processes(2, *job(tmp_path), kill, hosts=hosts)
    assert not any(
        rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE for rank in seen.ranks.values()
    )
    first = counted(tmp_path)
    assert 4 <= seen.done <= first < ROUNDS

    fitted = fit_in_processes(2, *job(tmp_path), hosts=hosts)
    assert fitted.resumed and fitted.rounds_released == counted(tmp_path) == ROUNDS
    assert fitted.rounds_applied < ROUNDS, "the rounds after the checkpoint are lost, and counted"
    load_model(tmp_path / "out")


def test_where_the_ranks_are():
    three = Hosts.parse("here; ssh a; ssh b", "wg0")
    assert [three.of(rank, 5) for rank in range(5)] == [
        ((), 0), ((), 1), (("ssh", "a"), 0), (("ssh", "a"), 1), (("ssh", "b"), 0),
    ]  # fmt: skip
    assert three.most_on_one(5) == 2 and Hosts.parse("", "") == Hosts()
    with pytest.raises(InputError, match="train.processes: are 2, and HUSH_HOSTS names 3"):
        three.check(2)


@pytest.mark.parametrize(
    ("hosts", "interface", "said"),
    [
        ("here; ssh a", "", "HUSH_INTERFACE: is not set: .* not noised"),
        ("here;; ssh a", "wg0", "HUSH_HOSTS: has an entry without a command"),
        ("ssh 'a", "wg0", "HUSH_HOSTS: has an entry without a command"),
        ("ssh a", "wg0", "HUSH_HOSTS: has to begin with this machine"),
        ("ssh a; here", "wg0", "HUSH_HOSTS: has to begin with this machine"),
        (
            "here; ssh a; ssh a",
            "wg0",
            "HUSH_HOSTS: has to begin with this machine, and to name each machine once",
        ),
    ],
)
def test_hosts_that_cannot_be_are_refused(hosts, interface, said):
    with pytest.raises(InputError, match=said):
        Hosts.parse(hosts, interface)


def test_what_a_shell_would_read_otherwise_is_refused():
    assert elsewhere(("ssh", "a"), {"RANK": "1"}, ["python", "-m", "x"])[2:] == [
        "env",
        "RANK=1",
        "python",
        "-m",
        "x",
    ]
    with pytest.raises(InputError, match="spaces or characters of a shell"):
        elsewhere(("ssh", "a"), {}, ["python", "/srv/my $HOME/x"])


def test_a_first_rank_without_its_parents_pipe_releases_nothing(tmp_path):
    """As ssh begins it, with no descriptors but the first three: the pipe's number may be the ledger's there."""
    close = "import os, sys; os.closerange(3, 4096); os.execvp(sys.argv[1], sys.argv[1:])"
    alone = (sys.executable, "-c", close)
    with pytest.raises(RuntimeError, match="rank 0 failed"):
        fit_in_processes(1, *job(tmp_path), hosts=Hosts((alone,), "lo"))
    assert not (tmp_path / "work" / "releases.jsonl").exists()
