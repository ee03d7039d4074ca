"""What the rules cannot look at in time is neither scanned nor trained on, and the report names it."""

from hush_core.secrets import extract
from hush_core.secrets.detectors import credential_rules, deadline
from hush_core.secrets.detectors.credentials import CredentialScanner
from tests.hush_core.secrets.test_extraction import CREDENTIALS, KEY, job, token


def test_a_content_that_takes_too_long_is_left_out_and_named(make_repo, monkeypatch):
    slow = b"slow = 1\n" * 400

    def slow_rule(content, lines):
        if content == slow:
            while True:  # until the deadline
                deadline.check()
        return iter(())

    CredentialScanner().scan(b"x")  # compiles the rules
    monkeypatch.setattr(credential_rules, "machine_values", slow_rule)
    monkeypatch.setattr(deadline, "SECONDS", 0.5)
    monkeypatch.setattr(deadline, "SECONDS_A_MB", 0.0)
    repo = make_repo()
    repo.write({"slow.py": slow, "key.py": f'"{token()}"'.encode(), "plain.py": b"x = 1\n"})
    repo.commit()
    result = extract(job([repo], [CREDENTIALS]), KEY)
    facts = result.coverage["repositories"]["repo"]
    assert facts["skipped"]["too_slow"] == 1 and ("too_slow", "slow.py") in facts["skipped_files"]
    assert set(result.examples["path"]) == {"key.py", "plain.py"}
