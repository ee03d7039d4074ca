"""The processes of a data-parallel run: one, unless torch.distributed was initialised before.

Only the first rank holds the keys of the noise and the ledger. It adds the noise to the sum of all ranks and
sends the release to the others, which get nothing that is not public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed


@dataclass(frozen=True)
class Ranks:
    """This process' number and how many there are."""

    rank: int = 0
    count: int = 1

    @staticmethod
    def current() -> Ranks:
        """Those of the process group, or one process without it."""
        if distributed.is_available() and distributed.is_initialized():
            return Ranks(distributed.get_rank(), distributed.get_world_size())
        return Ranks()

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum_to_first(self, total: Tensor) -> None:
        """In place, on the first rank: the sum over all ranks. Elsewhere the content is left undefined."""
        if self.count > 1:
            distributed.reduce(total, dst=0)

    def send_from_first(self, values: Tensor) -> None:
        """In place: the first rank's values, on every rank."""
        if self.count > 1:
            distributed.broadcast(values, src=0)

    def share(self, value: Any) -> Any:
        """The first rank's object, on every rank."""
        if self.count == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, src=0)
        return box[0]

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on at least one rank."""
        if self.count == 1:
            return flag
        seen = torch.tensor([int(flag)])
        distributed.all_reduce(seen, op=distributed.ReduceOp.MAX)
        return bool(seen.item())
