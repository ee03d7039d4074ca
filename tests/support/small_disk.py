"""A disk of a test's own, small enough to be filled: tmpfs, which only root may mount."""

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress


class SmallDisk:
    """A file system in memory at a folder, whose size can be changed while it is used."""

    def __init__(self, folder, kib):
        self.folder = folder
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=700", "tmpfs", folder],
            check=True, capture_output=True, timeout=600,
        )  # fmt: skip

    def resize(self, kib):
        command = ["mount", "-o", f"remount,size={kib}k", self.folder]
        subprocess.run(command, check=True, capture_output=True, timeout=600)

    def fill(self):
        """Leave nothing free; it cannot shrink below what is used, which others may just add to."""
        for spare in (0, 16, 64, 256, 1024):
            with suppress(subprocess.CalledProcessError):
                self.resize((shutil.disk_usage(self.folder).used >> 10) + spare)
                return
        raise AssertionError("the disk grows faster than it can be filled")


@contextmanager
def small_disk(folder, kib):
    """The disk, or None where this process may mount none (it is no root, or in a container without the right)."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        disk = SmallDisk(folder, kib)
    except (subprocess.CalledProcessError, OSError):
        yield None
        return
    try:
        yield disk
    finally:
        os.sync()
        # lazily: a server that is about to end may still have its log open there
        subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True, timeout=600)


def hush_on_a_full_disk(job, disk, *arguments, from_line):
    """Run a command whose disk is full from the moment that it prints a line with `from_line`; then make room.

    Returns:
        Output, exit status, and the files that it left under HUSH_HOME, with their sizes.
    """
    child, output, full = job.start(*arguments), "", False
    for line in child.stdout:
        output += line
        if from_line in line and not full:
            os.kill(child.pid, signal.SIGSTOP)  # it does nothing more while there is room
            disk.fill()
            os.kill(child.pid, signal.SIGCONT)
            full = True
    status = child.wait(timeout=600)
    left = {p.relative_to(job.home): p.stat().st_size for p in job.home.rglob("*") if p.is_file()}
    disk.resize(1 << 20)
    return output, status, left
