"""What a resume needs, written whole or not at all: trained weights, optimiser state, rounds applied.

All of it is a function of noisy releases (post-processing). Keys of noise and sampler are never written.

A checkpoint is one JSON line (rounds applied, what it fits), then the tensors as torch writes them, then the
SHA-256 of both. The newest is `checkpoint.pt`, the one before it `checkpoint.previous.pt`. The digest finds
damage; it does not authenticate: the folder is private to its owner, and torch reads tensors only.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.files import put_in_place

CHECKPOINT = "checkpoint.pt"
_DIGEST = hashlib.sha256().digest_size
_BLOCK = 1 << 20
_DAMAGE = (ValueError, KeyError, TypeError, pickle.UnpicklingError)  # no RuntimeError: torch is out of memory


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    log: list[dict[str, Any]],
    extra: Mapping[str, Tensor] | None = None,
) -> None:
    """Make `path` the newest checkpoint, atomically and durably; the one before becomes the previous one.

    Args:
        path: `checkpoint.pt`; beside it `checkpoint.part` while it is written, and `checkpoint.previous.pt`.
        model: its trainable parameters and persistent buffers are saved. Frozen parameters are not.
        log: JSON values, one row per round applied; `round` is its number (0, 1, …).
        extra: what else a resumed run needs, by name (averages).

    Raises:
        InputError: it could not be written (disk full, quota). Earlier checkpoints are as they were.

    Cost: no copy in memory beyond 1 MiB (on an accelerator, one tensor at a time). On disk up to three
    checkpoints at once; each is the trained weights plus the optimiser's state (AdamW: 12 bytes a parameter).
    """
    part = path.with_suffix(".part")
    extra = extra or {}
    header = json.dumps({"fits": _fits(model, optimizer, extra), "log": log})
    state = {"model": _trained(model), "optimizer": optimizer.state_dict(), "extra": dict(extra)}
    try:
        with _Writer(part) as file:
            file.write(header.encode() + b"\n")
            torch.save(state, file)
            file.finish()
        # Between these two a kill leaves no checkpoint.pt: load_checkpoint then takes the previous one.
        if path.exists():
            put_in_place(path, _previous(path))
        put_in_place(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if not isinstance(error, OSError):
            raise
        raise InputError(
            str(path),
            f"the checkpoint could not be written: {error.strerror}",
            "free space on this disk, or make the folder writable, and start again: "
            + _resumes_from(path, _previous(path)),
        ) from None


def check_room(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    writes: int,
    rounds: int,
    extra: Mapping[str, Tensor] | None = None,
) -> None:
    """Refuse to begin where the next `writes` checkpoints have no room, before a round is spent on them.

    Args:
        rounds: of the whole run; a checkpoint's log has a row for each.

    The space of one checkpoint is taken from the file system, so that quotas and file size limits count too,
    and given back; room for the others is read off. What fills the disk later is met by `save_checkpoint`.

    Raises:
        InputError: no room. Nothing was changed.
    """
    part = path.with_suffix(".part")
    there = path.exists() + _previous(path).exists()
    more = min(3, there + writes) - there
    size = _most_bytes(model, optimizer) + _bytes(extra or {}) + 256 * rounds
    try:
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
            else:
                more += 1
            disk = os.fstatvfs(file)
            if disk.f_bavail * disk.f_frsize < (more - 1) * size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
            part.unlink()
    except OSError as error:
        raise InputError(
            str(path.parent),
            f"has no room for {more} checkpoints of {size / 1e6:.3g} MB, so no round is released: {error.strerror}",
            "free space on this disk, or make the folder writable, and start again: "
            + _resumes_from(path, _previous(path)),
        ) from None


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, extra: Mapping[str, Tensor] | None = None
) -> list[dict[str, Any]]:
    """Put the newest checkpoint's state into model, optimiser and the tensors of `extra`.

    Returns its log ([] without a checkpoint).

    Where `path` is absent, `checkpoint.previous.pt` is the newest. A half-written `checkpoint.part`, left by
    a kill, is removed. Hold the ledger's lock.

    Raises:
        InputError: the checkpoint is damaged, cannot be read or belongs to another model or optimiser. No file,
            model or optimiser was changed.
    """
    path.with_suffix(".part").unlink(missing_ok=True)
    previous = _previous(path)
    newest = path if path.exists() else previous
    if not newest.exists():
        return []
    try:
        with open(newest, "rb") as file:
            header = _verified(file)
            fits = header["fits"] == _fits(model, optimizer, extra or {})
            state = torch.load(file, map_location="cpu", weights_only=True) if fits else None
    except (OSError, *_DAMAGE) as error:
        what = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is damaged"
        hint = f"move it away: {_resumes_from(previous, besides=newest)}"
        raise InputError(str(newest), what, hint) from None
    if state is None:
        raise InputError(
            str(newest),
            "does not fit this model and optimiser",
            "resume with the model and the optimiser that began the run",
        )
    with torch.no_grad():
        for name, tensor in _trained(model).items():
            tensor.copy_(state["model"].pop(name))
        for name, tensor in (extra or {}).items():
            tensor.copy_(state["extra"].pop(name))
    optimizer.load_state_dict(state["optimizer"])
    return header["log"]


def drop_previous(path: Path) -> None:
    """Remove the checkpoint before the newest: once a run's outcome is kept elsewhere it serves nothing."""
    if path.exists():
        _previous(path).unlink(missing_ok=True)


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def _trained(model: nn.Module) -> dict[str, Tensor]:
    """What a round may change, by name: trainable parameters (a tied one once) and persistent buffers."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: b for name, b in model.state_dict().items() if name not in parameters}
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad} | buffers


def _most_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """What a checkpoint may take without its log: AdamW keeps two numbers more for each trained one, SGD none;
    and names, headers and alignment of each tensor."""
    tensors = _trained(model)
    return (1 if isinstance(optimizer, torch.optim.SGD) else 3) * _bytes(tensors) + 4096


def _bytes(tensors: Mapping[str, Tensor]) -> int:
    return sum(t.numel() * t.element_size() + 1024 for t in tensors.values())


@torch.no_grad()
def _fits(model: nn.Module, optimizer: torch.optim.Optimizer, extra: Mapping[str, Tensor]) -> str:
    """Digest of what a checkpoint fits: trained names and shapes, optimiser, and a sample of frozen weights.

    Another base model differs in every weight, so ≤ 256 values a tensor identify it, and cost nothing. A full
    digest would read all of a large model at each checkpoint, for no protection: the releases are private
    whatever base they are added to. In bfloat16, since the base's precision may change between saving and loading.
    """
    digest = hashlib.sha256(type(optimizer).__name__.encode())
    for name, tensor in (_trained(model) | dict(extra)).items():
        digest.update(f"\n{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
    for name, frozen in model.named_parameters():
        if not frozen.requires_grad:
            digest.update(f"\n{name} {tuple(frozen.shape)} ".encode())
            sample = frozen.reshape(-1)[:: max(1, frozen.numel() // 256)][:256]
            digest.update(sample.to("cpu", torch.bfloat16).contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _verified(file: BinaryIO) -> dict[str, Any]:
    """The header, once the digest matched; the file's position is then the first tensor.

    Raises:
        ValueError: the content is not what was written.
    """
    left = os.fstat(file.fileno()).st_size - _DIGEST
    digest = hashlib.sha256()
    while left > 0:
        block = file.read(min(_BLOCK, left))
        digest.update(block)
        left -= len(block) or left
    if file.read() != digest.digest():
        raise ValueError("damaged")
    file.seek(0)
    return json.loads(file.readline())


def _resumes_from(*paths: Path, besides: Path | None = None) -> str:
    """Where training resumes, in words: from the first of these checkpoints that is whole."""
    for path in paths:
        try:
            if path != besides:
                with open(path, "rb") as file:
                    log = _verified(file)["log"]
                return f"training continues from round {log[-1]['round'] + 1 if log else 0} ({path.name})"
        except (OSError, *_DAMAGE):
            continue
    return "training begins again from the first weights, and the rounds already released stay counted"


class _Writer:
    """A new private file that ends in the SHA-256 of all before, on the disk once `finish` returned.

    Torch hides a failed write behind an error of its own: the first error is kept here until `finish`.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._digest, self._small = hashlib.sha256(), bytearray()
        self._error: BaseException | None = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def write(self, data: bytes | memoryview) -> int:
        try:
            if self._error is None:
                if len(self._small) + len(data) > _BLOCK:
                    self.flush()
                if len(data) > _BLOCK:
                    self._put(data)
                else:
                    self._small += data
        except BaseException as error:  # Ctrl-C too
            self._error = error
        return len(data)

    def flush(self) -> None:
        if self._error is None:
            self._put(self._small)
            self._small = bytearray()

    def finish(self) -> None:
        if self._error is not None:
            raise self._error
        self.flush()
        self._put(self._digest.digest())
        os.fsync(self._file)

    def _put(self, data: bytes | bytearray | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            written = os.write(self._file, rest)
            self._digest.update(rest[:written])
            rest = rest[written:]
