"""What the rules cannot look at in time is neither scanned nor trained on, and the report names it."""

from hush_core.secrets import extract
from hush_core.secrets.detectors import credential_rules, deadline
from hush_core.secrets.detectors.base import TOO_SLOW
from hush_core.secrets.detectors.credentials import CredentialScanner, _Look
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


def test_the_pinned_rules_end_in_time_and_a_slow_text_does_not_take_its_neighbours_along(monkeypatch):
    """They take a minute for this text, also as a part of a batch of versions; what stands beside it is found."""
    monkeypatch.setattr(deadline, "PINNED_SECONDS", 0.05)
    monkeypatch.setattr(deadline, "PINNED_SECONDS_A_MB", 0.0)
    slow = b"-----BEGIN PRIVATE KEY-----" + b"KEY-----" * 60_000
    plain, key = b"x = 1\n" * 300, f'a = "{token()}"\n'.encode()
    look = _Look()
    look.scanner.scan(b"x")  # compiles the rules
    found = list(look.follow([plain, slow, plain + slow, plain + key], [None, None, 0, 0]))
    assert found[1] == [(0, len(slow), TOO_SLOW)] and found[2] == [(0, len(plain + slow), TOO_SLOW)]
    assert [rule for _, _, rule in found[3]] == ["betterleaks.github-pat"] and not found[0]


def test_a_busy_machine_leaves_no_content_out(monkeypatch):
    """The limit of the pinned rules is one of processor time, which a machine with other work gives late."""
    late = iter([TimeoutError, TimeoutError, None])

    def scan(text, timeout=None):
        if error := next(late):
            raise error
        return [text]

    with deadline.limited(1):
        assert deadline.pinned(scan, b"x") == [b"x"]
