"""Processor seconds that a scan for credentials takes for a MB of hostile text, by kind. Target: 2 s a MB.

    .venv/bin/python benchmarks/scanner_worst_case.py [--mb 1]

Each row is the time for a quarter of the text and for all of it; a quadratic rule would take 16 times as long.
"left out" where the deadline ends the scan, and the file is not trained on.
"""

import argparse
import time

from hush_core.secrets.detectors.base import TOO_SLOW
from hush_core.secrets.detectors.credentials import _Look

BLANKS = b'a = "abcd" "abcd"' + b" " * 380 + b"x\n"
PIECES = {
    "blanks": b" ", "quotes": b'"', "BEGIN lines": b"-----BEGIN RSA PRIVATE KEY-----\n", "password=": b"password=",
    "brackets": b"[", "dashes": b"-", "pipes": b"|", "backslashes": b"\\", "=": b"=", "base64": b"Ab1/",
    "newlines": b"\n", "joints and blanks": BLANKS, "password lines": b"password=\n", "options": b" --keykeykeykey",
    "comments": b"/*", "addresses": b"x://a:bcd@e ", "BEGIN short": b"-----BEGIN PRIVATE KEY-----",
    "domains": b"q.o.g.v.auth0.com\\r", "curl": b"curl\r\r-uE:'aaa'\n\n",
    "KEY-----": b"KEY-----", "curl headers": b"curl --header\"Key:dRMgO4Hc\"\n",
    "logins": b"https://e:I@git.codecatalyst.aws/",
}  # fmt: skip


HEADS = {"KEY-----": b"-----BEGIN PRIVATE KEY-----"}


def seconds(look: _Look, text: bytes) -> tuple[float, str]:
    began = time.process_time()
    found = [rule for _, _, rule in look(text)]
    return time.process_time() - began, "left out" if found == [TOO_SLOW] else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=1.0)
    size = int(parser.parse_args().mb * 1e6)
    look = _Look()
    look.scanner.scan(b"x")  # compiles the rules
    for name, piece in PIECES.items():
        text = (HEADS.get(name, b"") + piece * (size // len(piece) + 1))[:size]
        (short, _), (long, out) = seconds(look, text[: size // 4]), seconds(look, text)
        print(
            f"{name:20} {short:7.2f} s {long:7.2f} s  {long / max(short, 1e-3):5.1f} times {out}", flush=True
        )


if __name__ == "__main__":
    main()
