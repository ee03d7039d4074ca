"""`hush canaries`: the files go into a job as they are, and each value is found as often as it was planted."""

import os
import re

import warm

from hush_core.config import load_config
from hush_core.secrets import extract

CONFIG = """\
version: 1
levels: {{high: 1.0e-3}}
{lines}chunk_bytes: 128
train: {{rounds: 2, batch: 4}}
"""


def made(folder, *options):
    return warm.run("flows.cli", ["canaries", folder, *options], env=dict(os.environ))


def test_canaries_are_found_in_a_job_as_often_as_they_were_planted(tmp_path):
    done = made(tmp_path / "out", "--count", "6", "--repeat", "1", "--repeat", "3", "--seed", "5")
    assert done.returncode == 0, done.stderr
    values = (tmp_path / "out" / "canaries.txt").read_bytes().split()
    assert len(values) == 6 and not any(value.decode() in done.stdout for value in values)
    config = tmp_path / "job.yaml"
    config.write_text(CONFIG.format(lines=done.stdout))
    found = extract(load_config(config), b"k" * 32)
    counts = found.occurrences.group_by("secret_id").len()["len"].sort().to_list()
    assert counts == [1, 1, 1, 3, 3, 3] and found.secrets.height == 6
    assert (found.secrets["bits"] == 33.2).all()  # prior_cap_bits; declared are 16 symbols of 36
    again = made(tmp_path / "more", "--count", "6", "--repeat", "1", "--repeat", "3", "--seed", "5")
    assert (tmp_path / "more" / "canaries.txt").read_bytes().split() == values and again.returncode == 0
    fresh = made(tmp_path / "fresh", "--count", "6")
    assert not set((tmp_path / "fresh" / "canaries.txt").read_bytes().split()) & set(values)
    assert re.search(r"bits: 82\.7", fresh.stdout)
