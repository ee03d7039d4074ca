"""Promotions told to a real receiver: signed, once in effect whatever is killed, never before the alias moved."""

import base64
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from local_servers import listening
from receiving import KEY
from versions import champion, decided, killed_at

from hush_core.errors import InputError
from tasks.runtime import approvals, webhook
from tasks.runtime.approvals import REJECTED
from tasks.runtime.decisions import decide, finish_decisions
from tasks.runtime.environment import home
from tasks.runtime.versions import DIGEST, find_version


def test_the_signature_is_that_of_the_standard():
    """The example of Standard Webhooks' own libraries."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    said = webhook.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert said == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_promotion_is_told_with_what_a_consumer_needs_and_nothing_else(model, receiver):
    uri = f"models:/{model}/1"
    decided(uri, why="the reason stays in the registry")
    done = webhook.deliver()
    ((path, one, body, _),) = receiver.came
    assert path == "/hook/t0ken" and done == webhook.Delivery((one,), ()) and webhook.messages() == []
    tags = find_version(uri).tags
    told = receiver.taken[one]
    assert told["type"] == "model.promoted" and told["timestamp"] == tags["reviewed_at"]
    assert told["data"] == {
        "model": model, "version": "1", "uri": uri, "certificate_sha256": tags[DIGEST], "approved_by": "ada",
        "decision_sha256": one.removeprefix("decision-"),
    }  # fmt: skip
    assert b"stays in the registry" not in body
    assert webhook.deliver() == webhook.Delivery()
    decide(uri, REJECTED, by="bob", why="no")
    webhook.deliver()
    assert len(receiver.came) == 1, "a rejection is no promotion"


def test_a_sender_killed_between_the_answer_and_its_note_tells_it_again_by_the_same_id(model, receiver):
    decided(f"models:/{model}/1")
    code = "from tasks.runtime.environment import prepare_environment; prepare_environment(); "
    code += "from tasks.runtime.webhook import deliver; print(deliver())"

    def deliver():
        return subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)

    child = deliver()
    receiver.before = lambda: os.kill(child.pid, signal.SIGKILL)  # it has come; the sender will never know
    assert child.wait(600) == -signal.SIGKILL
    (waiting,) = webhook.messages()
    receiver.before = None
    said, errors = deliver().communicate(timeout=600)
    assert waiting.id in said, errors
    first, second = receiver.came
    assert first[1:3] == second[1:3] and list(receiver.taken) == [waiting.id], "once in effect"
    assert webhook.messages() == []


CUTS = [
    ("set_model_version_tag", "before", False), ("set_model_version_tag", "after", False),
    ("set_registered_model_alias", "before", True), ("set_registered_model_alias", "after", True),
]  # fmt: skip


@pytest.mark.parametrize(("call", "when", "happens"), CUTS)
def test_a_decision_that_was_killed_is_finished_or_was_none(model, receiver, call, when, happens):
    """A kill at each request: the alias and the message go together, whoever comes next."""
    uri = f"models:/{model}/1"
    with killed_at(call, when):
        decided(uri)
    assert webhook.deliver().taken == (), "nothing is told before it is certain"
    finish_decisions(model)
    assert (champion(model) is not None) == happens
    assert (len(webhook.deliver().taken) == 1) == happens == (len(receiver.came) == 1)
    if not happens:
        decided(uri)
        webhook.deliver()
    finish_decisions(model)
    assert len(receiver.taken) == len(receiver.came) == 1 and str(champion(model)) == "1"
    assert webhook.deliver() == webhook.Delivery()


def test_a_killed_decision_is_finished_before_the_next_one_of_the_model(model, receiver, monkeypatch):
    """And its message, which a rejection overtook before it was told, is not told."""
    uri = f"models:/{model}/1"
    with monkeypatch.context() as patched:
        patched.setattr(approvals.Promotion, "keep", _once_then_die(approvals.Promotion.keep))
        with pytest.raises(KeyboardInterrupt):
            decided(uri)
    assert str(champion(model)) == "1"
    assert decide(uri, REJECTED, by="bob", why="no") and champion(model) is None
    assert webhook.deliver() == webhook.Delivery() and not receiver.came


def _once_then_die(real):
    asked = []

    def keep(self):
        asked.append(self)
        if len(asked) > 1:
            raise KeyboardInterrupt
        return real(self)

    return keep


def test_a_receiver_that_is_away_is_asked_again_later_and_nobody_else_is_told(model, receiver, caplog):
    decided(f"models:/{model}/1")
    receiver.status, now = 503, time.time()
    for status, wait in ((503, 5), (307, 300), (404, 1800)):
        receiver.status = status
        assert webhook.deliver(lambda now=now: now).waiting
        (message,) = webhook.messages()
        assert message.due == pytest.approx(now + wait)
        seen = len(receiver.came)
        webhook.deliver(lambda now=now, wait=wait: now + wait - 1)
        assert len(receiver.came) == seen, "not before it is due"
        now += wait
    assert {path for path, *_ in receiver.came} == {"/hook/t0ken"}, "a redirection is not followed"
    os.environ["HUSH_WEBHOOK_URL"] = "http://127.0.0.1:9/hook/t0ken"  # of monkeypatch: put back
    webhook.deliver(lambda: now)
    os.environ["HUSH_WEBHOOK_URL"] = receiver.url
    receiver.status = 200
    assert len(webhook.deliver(lambda: now + 86400).taken) == 1 and len(receiver.taken) == 1
    assert "HTTP 503" in caplog.text and "ConnectionError" in caplog.text
    assert "t0ken" not in caplog.text and base64.b64encode(KEY).decode() not in caplog.text


def waiting_message(decision, **changes):
    said = {"model": "m", "version": "1", "certificate_sha256": "c", "by": "ada", "at": "2026-01-01"}
    return webhook.Message(**said, decision=decision, moved=True, **changes).keep()


def test_a_receiver_that_drips_is_not_waited_for_and_the_others_wait_for_the_next_look(receiver, monkeypatch):
    came, over = [], threading.Event()

    def drip(connection):
        came.append(connection.recv(1 << 16))
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not over.wait(0.1):
                connection.sendall(b"a")

    for one in ("a" * 64, "b" * 64):
        waiting_message(one)
    monkeypatch.setattr(webhook, "DEADLINE", 0.5)
    with listening(drip) as port:
        monkeypatch.setenv("HUSH_WEBHOOK_URL", f"http://127.0.0.1:{port}/x")
        done = webhook.deliver()  # comes back, though the receiver goes on for ever
        over.set()
    assert len(done.waiting) == 2 and len(came) == 1
    assert sorted(one.tries for one in webhook.messages()) == [0, 1]


def test_what_a_decision_forgot_while_it_was_sent_stays_forgotten(receiver, monkeypatch):
    waiting_message("d" * 64)

    def fails(_, message, __):
        message.forget()  # as a later decision does
        return "500"

    monkeypatch.setattr(webhook, "_send", fails)
    webhook.deliver()
    assert not list(webhook.messages())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_what_is_for_this_machine_goes_by_no_proxy(receiver, monkeypatch, name):
    proxied = []
    with listening(lambda connection: (proxied.append(1), connection.close())) as port:
        for form in (name, name.lower()):
            monkeypatch.setenv(form, f"http://127.0.0.1:{port}")
        waiting_message("c" * 64)
        assert len(webhook.deliver().taken) == 1 and not proxied and len(receiver.came) == 1


def test_an_error_of_a_library_below_requests_ends_no_review():
    """Such a name is refused before; what else urllib3 may not like is not known."""
    told = webhook.Endpoint("https://a..b/x", KEY)
    assert webhook._send(told, waiting_message("d" * 64), 1) == "LocationParseError"


def test_a_secret_in_the_folder_of_nobody_is_refused_in_one_line(receiver, monkeypatch):
    monkeypatch.setenv("HUSH_WEBHOOK_SECRET", "~nobody-of-that-name/x")
    with pytest.raises(InputError, match="HUSH_WEBHOOK_SECRET"):
        webhook.endpoint()


def test_nobody_is_told_where_nobody_is_named(model, monkeypatch):
    monkeypatch.delenv("HUSH_WEBHOOK_URL", raising=False)
    decided(f"models:/{model}/1")
    assert webhook.messages() == [] and webhook.deliver() == webhook.Delivery()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x", "https://a:b@example.com/", "ftp://example.com", "https://", "x", "http://[::1",
        "https://a..b/", f"https://{'a' * 64}.com/", "https://example.com:99999/", "https://example.com:port/",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_is_refused_before_anything_is_decided(model, receiver, monkeypatch, url):
    uri = f"models:/{model}/1"
    monkeypatch.setenv("HUSH_WEBHOOK_URL", url)
    with pytest.raises(InputError, match="HUSH_WEBHOOK_URL"):
        decided(uri)
    assert champion(model) is None and find_version(uri).tags["validation_status"] == "pending"


@pytest.mark.parametrize(
    "content", [None, "", "whsec_", "whsec_short", "whsec_" + "é" * 40, "whsec_" + "A" * 88]
)
def test_a_secret_that_is_none_is_refused_and_not_shown(receiver, tmp_path, content):
    file = tmp_path / "webhook.secret"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(InputError, match="HUSH_WEBHOOK_SECRET") as caught:
        webhook.endpoint()
    assert not content or len(content) < 8 or content[6:] not in str(caught.value)


def test_a_damaged_note_of_the_last_promotion_is_told_in_one_line(model):
    decided(f"models:/{model}/1")
    file = home().root / "decisions" / f"champion-{home().fingerprint(f'champion {model}')}"
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    with pytest.raises(InputError, match="is damaged"):
        approvals.last_promotion(model)
    file.write_bytes(whole)
