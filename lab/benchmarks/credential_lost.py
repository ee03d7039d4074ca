"""Which credentials does a change of the rules no longer find? Two checkouts look at the same drawn lines.

A filter against false findings may take credentials with it, and no list of examples shows which. So values that
people choose, strong passwords and tokens are drawn, each in one of the lines in which they are written, and both
scanners look. Printed: what the older one finds and this one does not, and the other way round. Exit status 1 where
anything is lost. Run it for every change of a filter, with a seed that nobody used.

    git worktree add /tmp/before main
    python lab/benchmarks/credential_lost.py --before /tmp/before --seed 11
"""

from __future__ import annotations

import argparse
import json
import os
import random
import string
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = tuple(
    word
    for line in (
        "kettle moon otter winter lamp river stone blue maple fern tiger rocket summer anchor velvet login",
        "token admin cache harbour pepper orbit candle meadow copper signal walnut linen",
    )
    for word in line.split()
)
MARKS = "!@#$%^&*-_+=.?~:/|{}[]()"
ENDS = (".zip", ".log", ".exe", ".tar.gz", "()", "[0]", "%", "px", "=", "==")
LETTERS = string.ascii_letters + string.digits
ALPHABETS = (
    LETTERS, string.hexdigits[:16], LETTERS + "-_", LETTERS + "+/", string.ascii_lowercase,
    string.ascii_uppercase + "234567",
)  # fmt: skip
LINES = (
    "DB_PASSWORD={}", 'password = "{}"', "  password: {}", '"password": "{}",', "secret_key = '{}'", "API_KEY={}",
    'key = "{}"', 'token: "{}"', "mysql -u root -p{}", "--password {}", 'new Client("ann", "{}")',
    "https://ann:{}@db.corp.io/x", 'cache_token: "{}"', 'const pw = "{}";', "<Password>{}</Password>",
    'auth_token => "{}"', "Authorization: Bearer {}", 'x = "{}"', 'export SMTP_PASS="{}"', '{{"apiKey":"{}"}}',
    'os.Setenv("SECRET", "{}")', "redis://:{}@cache:6379/0", "| ann | {} | admin |", "password={};Encrypt=yes",
)  # fmt: skip


def chosen(draw: random.Random) -> str:
    """A password as people make one: words, a mark, a year."""
    words = [
        draw.choice((str.lower, str.title, str.upper))(draw.choice(WORDS)) for _ in range(draw.randint(1, 4))
    ]
    value = draw.choice((*MARKS, "", "", "-", "_", ".", " ")).join(words)
    if draw.random() < 0.5:
        value += str(draw.randint(0, 2030))
    if draw.random() < 0.4:
        value += draw.choice(MARKS)
    if draw.random() < 0.3:
        value = draw.choice(MARKS) * draw.randint(1, 3) + value
    return value + (draw.choice(ENDS) if draw.random() < 0.1 else "")


def strong(draw: random.Random) -> str:
    return "".join(draw.choices(LETTERS + MARKS, k=draw.randint(10, 24)))


def token(draw: random.Random) -> str:
    return "".join(draw.choices(draw.choice(ALPHABETS), k=draw.choice((16, 20, 24, 32, 40, 64))))


def drawn(seed: int, count: int) -> list[tuple[str, str]]:
    """(line, value) pairs; half of the values are chosen ones."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        value = draw.choice((chosen, chosen, strong, token))(draw)
        pairs.append((draw.choice(LINES).format(value), value))
    return pairs


def found(pairs: list[list[str]]) -> list[bool]:
    """Whether a finding of the hush on this path covers the value, or at least six characters of it."""
    from hush_core.secrets.detectors.credentials import CredentialScanner

    scanner, hits = CredentialScanner(), []
    for line, value in pairs:
        marks = [finding.value for finding in scanner.scan(f"a = 1\n{line}\nb = 2\n".encode())]
        wanted = value.encode()
        hits.append(any(wanted in mark or (len(mark) >= 6 and mark in wanted) for mark in marks))
    return hits


def found_by(checkout: Path, pairs: list[tuple[str, str]]) -> list[bool]:
    command = [sys.executable, __file__, "--child"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command,
        input=json.dumps(pairs),
        env=environment,
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout with the older rules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        json.dump(found(json.load(sys.stdin)), sys.stdout)
        return 0
    if arguments.before is None:
        parser.error("--before: name a checkout with the older rules")
    pairs = drawn(arguments.seed, arguments.count)
    older, newer = found_by(arguments.before.resolve(), pairs), found_by(ROOT, pairs)
    rows = list(zip(pairs, older, newer, strict=True))
    for title, kept in (("lost", (True, False)), ("found now", (False, True))):
        lines = [line for (line, _), *both in rows if tuple(both) == kept]
        print(f"{title}: {len(lines)}", *lines[:40], sep="\n  ")
    print(f"found before {sum(older):,}, now {sum(newer):,} of {len(rows):,}")
    return any(before and not now for _, before, now in rows)


if __name__ == "__main__":
    raise SystemExit(main())
