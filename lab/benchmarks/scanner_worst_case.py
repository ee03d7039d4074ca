"""Processor seconds that each reader takes for a MB of hostile text, by kind. Target: 2 s a MB.

    .venv/bin/python lab/benchmarks/scanner_worst_case.py [--mb 1] [--random COUNT --seed N]

Each row is the time for a quarter of the text and for all of it; a quadratic rule would take 16 times as long.
First the scan for credentials: "left out" where the deadline ends it, and the file is not trained on. Then the
search for a value that is in the text again and again, the readers of imports, mail, and the estimate of bits.

`--random`: random pieces repeated, each for a reader drawn for it. Shown are those that take 6 times as long for 4
times the text, or over 4 s a MB; what a reader raises ends it. So places were found that no row showed: each
expression was linear, but each of many matches read its whole line again, or RE2 kept thousands of states a byte.
"""

import argparse
import base64
import gzip
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

from hush_core.corpus.changes import around, changed
from hush_core.corpus.documents.mime import read_mail
from hush_core.secrets.detectors.codeowners import Codeowners
from hush_core.secrets.detectors.credentials import _Look
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.priors import ASSIGNED, guess_bits
from hush_core.secrets.propagation.imports import references
from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch

BLANKS = b'a = "abcd" "abcd"' + b" " * 380 + b"x\n"
PIECES = {
    "blanks": b" ", "quotes": b'"', "BEGIN lines": b"-----BEGIN RSA PRIVATE KEY-----\n", "password=": b"password=",
    "brackets": b"[", "dashes": b"-", "pipes": b"|", "backslashes": b"\\", "=": b"=", "base64": b"Ab1/",
    "newlines": b"\n", "joints and blanks": BLANKS, "password lines": b"password=\n", "options": b" --keykeykeykey",
    "comments": b"/*", "addresses": b"x://a:bcd@e ", "BEGIN short": b"-----BEGIN PRIVATE KEY-----",
    "long tokens": b"\nAuthorization: Bearer " + b"a1B2" * 700, "long queries": b"\n//a?token=" + b"a1B2" * 700,
    "domains": b"q.o.g.v.auth0.com\\r", "curl": b"curl\r\r-uE:'aaa'\n\n",
    "KEY-----": b"KEY-----", "curl headers": b"curl --header\"Key:dRMgO4Hc\"\n",
    "logins": b"https://e:I@git.codecatalyst.aws/",
    "bytes of text": b"  0x74, 0x68, 0x65, 0x20, 0x71, 0x75, 0x69, 0x63,\n",
    "random values in a row": b'"' + base64.b64encode(random.Random(2).randbytes(30)) + b'", ',
    "numbers of a key": b"key={1,2,3,4,5,6,7,8}\n", "other languages": "пароль: a\n".encode(),
    "statements": b"COPY t (a, password) FROM stdin;\n", "heads of tables": b"host,user,password\n",
}  # fmt: skip


HEADS = {"KEY-----": b"-----BEGIN PRIVATE KEY-----"}


VALUE = b"abcdabcd"
RANDOM = base64.b64encode(random.Random(1).randbytes(3000))
SOUGHT = {
    "the value": VALUE, "in base64": base64.b64encode(VALUE * 300), "continued": b"abcd\\\n",
    "joints": b'"abcdabcd" + ', "quoted-printable": VALUE * 9 + b"=\n", "random base64": RANDOM,
    "escapes": b"\\u0041", "percents": b"%41", "entities": b"&#65;", "numbers": b"65, 66, 67, ",
    "calls": b"chr(65).", "frames": b"<~aaaaaaaaaaaa", "zip heads": base64.b64encode(b"PK\3\4" * 300),
    "bombs": base64.b64encode(gzip.compress(bytes(8_000_000), mtime=0)),
}  # fmt: skip
IMPORTING = {
    "python": b"from a import (b, # c\n", "javascript": b"import /**/ ", "go": b"import (/**/ ",
    "java": b"import a /**/ . b ", "rust": b"use a::{b, ", "c": b"# /**/ include ", "cpp": b"import a;\n",
}  # fmt: skip
HEADER = b"From: a@b.c\nContent-Type: multipart/mixed; boundary=x\n\n"
MAILS = {"folds": b"From: a\n", "parts": HEADER, "coded words": b"Subject: "}
OF_MAILS = {
    "folds": b" \n",
    "parts": b"--x\nContent-Type: multipart/mixed; boundary=x\n\n",
    "coded words": b"=?utf-8?q?a?= ",
}


def texts(piece: bytes, size: int, head: bytes = b"") -> bytes:
    return (head + piece * (size // len(piece) + 1))[:size]


def readers() -> Iterator[tuple[str, bytes, bytes, Callable[[bytes], str]]]:
    """(name, head, piece, what reads it and says how it ended)."""
    look, search = _Look(), ValueSearch([SearchTerm(VALUE)])
    look.scanner.scan(b"x")  # compiles the rules

    def scanned(text: bytes) -> str:
        return "left out" if [rule for _, _, rule in look(text)] == [TOO_SLOW] else ""

    for name, piece in PIECES.items():
        yield f"scan: {name}", HEADS.get(name, b""), piece, scanned
    for name, piece in SOUGHT.items():
        yield f"search: {name}", b"", piece, lambda text: f"{len(list(search.find(text))):,d} hits"
    for language, piece in IMPORTING.items():
        read = partial(references, language)
        yield f"imports: {language}", b"", piece, lambda text, read=read: f"{len(read(text)):,d} found"
    for name, head in MAILS.items():
        yield (
            f"mail: {name}",
            head,
            OF_MAILS[name],
            lambda text: "" if not read_mail(text).malformed else "refused",
        )
    for name, piece in {"base64": RANDOM, "escapes": b"\\x41", "pairs": b"41:42:", "joints": b"_-"}.items():
        yield f"bits: {name}", b"", piece, lambda text: f"{guess_bits(ASSIGNED, text):.0f}"


WORDS = b"""
x < > , ( ) [ { = * & " ' ` ; : ? / \\ 1 # . - @ | } ] ! + $ if => // password pwd= token secret AKIA ghp_
-----BEGIN -----END KEY----- eyJhbGciOi %41 \\x41 \\u0041 &#65; QUJD aGVsbG8 0x41, =3D chr(65) user: http:// <~
~> <key> </key> host,user,password curl key DB_ &amp; 12345678 Ab1! J7kq2!mWz9Lr4 name: value: export ${x} <<EOF
import from use login passwort: pass --password -p "password": \\n \\" pillow-tunnel-anchor-velvet is api_key
Bearer Authorization: set_ 0123456789abcdef hunter2 username senha= auth pin credentials getenv( https://u:p@h/
${PASSWORD:-x} data:image/png;base64, sha256- CHANGEME
""".split()
BETWEEN = (
    b" |\t|\n|\r\n|\xc2\xa0|\0a\0|INSERT INTO t (a, password) VALUES (|COPY t (a, password) FROM stdin;"
).split(b"|")


OF_READERS = {
    "mail": b"From: Content-Type: multipart/mixed; boundary=x --x text/html charset*0= =?utf-8?q?a?= rfc822/rfc822",
    "imports": b"require( export as type #include <a.h> package ../ :: {self, default r#\" \"\"\" ''' ` \\\n",
    "owners": b"* ** /a/ *.py @a/b a@b.c [S] ^[S][2] ! \\ ? {a,b} [a-z] [ a/**/b",
    "changes": b"--- ===",
}  # fmt: skip


def random_readers() -> Iterator[tuple[str, Callable[[bytes], object]]]:
    """(name, what reads a text), the readers of whatever a repository or a table holds."""
    look, search = _Look(), ValueSearch([SearchTerm(VALUE), SearchTerm(b"pillow-tunnel-anchor-velvet")])
    look.scanner.scan(b"x")  # compiles the rules
    yield "scan", look
    yield "search", lambda text: list(search.find(text))
    yield "mail", read_mail
    yield "bits", partial(guess_bits, ASSIGNED)
    yield "owners", lambda text: Codeowners(text).owners("a/b/c.py")
    yield "changes", lambda text: around(text, changed(b"".join(text.splitlines(keepends=True)[::30]), text))
    for language in IMPORTING:
        yield f"imports: {language}", partial(references, language)


def suspects(count: int, seed: int) -> Iterator[tuple[str, bytes, float, float]]:
    """(reader, piece, seconds for 15 kB, for 60 kB) of random pieces that are slow, or slower than linear."""
    draw, readers_of = random.Random(seed), list(random_readers())
    for n in range(count):
        name, read = readers_of[n % len(readers_of)]
        words = (
            *WORDS,
            *BETWEEN,
            b"a1B2" * 400,
            *(4 * OF_READERS.get(name.split(":")[0], b"").split()),
            b"\n",
        )
        first, second = (b"".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(2))
        piece = first * draw.choice((1, 1, 5, 40)) + second * draw.choice((0, 1, 1, 40))
        short, _ = seconds(read, texts(piece, 15_000))
        if short > 0.03:
            long, _ = seconds(read, texts(piece, 60_000))
            if long > min(6 * short, 0.24):
                yield name, piece, short, long


def seconds(read: Callable[[bytes], object], text: bytes) -> tuple[float, object]:
    began = time.process_time()
    ended = read(text)
    return time.process_time() - began, ended


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=1.0)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, piece, short, long in suspects(arguments.random, arguments.seed):
        print(f"{name}: {long / 0.06:.1f} s a MB {long / short:.1f} times {piece[:100]!r}", flush=True)
    if arguments.random:
        return
    size = int(arguments.mb * 1e6)
    for name, head, piece, read in readers():
        (short, _), (long, out) = (seconds(read, texts(piece, n, head)) for n in (size // 4, size))
        print(
            f"{name:24} {short:7.2f} s {long:7.2f} s  {long / max(short, 1e-3):5.1f} times {out}", flush=True
        )


if __name__ == "__main__":
    main()
