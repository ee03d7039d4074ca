"""One process of a data-parallel run: `python -m hush_core.training.worker FOLDER PROGRESS`.

`processes.py` starts it and says in the environment which rank it is. FOLDER holds the job and takes the result;
PROGRESS is the descriptor that the first rank writes to. Standard input is the line to the parent: a byte asks
to stop after this round, its end means that the parent is gone, and ends this process at once.

Standard output and error are a log that people may be shown: no text of an example goes there.
"""

import json
import os
import resource
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed

from hush_core.errors import InputError
from hush_core.training.hosts import INTERFACE, check_interface
from hush_core.training.job import Job
from hush_core.training.models import save_model
from hush_core.training.ranks import Ranks
from hush_core.training.rendezvous import INTERRUPTED, JOINED, REACH, mark_started
from hush_core.training.run import fit_job

_NEVER = timedelta(days=365)
"""How long a collective waits: an evaluation may take hours, and a dead peer closes its connection."""


def main(folder: Path, progress: int) -> int:
    """Train, and leave result.json or failure.RANK.json in the folder; the exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    threading.Thread(target=_follow_parent, daemon=True).start()
    rank = int(os.environ["RANK"])
    try:
        mark_started(folder, rank)
        if rank == 0 and not stat.S_ISFIFO(os.fstat(progress).st_mode):  # it may be the ledger, by its number
            raise RuntimeError("the first rank was not handed its parent's pipe")
        fitted = _train(folder, Ranks(rank, int(os.environ["WORLD_SIZE"])), progress)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:
        with suppress(OSError):  # a full disk: an exception that nobody catches would print its message
            (folder / f"failure.{rank}.json").write_text(json.dumps(_failure(error)))
        with suppress(OSError):
            sys.stderr.write(report(error) + "\n")
        return 1
    if rank == 0:
        (folder / "result.json").write_text(json.dumps(fitted))
    return 0


def _train(folder: Path, ranks: Ranks, progress: int) -> dict[str, object]:
    job, files = Job.read(folder)
    _join_group(folder / "rendezvous", ranks)
    ranks.any(False)  # waits for all
    if ranks.first:  # all have mapped the texts: a kill from here on leaves none of them behind
        os.write(progress, json.dumps(JOINED).encode() + b"\n")
        for file in files:
            file.unlink()

    def on_progress(*step: str | int) -> None:
        os.write(progress, json.dumps(step).encode() + b"\n")

    def on_row(row: Mapping[str, object]) -> None:
        os.write(progress, json.dumps(dict(row)).encode() + b"\n")

    fitted = fit_job(job, on_progress, on_row)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is released: what is left is to save it
    if ranks.first:
        save_model(fitted.model, job.out_dir, base=job.base)
    distributed.destroy_process_group()
    return vars(replace(fitted, model=None, peak_memory=_peak_memory()))


def _join_group(file: Path, ranks: Ranks) -> None:
    """Make the process group, through a file: no port is opened but those of the interface that ranks talk over.

    Raises:
        InputError: the interface is not there, has no address, or does not reach the others.
    """
    interface = os.environ["GLOO_SOCKET_IFNAME"]
    check_interface(interface)
    backend = "gloo"
    if torch.cuda.is_available():
        own, devices = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if own >= devices:
            raise InputError(
                "train.processes",
                f"gives a machine more processes than its {devices} devices",
                "give it fewer",
            )
        torch.cuda.set_device(own)
        backend = "cpu:gloo,cuda:nccl"
    store = distributed.FileStore(str(file), ranks.count)
    try:
        distributed.init_process_group(
            backend, store=store, rank=ranks.rank, world_size=ranks.count, timeout=_NEVER
        )
    except RuntimeError as error:
        what = f"the processes do not reach each other over {interface}"
        raise InputError(INTERFACE, what, REACH) from error


def _peak_memory() -> int:
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(kilobytes) * (1 if sys.platform == "darwin" else 1024)


def _follow_parent() -> None:
    while os.read(0, 1):
        os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGKILL)


def report(error: BaseException | None) -> str:
    """Types and places of an exception and of what led to it. Messages may quote data and are left out, but
    for those of hush itself, of exhausted memory and of the operating system."""
    lines = []
    while error is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            lines.append(f"  {frame.filename}:{frame.lineno} in {frame.name}")
        lines.append(f"{type(error).__name__}{_message(error)}")
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def _failure(error: BaseException) -> dict[str, object]:
    if isinstance(error, InputError):
        return {"input": [error.where, error.what, error.hint]}
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return {"what": f"{type(error).__name__}{_message(error)}{place}"}


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f": {error.strerror}"
    if isinstance(error, InputError | torch.OutOfMemoryError | distributed.DistError):
        return f": {error}"
    return ""


if __name__ == "__main__":
    ended = main(Path(sys.argv[1]), int(sys.argv[2]))
    with suppress(OSError):  # a full disk
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(ended)  # Python's own end takes seconds, and waits for libraries whose peer may be gone
