"""On which machines a training's processes are started: HUSH_HOSTS and HUSH_INTERFACE (docs/running.md)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush_core.training.hosts import Hosts

HOSTS, INTERFACE = "HUSH_HOSTS", "HUSH_INTERFACE"


def training_hosts(processes: int | None = None) -> Hosts | None:
    """The machines; None for this one alone. `processes`: how many the job has, where that is known. Raises
    InputError: one of the two is nothing that can be, or names what this machine has not; there are fewer processes
    than machines."""
    if not os.environ.get(HOSTS):
        return None
    from hush_core.training.hosts import Hosts  # torch comes with it

    hosts = Hosts.parse(os.environ[HOSTS], os.environ.get(INTERFACE, ""))
    hosts.check_here()
    if processes is not None:
        hosts.check(processes)
    return hosts
