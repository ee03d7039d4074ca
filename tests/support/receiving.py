"""A receiver of webhooks on loopback, as a consumer would write one: checks the signature, takes each id once."""

import base64
import hashlib
import hmac
import json
from contextlib import contextmanager

from local_servers import serving

KEY = bytes(range(32))


class Receiver:
    """`status`: what it answers. `before`: called with each request before it is answered."""

    def __init__(self):
        self.status, self.before = 204, None
        self.came, self.taken = [], {}

    @contextmanager
    def listening(self):
        def answer(request):
            self.take(request.path, dict(request.headers), request.body)
            if self.before:
                self.before()
            return self.status, b"", {"Location": f"{address}/elsewhere"}

        with serving(answer) as address:
            self.url = f"{address}/hook/t0ken"
            yield self

    def take(self, path, headers, body):
        headers = {name.lower(): value for name, value in headers.items()}
        one, when = headers["webhook-id"], headers["webhook-timestamp"]
        right = hmac.new(KEY, f"{one}.{when}.".encode() + body, hashlib.sha256).digest()
        assert hmac.compare_digest(headers["webhook-signature"], "v1," + base64.b64encode(right).decode())
        self.came.append((path, one, body, headers))
        if 200 <= self.status < 300:
            assert self.taken.setdefault(one, json.loads(body)) == json.loads(body)


@contextmanager
def named_receiver(tmp_path, monkeypatch):
    """One that the environment names, with its secret in a file."""
    secret = tmp_path / "webhook.secret"
    secret.write_text("whsec_" + base64.b64encode(KEY).decode() + "\n")
    with Receiver().listening() as found:
        monkeypatch.setenv("HUSH_WEBHOOK_URL", found.url)
        monkeypatch.setenv("HUSH_WEBHOOK_SECRET", str(secret))
        yield found
