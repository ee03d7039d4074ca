"""A git repository of real files with planted credentials, and the truth about where each of them stands.

Host files are what `fetch`ed repositories have in their newest commit (first host: all its text files; others: a
sample an ending). Every planting goes to a random line of a random file of its style's ending, at least `APART`
lines from the next; styles and tools whose files no host has make a new file. One seed gives one repository.
"""

import os
import random
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import outside_files
import outside_split
import outside_styles
from outside_formats import KEY_FILES, PREFIXED, Format
from outside_variables import CHOSEN, LONG, NAMED, NEUTRAL, NOUNS

COUNTS = {"prefixed": 710, "named": 310, "files": 120, "split": 100, "chosen": 60}
NEUTRAL_SHARE = {"prefixed": 0.5, "named": 0.2, "split": 0.3, "chosen": 0.0}
LARGEST, SMALLEST, SAMPLE, APART, TRIES = 40_000, 300, 30, 45, 2_000
KINDS = {kind for style in outside_styles.STYLES for kind in style.kinds} | {".properties", ".mk"}
SPLIT_LEAST, SPLIT_MOST = 30, 200  # characters, for a value that is written in parts
KEYS = {".pem", ".key", ".crt", ".csr", ".pub", ".asc"}  # of hosts: what is in them may be a true credential
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "LC_ALL": "C"}


@dataclass(frozen=True)
class Planting:
    """`spans`: byte ranges of the value's parts in its file; `lines`: first and last line of the entry, from 1."""

    group: str
    type: str
    style: str
    neutral: bool
    path: str
    spans: tuple[tuple[int, int], ...]
    lines: tuple[int, int]
    value: str


def host_files(hosts: Iterable[Path], seed: int, sample: int = SAMPLE) -> dict[str, str]:
    """Text by path of the newest commits; paths begin with the host's name, but for the first host's."""
    files: dict[str, str] = {}
    for number, host in enumerate(hosts):
        chance = random.Random(f"{seed} {number}")
        names = (
            git(host, "ls-tree", "-r", "-z", "--name-only", "HEAD")
            .decode("utf-8", "replace")
            .split("\0")[:-1]
        )
        chance.shuffle(names)
        taken: dict[str, int] = {}
        for name in sorted(names) if number == 0 else names:
            ending = Path(name).suffix or Path(name).name
            if (
                ending in KEYS
                or (number and ending not in KINDS)
                or (number and taken.get(ending, 0) >= sample)
            ):
                continue
            kind = git(host, "cat-file", "-t", f"HEAD:{name}", missing=True).strip()
            data = git(host, "cat-file", "blob", f"HEAD:{name}", missing=True) if kind == b"blob" else b""
            if SMALLEST <= len(data) <= LARGEST and b"\0" not in data and b"\r" not in data:
                try:
                    text = data.decode()
                except UnicodeDecodeError:
                    continue
                taken[ending] = taken.get(ending, 0) + 1
                files[name if number == 0 else f"{host.parent.name.split('+')[-1]}/{name}"] = text
    return files


def git(folder: Path, *command: str, stdin: bytes | None = None, missing: bool = False) -> bytes:
    done = subprocess.run(
        ["git", *command], cwd=folder, input=stdin, capture_output=True, env=GIT, check=not missing
    )
    return done.stdout


class Field:
    """Where plantings can still go: lines of host files, far enough from one another."""

    def __init__(self, files: dict[str, str], chance: random.Random) -> None:
        self.chance, self.files = chance, files
        self.insertions: dict[str, list[tuple[int, int]]] = {}  # path → (line, planting)
        self.pools: dict[str, list[str]] = {}
        for path in sorted(files):
            self.pools.setdefault(Path(path).suffix or Path(path).name, []).append(path)
        for pool in self.pools.values():
            chance.shuffle(pool)

    def place(self, kinds: tuple[str, ...], planting: int) -> str | None:
        """A file for `planting`, the one with the fewest; None if every file of these kinds is full."""
        pool = [path for kind in kinds for path in self.pools.get(kind, ())]
        pool.sort(key=lambda path: len(self.insertions.get(path, ())))
        for path in pool:
            count = self.files[path].count("\n")
            line = self.chance.randint(1, max(1, count - 1))
            others = self.insertions.setdefault(path, [])
            if all(abs(line - other) >= APART for other, _ in others):
                others.append((line, planting))
                return path
        return None


def plant(
    files: dict[str, str], seed: int, counts: dict[str, int] = COUNTS
) -> tuple[dict[str, str], list[Planting]]:
    """The files with plantings in them, new ones among them, and where each stands."""
    chance = random.Random(f"plant {seed}")
    field = Field(files, chance)
    entries, blocks, values = [], [], set()
    fresh: dict[str, str] = {}
    for group, count in counts.items():
        for kind in _kinds(group, count, chance):
            tries = (_written(group, kind, chance) for _ in range(TRIES))
            made = next((made for made in tries if made and made[-1] not in values), None)
            if made is None:
                raise ValueError(f"{kind.name}: no style of {group} holds it")
            neutral, style, kinds, path, frame, text, value = made
            values.add(value)
            number = len(entries)
            entries.append((group, kind.name, style, neutral, value))
            host = field.place(kinds, number) if path is None else None
            if host is None:
                fresh[_fresh(path or "", kinds, number)] = (frame[0], text, frame[1], number)
            blocks.append(text)
    planted, truth = dict(files), {}
    for path, found in field.insertions.items():
        lines = files[path].splitlines(keepends=True)
        for line, number in sorted(found, reverse=True):
            lines[line:line] = [_indented(blocks[number], lines[line - 1] if line <= len(lines) else "")]
            if line and not lines[line - 1].endswith("\n"):
                lines[line - 1] += "\n"
        planted[path] = _located("".join(lines), path, [number for _, number in sorted(found)], truth)
    for path, (top, text, bottom, number) in fresh.items():
        whole = top + "\x03" + text + ("" if not bottom or text.endswith("\n") else "\n") + "\x04" + bottom
        planted[path] = _located(whole, path, [number], truth)
    plantings = [Planting(*entry[:4], *truth[number], entry[4]) for number, entry in enumerate(entries)]
    return planted, plantings


def _kinds(group: str, count: int, chance: random.Random) -> list[Format]:
    """`count` types, each as often as the others; of the named ones one in eight is long."""
    of = {
        "prefixed": PREFIXED,
        "named": NAMED * 2 + LONG * 3,
        "files": outside_files.TOOL_FILES,
        "split": [kind for kind in PREFIXED + NAMED if _splits(kind.draw(chance))],
        "chosen": [CHOSEN],
    }[group]
    kinds: list[Format] = []
    while len(kinds) < count:
        kinds += chance.sample(of, len(of))
    return kinds[:count]


def _splits(value: str) -> bool:
    return SPLIT_LEAST <= len(value) <= SPLIT_MOST and not set("'\"$`!#%\n") & set(value)


def _written(group: str, kind: Format, chance: random.Random) -> tuple | None:
    """(neutral, style, kinds of host files, own path, frame, text with marks, value); None: try again."""
    value = kind.draw(chance)
    neutral = chance.random() < NEUTRAL_SHARE.get(group, 0)
    telling = chance.choice(kind.names) if kind.names else f"{kind.vendor}_{chance.choice(NOUNS)}"
    name = chance.choice(NEUTRAL) if neutral else telling
    if group == "files":
        path, text = outside_files.write(kind, value, chance)
        return False, "its own file", (), path, ("", ""), text, value
    if group == "split":
        form = chance.choice(outside_split.FORMS)
        if not form.holds(value):
            return None
        text = form.write(outside_styles.CASES[form.case](name.split("_")), form.cut(value, chance))
        return neutral, form.name, form.kinds, None, ("", ""), text + "\n", value
    if kind.name in KEY_FILES:
        path = (
            f"keys/{chance.choice(['server', 'deploy', 'id', 'host'])}{chance.choice(['.pem', '.key', ''])}"
        )
        return neutral, "key file", (), path, ("", ""), f"\x01{value}\x02\n", value
    style = chance.choice(outside_styles.STYLES)
    if not style.holds(value) or (
        len(value) > 300 and style.name in ("markdown prose", "comment", "query parameter")
    ):
        return None
    if neutral and "{n}" not in style.lines:
        return None
    real = tuple(ending for ending in style.kinds if ending.startswith(".") and ending != ".env")
    named = [ending for ending in style.kinds if ending not in real]
    return (
        neutral,
        style.name,
        real,
        named[0] if named else None,
        style.frame,
        style.write(name, value) + "\n",
        value,
    )


def _fresh(path: str, kinds: tuple[str, ...], number: int) -> str:
    """A path of its own: the tool's file name under a folder of the planting's number."""
    return f"deploy/stage{number % 7}/unit{number:04d}/{path or 'settings' + kinds[0]}"


def _indented(block: str, line: str) -> str:
    """The block between \\x03 and \\x04, as far in as the line before it where it brings no blanks of its own."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))] if line.strip() else ""
    if block[:1] in " \t" or len(blanks) > 12:
        blanks = ""
    return "\x03" + "".join(blanks + part for part in block.splitlines(keepends=True)) + "\x04"


def _located(text: str, path: str, numbers: list[int], truth: dict) -> str:
    """`text` without marks; `truth` gets path, spans in bytes and lines of each planting, in order."""
    clean, offset, line = [], 0, 1
    order = iter(numbers)
    spans, first, start, number = [], 1, 0, -1
    for piece in _pieces(text):
        if piece == "\x03":
            number, spans, first = next(order), [], line
        elif piece == "\x01":
            start = offset
        elif piece == "\x02":
            spans.append((start, offset))
        elif piece == "\x04":
            truth[number] = (
                path,
                tuple(spans),
                (first, max(first, line - 1 if clean[-1].endswith("\n") else line)),
            )
        else:
            clean.append(piece)
            offset += len(piece.encode())
            line += piece.count("\n")
    return "".join(clean)


def _pieces(text: str) -> Iterable[str]:
    start = 0
    for i, letter in enumerate(text):
        if letter in "\x01\x02\x03\x04":
            if i > start:
                yield text[start:i]
            yield letter
            start = i + 1
    if start < len(text):
        yield text[start:]


def crossed_out(files: dict[str, str], plantings: list[Planting]) -> dict[str, str]:
    """The same files, each planted line replaced by filler of the same length in bytes."""
    crossed = dict(files)
    for planting in plantings:
        lines = crossed[planting.path].split("\n")
        for i in range(planting.lines[0] - 1, planting.lines[1]):
            lines[i] = (". " * len(lines[i].encode()))[: len(lines[i].encode())]
        crossed[planting.path] = "\n".join(lines)
    return crossed


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A git repository at `folder` with one commit of `files`, checked out for the tools that read a tree."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    stream = [b"commit refs/heads/main\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 3\nall\n"]
    for path in sorted(files):
        data = files[path].encode()
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    git(folder, "fast-import", "--quiet", "--done", stdin=b"".join([*stream, b"done\n"]))
    git(folder, "checkout", "-q", "-f", "main")
    return folder
