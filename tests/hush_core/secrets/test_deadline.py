"""What the rules cannot look at in time is neither scanned nor trained on, and the report names it."""

import time

from hush_core.secrets.detectors import credential_rules, deadline
from tests.hush_core.secrets.test_extraction import extracted


def test_a_content_that_takes_too_long_is_left_out_and_named(make_repo, monkeypatch):
    slow = b"slow = 1\n" * 400

    def slow_rule(content, lines):
        if content == slow:
            while True:  # until the deadline
                deadline.check()
        return iter(())

    monkeypatch.setattr(credential_rules, "machine_values", slow_rule)
    monkeypatch.setattr(deadline, "SECONDS", 0.05)
    monkeypatch.setattr(deadline, "SECONDS_A_MB", 0.0)
    repo = make_repo({"slow.py": slow, "fine.py": b'password = "hunter2xyz"\n', "plain.py": b"x = 1\n"})
    result = extracted(repo)
    facts = result.coverage["repositories"][repo.name]
    assert facts["skipped"]["too_slow"] == 1 and ("too_slow", "slow.py") in facts["skipped_files"]
    assert "slow.py" not in set(result.examples["path"]) and "plain.py" in set(result.examples["path"])


def test_outside_a_scan_nothing_is_limited():
    began = time.thread_time()
    deadline.check()
    assert time.thread_time() >= began
