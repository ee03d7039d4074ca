"""Processes on loopback for tests: a port, an answer, an end; and a web server that answers as a test says."""

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
_claims = []


def free_port():
    """A port that stays free until a server of this test takes it.

    The kernel gives away ports from 32768 on. Of those below, each has a name that one process of the machine can
    claim, until it ends: so tests that run at once never choose the same one.
    """
    for port in range(20_000, 32_000):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0port of a hush test {port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
    raise AssertionError("no port is free")


def module(command, log, environment, **more):
    """`python -m` of a command, in a group of its own, with its output at the end of a file."""
    with open(log, "ab") as file:
        more |= {"env": environment, "stdout": file, "stderr": file, "start_new_session": True}
        return subprocess.Popen([sys.executable, "-m", *command], **more)


def stop(child):
    """End the group of a process that these fixtures started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, sign)
            try:
                child.wait(600)
            except subprocess.TimeoutExpired:
                continue


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def serving(answer):
    """Its address. `answer(request)` is given a handler with the request's `body`, and gives the status, what is
    said and further headers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, said, headers = answer(self)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(said))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def listening(answer):
    """A port on loopback; `answer` is given each connection that comes as long as this is held, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take():
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)  # else who waits in `accept` would take one more


def relay(target, passes):
    """A port whose connections go on to another, as long as `passes(data)` is true of each piece."""

    def pump(one, other):
        with suppress(OSError):
            while (data := one.recv(1 << 16)) and passes(data):
                other.sendall(data)
        other.close()

    def through(near):
        far = socket.create_connection(("127.0.0.1", target))
        threading.Thread(target=pump, args=(far, near), daemon=True).start()
        pump(near, far)

    return listening(through)
