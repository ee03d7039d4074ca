"""A signed message of each promotion to an address of yours, in the form of Standard Webhooks.

    webhook-id: decision-…           the digest of the decision: the same at every try, to take a message once by
    webhook-timestamp: 1767225600    when this try was made
    webhook-signature: v1,…          HMAC-SHA256 over `id.timestamp.body`, base64

A message is a file of HUSH_HOME/outbox from before the alias moves until a receiver has taken it: kills and
receivers that are away delay it, and lose nothing. It may arrive twice, if a kill came between the answer and the
note of it; both have one id. The address is `HUSH_WEBHOOK_URL`; the secret is in the file that
`HUSH_WEBHOOK_SECRET` names, else in `keys/webhook.secret`. Neither is ever a parameter of a run.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import requests
from pydantic import BaseModel, ConfigDict, ValidationError

from hush_core.errors import InputError
from hush_core.files import private_folder, write_whole
from tasks.ownership import one_at_a_time
from tasks.runtime.deadline import within
from tasks.runtime.environment import home

URL, SECRET = "HUSH_WEBHOOK_URL", "HUSH_WEBHOOK_SECRET"
PROMOTED = "model.promoted"
PREFIX = "whsec_"
BYTES = (24, 64)
"""Of a secret, as the standard has it."""
MAKE = "write one: (umask 077; echo whsec_$(openssl rand -base64 32) > FILE)"
AGAIN_AFTER = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0, 72000.0, 86400.0)
"""Seconds between tries; every day from then on."""
TIMEOUT = (5.0, 15.0)
"""Seconds to connect, and between two pieces of an answer."""
DEADLINE = 30.0
"""Seconds for one attempt. After a receiver that let it pass, no further message is sent until the next check."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
SILENT = "no answer in time"
_log = logging.getLogger("prefect.hush.webhook")


@dataclass(frozen=True)
class Endpoint:
    """Who gets the messages, and the secret that both sides know; shown by neither `repr` nor `str`."""

    url: str = field(repr=False)
    secret: bytes = field(repr=False)

    @property
    def host(self) -> str:
        """All of the address that is ever logged: paths and queries of such addresses are passwords."""
        return urlsplit(self.url).hostname or ""


class Message(BaseModel):
    """One promotion, and how often it was tried to tell it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    version: str
    certificate_sha256: str
    by: str
    at: str
    decision: str
    """SHA-256 of the decision: version, certificate, who, when, why."""
    moved: bool = False
    """The alias has moved; before that, nothing is sent."""
    tries: int = 0
    due: float = 0.0

    @property
    def id(self) -> str:
        return f"decision-{self.decision}"

    def body(self) -> bytes:
        """The same at every try. The reviewer's reason is not in it: free text stays in the registry."""
        data = {
            "model": self.model,
            "version": self.version,
            "uri": f"models:/{self.model}/{self.version}",
            "certificate_sha256": self.certificate_sha256,
            "approved_by": self.by,
            "decision_sha256": self.decision,
        }
        return json.dumps({"type": PROMOTED, "timestamp": self.at, "data": data}, sort_keys=True).encode()

    @property
    def _file(self) -> Path:
        return home().root / "outbox" / f"{self.id}.json"

    def keep(self) -> Message:
        private_folder(self._file.parent)
        write_whole(self._file, self.model_dump_json().encode())
        return self

    def wait_until(self, due: float) -> None:
        """For another try; what a later decision forgot while it was sent stays forgotten."""
        if self._file.exists():
            self.model_copy(update={"tries": self.tries + 1, "due": due}).keep()

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Delivery:
    """What became of the messages: ids that were taken now, and that wait for another try."""

    taken: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


def endpoint() -> Endpoint | None:
    """Whom to tell; None where HUSH_WEBHOOK_URL names nobody. Raises InputError: the address or the secret cannot
    be used."""
    url = os.environ.get(URL, "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        usable = usable and bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:  # no such port, or a name that cannot be
        usable = False
    if not usable or parts.username or parts.password:
        raise InputError(
            URL, "is no address to which hush sends anything",
            "write https://HOST/PATH, without user and password (http on this machine alone)",
        )  # fmt: skip
    given = os.environ.get(SECRET)
    try:
        file = Path(given).expanduser() if given else home().keys / "webhook.secret"
    except RuntimeError:
        raise InputError(f"{SECRET} ({given})", "is in the folder of a user who is not there", MAKE) from None
    return Endpoint(url, _read_secret(file))


def _read_secret(file: Path) -> bytes:
    try:
        text = file.read_text("ascii").strip()
    except OSError as error:
        raise InputError(
            f"{SECRET} ({file})", f"cannot be read: {error.strerror}, and {URL} is set", MAKE
        ) from None
    except UnicodeDecodeError:
        text = ""
    try:
        secret = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        secret = b""
    if not BYTES[0] <= len(secret) <= BYTES[1]:
        raise InputError(f"{SECRET} ({file})", f"holds no secret of {BYTES[0]} to {BYTES[1]} bytes", MAKE)
    return secret


def signature(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """As Standard Webhooks signs: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def messages() -> list[Message]:
    """All that was not taken yet, the oldest decision first. A file that is damaged is passed over: it holds up
    neither a decision nor the other messages."""
    found = []
    for file in (home().root / "outbox").glob("decision-*.json"):
        try:
            found.append(Message.model_validate_json(file.read_bytes()))
        except FileNotFoundError:
            continue  # it was taken meanwhile
        except ValidationError:
            _log.warning("%s is damaged: one promotion is not sent; remove it", file)
    return sorted(found, key=lambda message: (message.at, message.id))


def deliver(clock: Callable[[], float] = time.time) -> Delivery:
    """Try every message that is due, once. One process of a home at a time; what a receiver or a network does
    raises nothing. Raises InputError: the address or the secret cannot be used."""
    taken, waiting = [], []
    with one_at_a_time(home(), "outbox"):
        receiver = endpoint()
        for message in messages():
            if receiver is None or not message.moved or message.due > clock():
                waiting.append(message.id)
            elif (problem := _send(receiver, message, int(clock()))) is None:
                message.forget()
                taken.append(message.id)
            else:
                pause = AGAIN_AFTER[min(message.tries, len(AGAIN_AFTER) - 1)]
                message.wait_until(clock() + pause)
                _log.warning(
                    "the webhook at %s did not take the promotion of models:/%s/%s (%s, try %d); again in %.0f s",
                    receiver.host, message.model, message.version, problem, message.tries + 1, pause,
                )  # fmt: skip
                waiting.append(message.id)
                receiver = None if problem == SILENT else receiver
    return Delivery(tuple(taken), tuple(waiting))


def _send(receiver: Endpoint, message: Message, timestamp: int) -> str | None:
    """None where it was taken; else why not, in a word without the address."""
    body = message.body()
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(receiver.secret, message.id, timestamp, body),
    }
    # "http on this machine alone": no proxy takes that off it
    host = urlsplit(receiver.url).hostname
    proxies = {"no_proxy": host} if host in LOOPBACK else None

    def post() -> int:
        # nobody is followed elsewhere, no .netrc is read, and what is answered is not read
        with requests.post(
            receiver.url, data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False, stream=True,
            auth=lambda request: request, proxies=proxies,
        ) as answer:  # fmt: skip
            return answer.status_code

    try:
        status = within(DEADLINE, post)
    except TimeoutError:
        return SILENT
    except Exception as error:  # requests lets through what urllib3, idna and http.client raise
        return type(error).__name__
    return None if 200 <= status < 300 else f"HTTP {status}"
