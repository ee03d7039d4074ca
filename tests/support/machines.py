"""Network namespaces as machines that share this one's disk: needs root and `ip` (iproute2)."""

import os
import shutil
import subprocess
from contextlib import contextmanager


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True, timeout=600)


class SecondMachine:
    """A namespace with a wire to this machine, which both call alike; the loopback interface there is down."""

    def __init__(self, name, wire):
        self.name, self.wire = name, wire
        self.command = ("ip", "netns", "exec", name)

    @property
    def environment(self):
        """What a user sets to train here and there."""
        return {"HUSH_HOSTS": f"here; {' '.join(self.command)}", "HUSH_INTERFACE": self.wire}

    def processes(self):
        """The ids of those that run there."""
        return [int(number) for number in ip("netns", "pids", self.name).stdout.split()]


@contextmanager
def second_machine():
    """The machine, or None where this process may make none."""
    number = os.getpid() & 0xFFFF
    name, wire, side = (
        f"hush{number}second",
        f"hush{number}",
        f"10.{128 + (number >> 10)}.{number >> 2 & 255}",
    )
    if shutil.which("ip") is None or os.getuid() or ip("netns", "add", name, check=False).returncode:
        yield None
        return
    try:
        ip("link", "add", wire, "type", "veth", "peer", "name", f"{wire}p")
        ip("link", "set", f"{wire}p", "netns", name, "name", wire)
        first = number % 4 * 64
        for place, last in (((), first + 1), (("-n", name), first + 2)):
            ip(*place, "address", "add", f"{side}.{last}/26", "dev", wire)
            ip(*place, "link", "set", wire, "up")
        yield SecondMachine(name, wire)
    finally:
        ip("netns", "del", name, check=False)
        ip("link", "del", wire, check=False)
