"""What is not looked at in time, for credentials or for values, is not trained on, and the report names it."""

import time

import polars as pl
import pytest
from extracting import CREDENTIALS, KEY, job, token

from hush_core.corpus import PLACEHOLDER
from hush_core.secrets import extract, fingerprints
from hush_core.secrets.detectors import credential_rules, deadline
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.detectors.credentials import _Look
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.propagation import decoding, value_search
from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch
from hush_core.secrets.propagation.value_versions import VersionSearch
from hush_core.secrets.redaction import RedactedSecret


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


def test_many_matches_on_a_line_do_not_each_read_all_of_it():
    """Each did: 60 kB took 16 s and 200 kB too long, where 200 kB take less than a second."""
    text = (b'"pwd=' * 5 + b"=3D\xc2\xa0http://") * 5_000
    assert TOO_SLOW not in {rule for _, _, rule in _Look()(text)}


def test_a_busy_machine_leaves_no_content_out(monkeypatch):
    """The limit of the pinned rules is one of processor time, which a machine with other work gives late."""
    late = iter([TimeoutError] * 4 + [None])

    def scan(text, timeout=None):
        end = time.thread_time() + deadline.PINNED_SECONDS / 5
        while time.thread_time() < end:  # each time it begins again, and what it took before does not count
            pass
        if error := next(late):
            raise error
        return [text]

    with deadline.limited(1):
        assert deadline.pinned(scan, b"x") == [b"x"]


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize(("pauses", "given_up"), [(1, False), (2, True)])
def test_one_pause_within_a_scan_leaves_no_content_out(pauses, size, given_up):
    """As a rule that is compiled is, or a collection of garbage, which the thread's processor time counts."""
    left = iter([True] * pauses + [False])

    def scan(text, timeout=None):
        end = time.thread_time() + (deadline.PINNED_SECONDS + size / 1e6 if next(left) else 0.0)
        if end > time.thread_time():
            while time.thread_time() < end:
                pass
            raise TimeoutError
        return [text]

    with deadline.limited(size):
        if given_up:
            with pytest.raises(deadline.TooSlow):
                deadline.pinned(scan, b"x" * size)
        else:
            assert deadline.pinned(scan, b"x" * size) == [b"x" * size]


@pytest.fixture
def slow_search(monkeypatch):
    """A search that takes for ever in what holds `SLOW`, or SLOW_REDACTED; the limit is short."""

    def layers(text, **options):
        while SLOW in text or SLOW_REDACTED in text:  # until the deadline
            deadline.check()
        return decoding.layers(text, **options)

    monkeypatch.setattr(value_search, "layers", layers)
    monkeypatch.setattr(fingerprints, "layers", layers)
    monkeypatch.setattr(deadline, "SECONDS", 0.5)
    monkeypatch.setattr(deadline, "SECONDS_A_MB", 0.0)


SLOW = b"slow = 1\n"
SLOW_REDACTED = PLACEHOLDER + b" stands for it"


@pytest.fixture
def name(tmp_path):
    """The entry of a name that is sought."""
    (tmp_path / "words.txt").write_text("project-aurora-seven\n")
    return {"id": "names", "kind": "literals", "file": str(tmp_path / "words.txt"), "bits": 40}


@pytest.mark.parametrize("protect", ["noise", "redact"])
def test_a_content_of_which_the_value_search_is_given_up_is_left_out_and_named(
    make_repo, name, slow_search, protect
):
    repo = make_repo()
    repo.write({"slow.py": SLOW * 400 + b"project-aurora-seven\n", "key.py": b"project-aurora-seven\n"})
    repo.write({"plain.py": b"x = 1\n"})
    repo.commit()
    result = extract(job([repo], [name | {"protect": protect}]), KEY)
    facts = result.coverage["repositories"]["repo"]
    assert facts["skipped"]["too_slow"] == 1 and facts["skipped_files"].count(("too_slow", "slow.py")) == 1
    assert set(result.examples["path"]) == {"key.py", "plain.py"}
    assert set(result.dropped["path"]) == {"slow.py"} and f"names/{TOO_SLOW}" in set(result.dropped["name"])
    held = result.edges if protect == "noise" else result.redactions
    assert len(held) == 1


def test_a_redacted_content_that_is_not_searched_again_in_time_is_left_out_and_named(
    make_repo, name, slow_search
):
    repo = make_repo()
    repo.write({"slow.py": b"project-aurora-seven stands for it\n", "key.py": b"project-aurora-seven\n"})
    repo.commit()
    result = extract(job([repo], [name | {"protect": "redact"}]), KEY)
    facts = result.coverage["repositories"]["repo"]
    assert facts["skipped"]["too_slow"] == 1 and ("too_slow", "slow.py") in facts["skipped_files"]
    assert set(result.examples["path"]) == {"key.py"} and set(result.dropped["path"]) == {"slow.py"}
    assert set(result.dropped["name"]) == {f"names/{TOO_SLOW}"}


def test_an_example_that_is_not_searched_for_fingerprints_in_time_is_named_and_the_others_are_searched(
    slow_search,
):
    value = b"project-aurora-seven"
    secret = RedactedSecret(DetectedSecret(0, "x", None, "l"), value, (SearchTerm(value),))
    table = fingerprints.fingerprints([secret], KEY)
    texts = pl.DataFrame({"example_id": [3, 4, 5], "text": [SLOW, b"x = 1\n", b"see " + value]})
    assert fingerprints.slips(texts, table, KEY).rows() == [(None, 3), (0, 5)]


def test_a_slow_search_does_not_take_its_neighbours_along_and_its_next_version_gets_less_time(
    slow_search, monkeypatch
):
    value, shares = b"project-aurora-seven", []
    limited = deadline.limited
    monkeypatch.setattr(
        deadline, "limited", lambda size, share=1.0: shares.append(share) or limited(size, share)
    )
    plain = b"the first of many lines\n" * 100
    texts = [plain, plain + value, SLOW * 400, SLOW * 400 + plain, plain + SLOW + value]
    found = list(VersionSearch(ValueSearch([SearchTerm(value)])).follow(texts, [None, 0, None, 2, 0]))
    assert [[hit.form for hit in hits] for hits in found] == [[], ["raw"], *[[TOO_SLOW]] * 3]
    assert [hit.end for hits in found[2:] for hit in hits] == [len(text) for text in texts[2:]]
    assert shares.count(deadline.AGAIN) >= 2 and 1.0 in shares
