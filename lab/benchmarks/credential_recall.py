"""Recall of planted credentials, and false positives: our extraction and two peers on the same files.

Planting. `credential_formats.FORMATS` states the types, each drawn at random in its published format. Each is
written in seven styles (`STYLES`) at a random line of a real file of this interpreter's standard library or
site-packages, one planting a file and every value once, so that no copy gives another away. Taken are files whose
path's SHA-256 has the seed's parity: an even and an odd seed share neither values nor files. The files go into a
real git repository (git fast-import). --held-out plants other types (`HELD_OUT`) and other styles instead.

Ours. `hush_core.secrets.extract` runs over that repository with chunks of 64 bytes. A planting is found only if
EVERY byte of the secret value (line breaks aside) lies in an example that an edge ties to a credential, or in none,
as it was dropped for a credential too weak to protect; those are counted apart. The repository is extracted once
more with the planted lines crossed out: what is covered there as well does not count.

Peers. detect-secrets from an environment of its own, defaults, one file at a time; a planting is found if ANY line
of it is reported. gitleaks' rules alone: its rule file (--gitleaks-rules), run by google-re2 with its keywords,
entropies, paths and allowlists (not its decoders); found if ANY byte of the value is matched. Both are judged more
mildly than ours. A peer that is not given is skipped and said so.

False positives: distinct (file, line) reported in files without plantings. Nothing in them was planted, and none is
known to hold a live credential; their authors' examples and test keys count as well, for all three alike.

    python -m venv /tmp/peer && /tmp/peer/bin/pip install detect-secrets==1.5.0
    python lab/benchmarks/credential_recall.py --detect-secrets /tmp/peer/bin/python --gitleaks-rules gitleaks.toml

Two minutes on one core. No value is printed or written to --out.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import random
import re
import subprocess
import sysconfig
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from credential_formats import FORMATS, HELD_OUT, Format
from credential_peers import Outcome, Planting, detect_secrets, gitleaks_rules
from scipy.stats import beta

from hush_core.config import parse_config
from hush_core.secrets import extract
from hush_core.secrets.detectors.credential_scanner import RULES_VERSION, CredentialScanner

CHUNK = 64
HOST_BYTES = (400, 40_000)
PLAIN_BYTES = 8_000_000
"""Files without plantings, the planted ones among them; about as much."""
STYLES = {
    "python": (".py",),
    "dotenv": (".txt", ".cfg", ".ini", ".toml"),
    "yaml": (".yaml", ".yml", ".rst", ".md"),
    "json": (".json",),
    "shell": (".sh", ".md", ".txt"),
    "javascript": (".js", ".ts"),
    "prose": (".py", ".js", ".md", ".c"),
}
"""Style → the kinds of real files in which such lines are planted."""
HELD_OUT_STYLES = {
    "dockerfile": (".txt", ".sh"),
    "csharp": (".c", ".h"),
    "xml": (".html", ".md"),
    "notebook": (".json",),
}
PROSE = (
    "the {label} is {value}",
    "{label}: {value}",
    "TODO: rotate the {label} {value} before the release",
    "staging runs with `{value}` ({label})",
)
COMMENT = {".py": "# ", ".js": "// ", ".c": "// ", ".md": ""}


def written(rng: random.Random, kind: Format, value: str, style: str, suffix: str) -> str:
    """The planted lines. Multi-line values: triple quotes, a YAML block, or \\n within a string."""
    name = rng.choice(kind.names.split())
    snake, block = name.lower(), "\n" in value
    camel = re.sub(r"_(.)", lambda m: m[1].upper(), snake)
    if style == "python":
        if block:
            return f'{name} = """{value}\n"""'
        quoted = repr(value) if rng.random() < 0.5 or '"' in value else f'"{value}"'
        return f"{rng.choice((name, snake))} = {quoted}"
    if style == "dotenv":
        return f"{name}=" + (value.replace("\n", "\\n") if '"' not in value else f"'{value}'")
    if style == "yaml":
        if block:
            return f"  {snake}: |\n" + "\n".join(f"    {line}" for line in value.splitlines())
        plain = value[0].isalnum() and not re.search(r": | #|[\"']", value) and rng.random() < 0.5
        key = rng.choice((snake, snake.replace("_", "-"), camel))
        return f"  {key}: {value}" if plain else f"  {key}: '{value}'"
    if style == "json":
        return f'  "{rng.choice((camel, snake, name))}": {json.dumps(value)},'
    if style == "shell":
        if value.startswith("https://"):
            return f"curl -sS '{value}'"
        if kind.bearer and rng.random() < 0.5:
            return f'curl -H "Authorization: Bearer {value}" https://api.internal/v1/items'
        return f"export {name}='{value}'"
    if style == "javascript":
        return rng.choice(
            (
                f"const {camel} = {json.dumps(value)};",
                f"client.configure({{ {camel}: {json.dumps(value)} }});",
            )
        )
    title = camel[0].upper() + camel[1:]
    if style == "dockerfile":
        return f"ENV {name}={json.dumps(value)}" if block or '"' in value else f"ENV {name}={value}"
    if style == "csharp":
        return f"    private const string {title} = {json.dumps(value)};"
    if style == "xml":
        return f'    <add key="{title}" value="{html.escape(value, quote=False)}" />'
    if style == "notebook":
        return f'    "{snake} = {json.dumps(json.dumps(value))[1:-1]}\\n",'
    label = name.lower().replace("_", " ")
    text = rng.choice(PROSE).format(label=label, value=value)
    return "\n".join(COMMENT[suffix] + line for line in text.splitlines())


class Hosts:
    """Real text files of the seed's parity, by suffix."""

    def __init__(self, seed: int) -> None:
        roots = {"lib": Path(sysconfig.get_path("stdlib")), "site": Path(sysconfig.get_path("purelib"))}
        self.files: dict[str, list[tuple[str, Path]]] = defaultdict(list)
        wanted = {suffix for suffixes in (STYLES | HELD_OUT_STYLES).values() for suffix in suffixes}
        for label, root in roots.items():
            for path in sorted(p for p in root.rglob("*") if p.suffix in wanted):
                name = f"{label}/{path.relative_to(root)}"
                if label == "lib" and "site-packages" in path.parts:
                    continue
                parity = hashlib.sha256(name.encode()).digest()[0] % 2
                if parity == seed % 2 and HOST_BYTES[0] <= path.stat().st_size <= HOST_BYTES[1]:
                    self.files[path.suffix].append((name, path))

    def choose(self, rng: random.Random, style: str) -> tuple[str, bytes]:
        """(path, content): a suffix that there is, then a file of it."""
        suffixes = [s for s in (STYLES | HELD_OUT_STYLES)[style] if self.files[s]]
        name, path = rng.choice(self.files[rng.choice(suffixes)])
        content = path.read_bytes()
        plain_text = content.isascii() and b"\r" not in content and content.count(b"\n") >= 10
        return (name, content) if plain_text else self.choose(rng, style)


def pairs(held_out: bool) -> Iterator[tuple[str, Format, str]]:
    """(type, its format, style) of what is planted."""
    for type_, kind in FORMATS.items():
        yield from ((type_, kind, style) for style in (HELD_OUT_STYLES if held_out else STYLES))
    for type_, kind in HELD_OUT.items() if held_out else ():
        yield from ((type_, kind, style) for style in STYLES | HELD_OUT_STYLES)


def plant(seed: int, each: int, held_out: bool = False) -> tuple[list[Planting], dict[str, bytes]]:
    """`each` plantings of every (type, style), and their files, and more, as they were."""
    hosts, plantings, plain = Hosts(seed), [], {}
    for type_, kind, style in pairs(held_out):
        for number in range(each):
            rng = random.Random(f"{seed}/{type_}/{style}/{number}")
            host, content = hosts.choose(rng, style)
            value = kind.make(rng)
            lines = content.splitlines(keepends=True)
            at = rng.randrange(1, len(lines))
            text = written(rng, kind, value, style, Path(host).suffix)
            before = b"".join(lines[:at])
            start = len(before) + (not before.endswith(b"\n"))
            joint = b"" if before.endswith(b"\n") else b"\n"
            whole = before + joint + text.encode() + b"\n" + b"".join(lines[at:])
            path = f"planted/{style}/{type_}/{number}/{Path(host).name}"
            pieces = tuple(_pieces(whole, start, kind.secret(value)))
            plantings.append(Planting(type_, style, path, whole, start, start + len(text.encode()), pieces))
            plain[f"plain/{host}"] = content
    rng, size = random.Random(seed), sum(map(len, plain.values()))
    while size < PLAIN_BYTES:
        host, content = hosts.choose(rng, rng.choice(list(STYLES)))
        size += len(content) if f"plain/{host}" not in plain else 1  # 1: an end where there are too few files
        plain[f"plain/{host}"] = content
    return plantings, plain


def _pieces(content: bytes, start: int, secret: str) -> Iterable[tuple[int, int]]:
    """Where the lines of the secret stand, as they are or with a backslash escaped once more."""
    for line in secret.splitlines():
        once = json.dumps(line)[1:-1]
        spellings = [line, once, json.dumps(once)[1:-1], html.escape(line, quote=False)]
        at, spelling = next((a, s) for s in spellings if (a := content.find(s.encode(), start)) >= 0)
        start = at + len(spelling.encode())
        yield at, start


def commit(folder: Path, files: dict[str, bytes]) -> Path:
    """A bare repository with one commit of `files`."""
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    parts = [b"commit refs/heads/main\ncommitter Dev <dev@example.org> 1700000000 +0000\ndata 1\nm\n"]
    for path, content in files.items():
        parts.append(b'M 100644 inline "%s"\ndata %d\n%s\n' % (path.encode(), len(content), content))
    for arguments, stdin in (
        (["init", "-q", "--bare", "-b", "main"], b""),
        (["fast-import", "--quiet"], b"".join(parts)),
    ):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "-C", str(folder), *arguments], input=stdin, check=True, env=environment)
    return folder


class Covered:
    """Extraction of a repository: which bytes lie in an example with a credential, or in a dropped one."""

    def __init__(self, repository: Path) -> None:
        data = {
            "version": 1,
            "repos": [{"path": str(repository), "name": "r"}],
            "secrets": [{"id": "c", "kind": "credentials", "level": 1e-3, "weak": "drop"}],
            "train": {"rounds": 1, "batch": 1},
            "chunk_bytes": CHUNK,
        }
        config = parse_config(data, where="benchmark", folder=Path("/"))
        self.seconds = -time.process_time()
        self.result = extract(config, b"benchmark key 16")
        self.seconds += time.process_time()

    @cached_property
    def chunks(self) -> dict[str, list[tuple[int, int, bool]]]:
        """By path, (start, end, whether an edge ties it to a credential) of all kept examples, sorted."""
        examples = self.result.examples.select("path", "start", "end", "example_id")
        held = set(self.result.edges["example_id"].to_list())
        found: dict[str, list[tuple[int, int, bool]]] = defaultdict(list)
        for path, start, end, example in examples.iter_rows():
            found[path].append((start, end, example in held))
        return {path: sorted(rows) for path, rows in found.items()}

    def judge(self, planting: Planting) -> tuple[bool, bool]:
        """(every byte of the value is covered, some of it by being dropped)."""
        rows = self.chunks.get(planting.path, [])
        covered, dropped = True, False
        for start, end in planting.pieces:
            kept = 0
            for first, last, edged in rows:
                if first < end and last > start:
                    kept += min(last, end) - max(first, start)
                    covered &= edged
            dropped |= kept < end - start
        return covered, dropped


def ours(plantings: list[Planting], plain: dict[str, bytes], folder: Path) -> Outcome:
    token = FORMATS["github-classic"].make(random.Random("anchor"))
    anchor = {"anchor": f"{token}\n".encode()}  # a graph without any secret is refused
    planted = Covered(commit(folder / "planted.git", anchor | {p.path: p.content for p in plantings}))
    control = Covered(commit(folder / "control.git", anchor | {p.path: p.crossed_out for p in plantings}))
    judged = [planted.judge(p) for p in plantings]
    found = [every and not control.judge(p)[0] for p, (every, _) in zip(plantings, judged, strict=True)]
    scanner, lines, began = CredentialScanner(), {}, time.process_time()
    for path, content in plain.items():
        for seen in scanner.scan(content):
            lines[path, content.count(b"\n", 0, seen.start) + 1] = seen.rule
    taken = time.process_time() - began
    dropped = sum(f and d for f, (_, d) in zip(found, judged, strict=True))
    size = sum(map(len, plain.values())) / 1e6
    note = (
        f"{RULES_VERSION}; {dropped} found plantings are weak and were dropped; extraction of the "
        f"{sum(len(p.content) for p in plantings) / 1e6:.1f} MB with plantings took {planted.seconds:.1f} s"
    )
    return Outcome("hush", found, lines, taken, size, note)


def interval(found: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's, 95 %."""
    low = beta.ppf(0.025, found, of - found + 1) if found else 0.0
    high = beta.ppf(0.975, found + 1, of - found) if found < of else 1.0
    return float(low), float(high)


def rates(
    plantings: list[Planting], outcome: Outcome, key: Callable[[Planting], str]
) -> dict[str, tuple[int, int]]:
    """(found, planted) by key."""
    table: dict[str, tuple[int, int]] = {}
    for p, found in zip(plantings, outcome.found, strict=True):
        hits, of = table.get(key(p), (0, 0))
        table[key(p)] = (hits + found, of + 1)
    return table


def report(plantings: list[Planting], outcomes: list[Outcome]) -> dict:
    """Prints the tables, and gives them as JSON."""
    kinds = {"type": lambda p: p.type, "style": lambda p: p.style, "all": lambda p: "all"}
    summary: dict = {"plantings": len(plantings), "types": len({p.type for p in plantings}), "tools": {}}
    tables = {o.name: {name: rates(plantings, o, key) for name, key in kinds.items()} for o in outcomes}
    for name in kinds:
        print(f"\n{'recall by ' + name:<22}" + "".join(f"{o.name:>26}" for o in outcomes))
        for row in tables[outcomes[0].name][name]:
            cells = (tables[o.name][name][row] for o in outcomes)
            print(
                f"{row:<22}"
                + "".join(f"{f'{100 * hits / of:5.1f} % ({hits}/{of})':>26}" for hits, of in cells)
            )
    print()
    for o in outcomes:
        hits, of = tables[o.name]["all"]["all"]
        low, high = interval(hits, of)
        missed = Counter(
            f"{p.type}, {p.style}" for p, found in zip(plantings, o.found, strict=True) if not found
        )
        print(
            f"{o.name}: recall {100 * hits / of:.2f} % ({100 * low:.2f} to {100 * high:.2f}), {len(o.lines)} lines "
            f"reported without plantings ({len(o.lines) / o.megabytes:.2f} a MB), {o.seconds:.2f} s CPU for "
            f"{o.megabytes:.1f} MB. {o.note}"
        )
        summary["tools"][o.name] = {
            "recall": hits / of, "interval": [low, high], "reported_lines": len(o.lines), "seconds": o.seconds,
            "megabytes": o.megabytes, "note": o.note, "missed": missed, **tables[o.name],
        }  # fmt: skip
    print(f"\nmissed by {outcomes[0].name}:")
    for place, times in summary["tools"][outcomes[0].name]["missed"].items():
        print(f"  {place} {times}x")
    print(f"\nreported by {outcomes[0].name} without plantings, for people to judge (rule, file, line):")
    for (path, line), rule in sorted(outcomes[0].lines.items())[:60]:
        print(f"  {rule:<40} {path.removeprefix('plain/')}:{line}")
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=3, help="plantings of every (type, style)")
    parser.add_argument("--held-out", action="store_true", help="types and styles of which nobody saw a miss")
    parser.add_argument("--detect-secrets", type=Path, help="the Python of an environment that has it")
    parser.add_argument("--gitleaks-rules", type=Path, help="gitleaks' config/gitleaks.toml")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    plantings, plain = plant(arguments.seed, arguments.each, arguments.held_out)
    print(
        f"seed {arguments.seed}: {len(plantings)} plantings, {len({p.type for p in plantings})} types, "
        f"{len({p.style for p in plantings})} styles, "
        f"{len(plain)} real files of {sum(map(len, plain.values())) / 1e6:.1f} MB"
    )
    with tempfile.TemporaryDirectory(prefix="hush-recall-") as folder:
        outcomes = [ours(plantings, plain, Path(folder))]
        if arguments.detect_secrets:
            outcomes.append(detect_secrets(arguments.detect_secrets, plantings, plain, Path(folder)))
        else:
            print(
                "SKIPPED: detect-secrets (pip install it elsewhere, and give that Python with --detect-secrets)"
            )
        if arguments.gitleaks_rules:
            outcomes.append(gitleaks_rules(arguments.gitleaks_rules, plantings, plain))
        else:
            print(
                "SKIPPED: gitleaks' rules (give its repository's config/gitleaks.toml with --gitleaks-rules)"
            )
    summary = report(plantings, outcomes)
    if arguments.out:
        arguments.out.write_text(json.dumps({"seed": arguments.seed, **summary}, indent=1) + "\n")


if __name__ == "__main__":
    main()
