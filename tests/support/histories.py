"""Random histories by several people: renames with edits, copies, splits, moved and re-indented lines, merges."""

import random
from pathlib import Path

PEOPLE = ("ann@x.org", "bob@x.org", "cyd@x.org")
_GENERIC = ("return None", "}", "", "import os", "# ---", "else:", "self.value = value")

Files = dict[str, list[str]]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.stream: list[bytes] = []
        self.mark = 0
        self.line = 0

    def lines(self, count: int, who: str) -> list[str]:
        """Lines of a person, a third of them such as anybody writes."""
        made = []
        for _ in range(count):
            self.line += 1
            own = f"{who[:3]} writes line {self.line} of this {self.chance.randrange(100)}"
            made.append(self.chance.choice(_GENERIC) if self.chance.random() < 0.33 else own)
        return made

    def commit(self, who: str, files: Files, parents: list[int]) -> int:
        self.mark += 1
        self.stream.append(
            f"commit refs/heads/main\nmark :{self.mark}\nauthor x <{who}> {1_700_000_000 + self.mark * 60} +0000\n"
            f"committer x <{who}> {1_700_000_000 + self.mark * 60} +0000\ndata 1\nm\n".encode()
        )
        for word, parent in zip(("from", "merge", "merge"), parents, strict=False):
            self.stream.append(f"{word} :{parent}\n".encode())
        self.stream.append(b"deleteall\n")
        for path, lines in sorted(files.items()):
            data = "".join(f"{line}\n" for line in lines).encode()
            self.stream.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
        return self.mark

    def edited(self, lines: list[str], who: str, share: float) -> list[str]:
        """The lines with some replaced, removed, added, moved or indented."""
        result = list(lines)
        for _ in range(max(1, int(len(lines) * share))):
            at = self.chance.randrange(len(result) + 1)
            kind = self.chance.randrange(5)
            if kind == 0 or not result:
                result[at:at] = self.lines(self.chance.randint(1, 3), who)
            elif kind == 1:
                del result[at : at + 1]
            elif kind == 2:
                result[at : at + 1] = self.lines(1, who)
            elif kind == 3:
                part = result[at : at + 3]
                del result[at : at + 3]
                to = self.chance.randrange(len(result) + 1)
                result[to:to] = part
            else:
                result[at : at + 2] = ["    " + line for line in result[at : at + 2]]
        return result

    def changed(self, files: Files, who: str) -> Files:
        result = {path: list(lines) for path, lines in files.items()}
        path = self.chance.choice(sorted(result)) if result else ""
        new = f"d{self.chance.randrange(4)}/f{self.mark}_{self.chance.randrange(9)}.py"
        kind = self.chance.randrange(8) if result else 0
        if kind == 0:
            result[new] = self.lines(self.chance.randint(5, 40), who)
        elif kind <= 2:
            result[path] = self.edited(result[path], who, 0.1)
        elif kind == 3:  # renamed, and edited a little or beyond what git sees
            result[new] = self.edited(result.pop(path), who, self.chance.choice((0.02, 0.3, 1.5)))
        elif kind == 4:
            result[new] = self.edited(result[path], who, 0.1)
        elif kind == 5:  # split
            lines = result.pop(path)
            half = len(lines) // 2
            result[new] = self.edited(lines[:half], who, 0.1)
            result[new + "x"] = self.edited(lines[half:], who, 0.1)
        elif kind == 6:  # merged into another
            other = self.chance.choice(sorted(result))
            if other != path:
                result[other] += result.pop(path)
        elif len(result) > 3:
            del result[path]
        return result


def write_history(repo, seed: int, commits: int = 60) -> Path:
    """Fill an empty repository with a random history; the same for the same seed."""
    writer = _Writer(seed)
    tips: list[tuple[int, Files]] = [
        (writer.commit(PEOPLE[0], start := {"a.py": writer.lines(30, PEOPLE[0])}, []), start)
    ]
    for _ in range(commits):
        who = writer.chance.choice(PEOPLE)
        mark, files = writer.chance.choice(tips[-3:])
        if len(tips) > 3 and writer.chance.random() < 0.2:
            other, theirs = tips[-1] if tips[-1][0] != mark else tips[-2]
            both = {**theirs, **{p: lines for p, lines in files.items() if writer.chance.random() < 0.8}}
            if writer.chance.random() < 0.5:  # an evil merge changes more
                both = writer.changed(both, who)
            tips.append((writer.commit(who, both, [mark, other]), both))
        else:
            made = writer.changed(files, who)
            tips.append((writer.commit(who, made, [mark]), made))
    repo.git("fast-import", "--quiet", "--force", stdin=b"".join(writer.stream))
    return repo.path
