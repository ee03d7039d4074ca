"""A receiver of webhooks on loopback, as a consumer would write one: checks the signature, takes each id once."""

import base64
import hashlib
import hmac
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = bytes(range(32))


class Receiver:
    """`status`: what it answers. `before`: called with each request before it is answered."""

    def __init__(self):
        self.status, self.before = 204, None
        self.came, self.taken, self.ports = [], {}, None

    @contextmanager
    def listening(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.take(self.path, dict(self.headers), body)
                if receiver.before:
                    receiver.before()
                self.send_response(receiver.status)
                self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self.url = f"http://127.0.0.1:{server.server_port}/hook/t0ken"
            try:
                yield self
            finally:
                server.shutdown()

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
