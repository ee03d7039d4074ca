"""Processor seconds that the rules for credentials take for a MB of hostile text, by kind. Target: 2 s a MB.

    .venv/bin/python benchmarks/scanner_worst_case.py [--mb 1]

Each row is the time for a quarter of the text and for all of it; a quadratic rule would take 16 times as long.
"""

import argparse
import time

from hush_core.secrets.detectors.credentials import CredentialScanner

BLANKS = b'a = "abcd" "abcd"' + b" " * 380 + b"x\n"
PIECES = {
    "blanks": b" ", "quotes": b'"', "BEGIN lines": b"-----BEGIN RSA PRIVATE KEY-----\n", "password=": b"password=",
    "brackets": b"[", "dashes": b"-", "pipes": b"|", "backslashes": b"\\", "=": b"=", "base64": b"Ab1/",
    "newlines": b"\n", "joints and blanks": BLANKS, "password lines": b"password=\n", "options": b" --keykeykeykey",
    "comments": b"/*", "addresses": b"x://a:bcd@e ",
}  # fmt: skip


def seconds(scanner: CredentialScanner, text: bytes) -> float:
    began = time.process_time()
    scanner.scan(text)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=1.0)
    size = int(parser.parse_args().mb * 1e6)
    scanner = CredentialScanner()
    for name, piece in PIECES.items():
        text = (piece * (size // len(piece) + 1))[:size]
        short, long = seconds(scanner, text[: size // 4]), seconds(scanner, text)
        print(f"{name:20} {short:7.2f} s {long:7.2f} s  {long / max(short, 1e-3):5.1f} times", flush=True)


if __name__ == "__main__":
    main()
