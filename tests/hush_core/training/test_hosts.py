"""A network namespace as a second machine: one model to the bit; and machines that cannot be, or do not come.

A whole job on two machines, stopped and killed: `tests/flows/test_huggingface_job.py`. Needs root and `ip`
(iproute2); skipped visibly otherwise.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from machines import ip, second_machine
from private_runs import tiny, uncertified
from tiny_models import write_model
from torch import distributed
from waiting import until

from hush_core.config import TrainConfig
from hush_core.errors import InputError, SetupError
from hush_core.training import processes, rendezvous, save_model
from hush_core.training.hosts import Hosts, elsewhere
from hush_core.training.job import Job
from hush_core.training.processes import fit_in_processes
from hush_core.training.ranks import Ranks
from hush_core.training.rendezvous import raise_failure
from hush_core.training.worker import _join_group
from tasks.reachable import training_hosts

SCRIPT = Path(__file__).with_name("test_processes.py")
ROUNDS = 12
TEXTS = [b"def step(v): return v + %d" % i for i in range(24)]


@pytest.mark.slow
def test_two_machines_equal_one_to_the_bit(tmp_path):
    """The ranks of `test_processes.both`, with its keys, batches and an empty batch among them."""
    write_model(tmp_path / "bert", "bert")
    support = str(Path(__file__).parents[2] / "support")
    env = os.environ | {"OMP_NUM_THREADS": "1", "LOCAL_RANK": "0"}
    env["PYTHONPATH"] = os.pathsep.join([support, *filter(None, [env.get("PYTHONPATH")])])
    case, runs = "gpt adamw", [(count, rank) for count in (1, 2) for rank in range(count)]
    for count in (1, 2):
        (tmp_path / f"{count}").mkdir()
        (tmp_path / f"{count}" / "bert").symlink_to(tmp_path / "bert")
    with second_machine() as there:
        if there is None:
            pytest.skip("needs root and ip netns")
        env["GLOO_SOCKET_IFNAME"] = there.wire
        started = [
            subprocess.Popen(
                [*there.command * rank, sys.executable, "-P", str(SCRIPT), str(tmp_path / f"{count}"), case],
                env=env | {"RANK": str(rank), "WORLD_SIZE": str(count)},
            )
            for count, rank in runs
        ]
        try:
            assert [one.wait(600) for one in started] == [0, 0, 0]
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
        save_model(tiny(seed=5), folder / "model")
    plan = uncertified(np.full(len(TEXTS), 0.3), 0.5, ROUNDS, 8)
    settings = TrainConfig(rounds=ROUNDS, batch=8, learning_rate=1e-2, micro_batch=4, checkpoint_every=5)
    return Job(plan, TEXTS, folder / "model", settings, None, folder / "work", folder / "out")


def ranks():
    """The workers that run, on whichever machine."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            found += [child] * ("hush_core.training.worker" in child.cmdline())
    return found


WAITS = (sys.executable, "-c", "import time; time.sleep(600)")
FAILS = (sys.executable, "-c", "raise SystemExit(255)")


def test_a_machine_that_never_comes_is_waited_for_so_long_and_no_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(rendezvous, "PATIENCE", 1.0)
    with pytest.raises(
        SetupError, match=r"HUSH_HOSTS: `.*sleep.*` has not started rank 1 within 1 s.* by hand"
    ):
        fit_in_processes(2, job(tmp_path), hosts=Hosts(((), WAITS), "lo"))
    assert not ranks() and not list((tmp_path / "work").glob("processes-*"))
    monkeypatch.setattr(rendezvous, "PATIENCE", 1e9)
    threading.Thread(target=lambda: until(ranks, "a rank") and os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        fit_in_processes(2, job(tmp_path), hosts=Hosts(((), WAITS), "lo"))
    with pytest.raises(SetupError, match=r"HUSH_HOSTS: `.*` ended with status 255 before rank 1 had started"):
        fit_in_processes(2, job(tmp_path), hosts=Hosts(((), FAILS), "lo"))
    assert not ranks() and not (tmp_path / "work" / "releases.jsonl").exists()


def test_an_interrupt_amid_the_start_of_a_rank_leaves_none(tmp_path, monkeypatch):
    start = processes._start

    def interrupted(*arguments):
        child = start(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return child

    monkeypatch.setattr(processes, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_in_processes(1, job(tmp_path))
    assert not ranks()


def test_an_interface_that_reaches_nobody_is_named(tmp_path, monkeypatch):
    """One that is not there, and a wire that nobody has given an address."""
    wire = f"w{os.getpid()}"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", wire)
    with pytest.raises(InputError, match=f"HUSH_INTERFACE: {wire} is no interface of"):
        _join_group(tmp_path / "rendezvous", Ranks())
    if (
        os.getuid()
        or ip("link", "add", wire, "type", "veth", "peer", "name", f"{wire}p", check=False).returncode
    ):
        pytest.skip("needs root and ip")
    try:
        with pytest.raises(
            InputError, match=f"HUSH_INTERFACE: the processes do not reach each other over {wire}"
        ):
            _join_group(tmp_path / "rendezvous", Ranks())
    finally:
        ip("link", "del", wire)
    assert not distributed.is_initialized()


def test_ranks_that_have_begun_and_do_not_meet_are_told_by_the_interface(tmp_path, monkeypatch):
    monkeypatch.setattr(rendezvous, "PATIENCE", 0.0)
    two = rendezvous.Rendezvous(tmp_path, 2, Hosts.parse("here; ssh a", "wg0"))
    for rank, said in (
        (0, "HUSH_HOSTS: `ssh a` has not started"),
        (1, "HUSH_INTERFACE: all ranks .* over wg0"),
    ):
        rendezvous.mark_started(tmp_path, rank)
        with pytest.raises(SetupError, match=said):
            two.check()
    two.over = True
    two.check()


def test_a_rank_that_was_killed_is_told_before_others_that_could_not_meet(tmp_path):
    unmet = {"input": ["HUSH_INTERFACE", "the processes do not reach each other over wg0", "see to it"]}
    (tmp_path / "failure.0.json").write_text(json.dumps(unmet))
    two = rendezvous.Rendezvous(tmp_path, 2, Hosts.parse("here; ssh a", "wg0"))
    with pytest.raises(rendezvous.RankFailed, match="rank 1 was ended by SIGKILL"):
        raise_failure([1, -9], tmp_path, tmp_path, two)
    with pytest.raises(InputError, match="do not reach each other over wg0"):
        raise_failure([1, None], tmp_path, tmp_path, two)


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


def test_what_this_machine_has_not_is_told_before_anything_begins(monkeypatch):
    monkeypatch.setenv("HUSH_HOSTS", "here; ssh-of-nobody gpu2")
    monkeypatch.setenv("HUSH_INTERFACE", "no-wire")
    with pytest.raises(InputError, match=r"HUSH_INTERFACE: no-wire is no interface of \S+, which has .*lo"):
        training_hosts(2)
    monkeypatch.setenv("HUSH_INTERFACE", "lo")
    with pytest.raises(InputError, match="HUSH_HOSTS: ssh-of-nobody is no program of this machine"):
        training_hosts(2)


def test_what_a_shell_would_read_otherwise_is_refused():
    there = elsewhere(("ssh", "a"), {"RANK": "1"}, ["python", "-m", "x"])
    assert there[2:] == ["env", "RANK=1", "python", "-m", "x"]
    with pytest.raises(InputError, match="spaces or characters of a shell"):
        elsewhere(("ssh", "a"), {}, ["python", "/srv/my $HOME/x"])


@pytest.mark.slow
def test_a_first_rank_without_its_parents_pipe_releases_nothing(tmp_path):
    """As ssh begins it, with no descriptors but the first three: the pipe's number may be the ledger's there."""
    close = "import os, sys; os.closerange(3, 4096); os.execvp(sys.argv[1], sys.argv[1:])"
    alone = (sys.executable, "-c", close)
    with pytest.raises(RuntimeError, match="rank 0 failed"):
        fit_in_processes(1, job(tmp_path), hosts=Hosts((alone,), "lo"))
    assert not (tmp_path / "work" / "releases.jsonl").exists()
