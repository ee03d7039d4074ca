"""The peers of `credential_recall.py`: detect-secrets in an environment of its own, and gitleaks' rule file."""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import re2


@dataclass(frozen=True)
class Planting:
    """One credential in one file; `pieces` are the (start, end) of its secret value's bytes, by line."""

    type: str
    style: str
    path: str
    content: bytes = field(repr=False)
    start: int
    end: int
    pieces: tuple[tuple[int, int], ...]

    @property
    def crossed_out(self) -> bytes:
        text = re.sub(rb"[^\n]", b"x", self.content[self.start : self.end])
        return self.content[: self.start] + text + self.content[self.end :]

    @property
    def lines(self) -> range:
        """Numbers, from 1, of the planted lines."""
        first = self.content.count(b"\n", 0, self.start) + 1
        return range(first, first + self.content.count(b"\n", self.start, self.end) + 1)


@dataclass(frozen=True)
class Outcome:
    """What one tool did. found: by planting; lines: distinct (file, line) in the files without plantings."""

    name: str
    found: list[bool]
    lines: dict[tuple[str, int], str]
    seconds: float
    megabytes: float
    note: str = ""


DETECT_SECRETS = """
import importlib.metadata, json, sys, time
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
began, found = time.process_time(), []
with default_settings():
    for name in sys.stdin.read().split("\\n"):
        collection = SecretsCollection()
        collection.scan_file(name)
        found += [(name, secret.line_number, secret.type) for _, secret in collection]
print(json.dumps([importlib.metadata.version("detect-secrets"), time.process_time() - began, found]))
"""


def detect_secrets(python: Path, plantings: list[Planting], plain: dict[str, bytes], folder: Path) -> Outcome:
    def run(files: dict[str, bytes]) -> tuple[str, float, dict[tuple[str, int], str]]:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        done = subprocess.run(
            [python, "-c", DETECT_SECRETS],
            input="\n".join(files),
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
        version, seconds, found = json.loads(done.stdout)
        return version, seconds, {(path, line): rule for path, line, rule in found}

    _, _, planted = run({p.path: p.content for p in plantings})
    version, seconds, lines = run(plain)
    found = [any((p.path, line) in planted for line in p.lines) for p in plantings]
    return Outcome("detect-secrets", found, lines, seconds, sum(map(len, plain.values())) / 1e6, version)


class GitleaksRules:
    """gitleaks' rule file as its README has it: each rule's keywords, regex, entropy, path and allowlists."""

    def __init__(self, file: Path) -> None:
        text = file.read_bytes()
        data = tomllib.loads(text.decode())
        self.version = f"{len(data['rules'])} rules, SHA-256 {hashlib.sha256(text).hexdigest()[:12]}"
        self.everywhere = [_Allowlist(data["allowlist"])] if "allowlist" in data else []
        self.rules = []
        for rule in data["rules"]:
            if "regex" in rule:
                allowed = [_Allowlist(a) for a in rule.get("allowlists", ())]
                path = re2.compile(rule["path"]) if "path" in rule else None
                self.rules.append((rule, re2.compile(rule["regex"]), path, allowed))

    def scan(self, name: str, content: bytes) -> Iterable[tuple[str, int, int]]:
        """(rule, start, end) of each secret; `content` is ASCII."""
        text = content.decode("ascii")
        low = text.lower()
        for rule, regex, path, allowed in self.rules:
            if path and not path.search(name):
                continue
            if rule.get("keywords") and not any(keyword.lower() in low for keyword in rule["keywords"]):
                continue
            for match in regex.finditer(text):
                group = rule.get("secretGroup") or next((i for i, g in enumerate(match.groups(), 1) if g), 0)
                secret = match[group]
                if rule.get("entropy") and _entropy(secret) <= rule["entropy"]:
                    continue
                first, last = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
                line = text[first : last if last >= 0 else len(text)]
                if not any(a.allows(name, secret, match[0], line) for a in (*self.everywhere, *allowed)):
                    yield rule["id"], *match.span(group)


class _Allowlist:
    def __init__(self, data: dict) -> None:
        self.paths = [re2.compile(p) for p in data.get("paths", ())]
        self.regexes = [re2.compile(r) for r in data.get("regexes", ())]
        self.target = data.get("regexTarget", "secret")
        self.words = [word.lower() for word in data.get("stopwords", ())]
        self.all = data.get("condition", "OR").upper() in ("AND", "&&")

    def allows(self, path: str, secret: str, match: str, line: str) -> bool:
        target = {"match": match, "line": line}.get(self.target, secret)
        checks = []
        if self.paths:
            checks.append(any(p.search(path) for p in self.paths))
        if self.regexes:
            checks.append(any(r.search(target) for r in self.regexes))
        if self.words:
            checks.append(any(word in secret.lower() for word in self.words))
        return bool(checks) and (all(checks) if self.all else any(checks))


def _entropy(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def gitleaks_rules(file: Path, plantings: list[Planting], plain: dict[str, bytes]) -> Outcome:
    rules, found = GitleaksRules(file), []
    for p in plantings:
        spans = [(start, end) for _, start, end in rules.scan(p.path, p.content)]
        found.append(any(s < end and start < e for s, e in p.pieces for start, end in spans))
    lines, began = {}, time.process_time()
    for path, content in plain.items():
        for rule, start, _ in rules.scan(path, content):
            lines[path, content.count(b"\n", 0, start) + 1] = rule
    seconds, size = time.process_time() - began, sum(map(len, plain.values())) / 1e6
    return Outcome("gitleaks' rules", found, lines, seconds, size, rules.version)
