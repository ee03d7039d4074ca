"""Plantings of the blind hold-outs (`outside_blind.py`): the sets, their rows filled in, and where each goes.

NOT TO BE READ by anyone who writes or changes a rule of hush.

Every style is planted COUNT times a seed (COUNT_MORE for chosen passwords and connections).
"""

import base64
import gzip
import random
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import outside_fifth_styles
import outside_fifth_types
import outside_sixth_styles
import outside_sixth_types
from outside_planting import Field, Planting, _indented, _located, host_files

COUNT, COUNT_MORE = 2, 4
FRAMES = {
    ".rb": ("# frozen_string_literal: true\n\nmodule Shop\n", "\nend\n"),
    ".kt": ("package net.shop\n\nobject Settings {\n", "\n}\n"), ".swift": ("enum Settings {\n", "\n}\n"),
    ".scala": ("object Settings {\n", "\n}\n"), ".lua": ("return {\n", "\n}\n"), ".pl": ("my %c = (\n", "\n);\n"),
    ".php": ("<?php\n\nnamespace Shop;\n\n", "\n"), ".exs": ("import Config\nconfig :shop,\n", "\n  a: 1\n"),
    ".tf": ('resource "shop" "a" {\n', "\n}\n"), ".sh": ("#!/bin/sh\nset -eu\n", "\necho done\n"),
    ".bat": ("@echo off\n", "\nexit /b 0\n"), ".ps1": ("param($Verbose)\n", "\nWrite-Host done\n"),
    ".sql": ("BEGIN;\n", "\nCOMMIT;\n"), ".properties": ("server.port=8080\n", "\nlogging.level=info\n"),
}  # fmt: skip
DOT_FILES = (".env", ".netrc", ".npmrc", ".bash_history")
FIFTH_FRAMES = {
    ".cs": ("namespace Shop;\n\npublic static class Settings\n{\n", "\n}\n"),
    ".dart": ("library settings;\n\n", "\n"), ".cpp": ('#include "settings.h"\n\n', "\n"),
    ".c": ('#include "settings.h"\n\n', "\n"), ".zig": ('const std = @import("std");\n', "\n"),
}  # fmt: skip
ARRAYS = {
    "0x": "0x%02x",
    "0X": "0x%02X",
    "(byte) 0x": "(byte) 0x%02x",
    "\\x": "\\x%02x",
    "h": "%02x",
    "d": "%d",
}
CASES = {
    "{n}": lambda words: "_".join(words), "{N}": lambda words: "_".join(words).upper(),
    "{k}": lambda words: "-".join(words), "{P}": lambda words: "".join(map(str.capitalize, words)),
    "{c}": lambda words: words[0] + "".join(map(str.capitalize, words[1:])),
}  # fmt: skip


@dataclass(frozen=True)
class Set:
    """A hold-out: its styles by class, its module of types, the seeds, the hosts, frames of fresh files."""

    name: str
    classes: dict[str, str]
    types: ModuleType
    seeds: tuple[int, int]
    hosts: tuple[str, ...]
    frames: dict[str, tuple[str, str]]


FIFTH = Set("fifth", outside_fifth_styles.CLASSES, outside_fifth_types, (50261127, 61843), (
    "gin-gonic/examples", "rust-lang/rustlings", "symfony/demo", "hashicorp/terraform-guides",
    "gothinkster/spring-boot-realworld-example-app", "gothinkster/node-express-realworld-example-app",
), FRAMES | FIFTH_FRAMES)  # fmt: skip
SIXTH = Set("sixth", outside_sixth_styles.CLASSES, outside_sixth_types, (60261128, 40487), (
    "benbjohnson/wtf", "spring-petclinic/spring-petclinic-microservices", "spree/spree_starter",
    "jasontaylordev/CleanArchitecture", "dockersamples/example-voting-app", "miguelgrinberg/microblog",
), FRAMES | FIFTH_FRAMES)  # fmt: skip
SETS = {each.name: each for each in (FIFTH, SIXTH)}


def styles(of: Set) -> list[tuple[str, str, list[str], str, str]]:
    """(class, style, places, families, text) of every style."""
    rows = []
    for title, table in of.classes.items():
        for line in table.strip().splitlines():
            name, places, families, text = line.split(" ¦ ")
            rows.append((title, name, places.split(), families, text.replace("⏎", "\n").replace("⇥", "\t")))
    return rows


def _array(form: str, data: bytes) -> str:
    """A key's bytes as numbers; between \\x01 and \\x02."""
    if "|" in form:
        pattern, between, count, end = [*form.split("|"), "", ""][:4]
        size = int(count or len(data))
        parts = [between.join(pattern % b for b in data[i : i + size]) for i in range(0, len(data), size)]
        return end.join(f"\x01{part}\x02" for part in parts)
    if form.endswith("/"):
        rows = [", ".join(f"0x{b:02x}" for b in data[i : i + 8]) for i in range(0, len(data), 8)]
        return "\x01" + ",\n    ".join(rows) + "\x02"
    if form == "s, ":
        return "\x01" + ", ".join(str(b - 256 if b > 127 else b) for b in data) + "\x02"
    kind = max((k for k in ARRAYS if form.startswith(k)), key=len)
    return "\x01" + form[len(kind) :].join(ARRAYS[kind] % b for b in data) + "\x02"


def _lines(marked: str, before: str, after: str) -> str:
    """Every line of a value between `before` and `after`, the marks around what was between the value's."""
    out, inside = [], False
    for line in marked.split("\n"):
        inside |= "\x01" in line
        bare = line.replace("\x01", "").replace("\x02", "")
        out.append(before + (f"\x01{bare}\x02" if inside else bare) + after)
        inside &= "\x02" not in line
    return "\n".join(out)


def _encoded(how: str, text: str) -> str:
    """`text` encoded; the marks go around the least run of symbols that encodes what they enclosed."""
    plain, places = b"", []
    for piece in re.split("([\x01\x02])", text):
        if piece in ("\x01", "\x02") and piece:
            places.append(len(plain))
        else:
            plain += piece.encode()
    if how == "gz":
        return "\x01" + base64.b64encode(gzip.compress(plain, mtime=0)).decode() + "\x02"
    if how == "url":
        code = [chr(b) if (chr(b).isalnum() and b < 128) or b in b"-_.~" else f"%{b:02X}" for b in plain]
        out, ends = "".join(code), [len("".join(code[:at])) for at in places]
    elif how == "hex":
        out, ends = plain.hex(), [2 * at for at in places]
    else:
        out = (base64.urlsafe_b64encode if how == "b64url" else base64.b64encode)(plain).decode()
        ends = [at * 8 // 6 if i % 2 == 0 else -(-at * 8 // 6) for i, at in enumerate(places)]
    for i in reversed(range(len(ends))):
        out = out[: ends[i]] + "\x01\x02"[i % 2] + out[ends[i] :]
    return out


def written(of: Set, text: str, family: str, chance: random.Random) -> tuple[str, str, str]:
    """(family, type, the style's text filled in, with marks)."""
    types = of.types
    kind, title, value, names = (
        types.credential(family, chance) if family != "B" else ("B", "", "", types.KEY_NAMES)
    )
    if family == "B":
        data = chance.randbytes(64 if text.startswith("[{b:d,}]") else 32)
        title = f"{len(data)} bytes as numbers"
        text = re.sub(r"\{b:([^}]*)\}", lambda m: _array(m[1].replace("\\n", "\n"), data), text, count=1)
    words = chance.choice(names).split("_")
    marked = value if "\x01" in value else f"\x01{value}\x02"
    escaped = marked.replace("\n", "\\n")
    text = re.sub(r"\{l:([^|}]*)\|([^}]*)\}", lambda m: _lines(marked, m[1], m[2]), text)
    before = re.search(r"(?m)^([ ]*)\{v\}", text)
    if before and "\n" in marked:
        marked = marked.replace("\n", "\n" + before[1])
    for token, case in CASES.items():
        text = text.replace(token, case(words))
    other = types.strong(chance, True)[1]
    filled = {"{u}": chance.choice(types.USERS), "{h}": chance.choice(types.PLACES), "{w}": other}
    filled |= {"{x16}": types.of("X", 16, chance), "{C}": marked, "{v}": marked, "{m}": escaped}
    for token, meant in filled.items():
        text = text.replace(token, meant)
    while region := re.search(r"‹(\w+) ([^‹›]*)›", text):
        text = text[: region.start()] + _encoded(region[1], region[2]) + text[region.end() :]
    return (
        kind,
        title,
        re.sub("\x01[^\x02]*\x02", lambda m: re.sub(r"(\n[ \t]*|\\n)", "\x02\\1\x01", m[0]), text),
    )


def plant(of: Set, hosted: dict[str, str], seed: int) -> tuple[dict[str, str], list[Planting]]:
    """Half of `hosted` with plantings, new files with the others, and where each stands (`group`: its class)."""
    chance = random.Random(f"{of.name} {seed}")
    field = Field({path: hosted[path] for path in sorted(hosted) if chance.random() < 0.5}, chance)
    entries, blocks, fresh = [], [], {}
    for title, name, places, families, text in styles(of):
        for _ in range(COUNT_MORE if title == "chosen passwords" or families == "C" else COUNT):
            number = len(entries)
            kind, type_, block = written(of, text, chance.choice(families), chance)
            entries.append((title, type_, name, kind))
            own = [place for place in places if not place.startswith(".") or place in DOT_FILES]
            if own or field.place(tuple(places), number) is None:
                ending = (own or [f"settings{chance.choice(places)}"])[-1]
                path = f"services/unit{number:04d}/{ending}"
                framed = not own and not block.startswith("variable")
                top, bottom = of.frames.get(Path(ending).suffix, ("", "\n")) if framed else ("", "")
                if "⟦" not in block:
                    block = f"⟦{block}⟧"
                whole = top + block.replace("⟦", "\x03").replace("⟧", "\x04") + bottom
                fresh[path], block = (whole, number), ""
            blocks.append(block.replace("⟦", "").replace("⟧", "") + "\n")
    planted, truth = dict(hosted), {}
    for path, found in field.insertions.items():
        lines = hosted[path].splitlines(keepends=True)
        for line, number in sorted(found, reverse=True):
            before = lines[line - 1] if line <= len(lines) else ""
            lines[line:line] = [_indented(blocks[number], before)]
            if line and not lines[line - 1].endswith("\n"):
                lines[line - 1] += "\n"
        planted[path] = _located("".join(lines), path, [number for _, number in sorted(found)], truth)
    for path, (whole, number) in fresh.items():
        planted[path] = _located(whole, path, [number], truth)
    return planted, [
        Planting(title, type_, name, False, *truth[number], kind)
        for number, (title, type_, name, kind) in enumerate(entries)
    ]


def hosts_text(of: Set, mirror: Path, seed: int) -> dict[str, str]:
    """All text files of the set's hosts by path."""
    texts: dict[str, str] = {}
    for host in of.hosts:
        found = host_files([mirror / host.replace("/", "+") / "repo"], seed)
        texts |= {f"{host.split('/')[-1]}/{path}": text for path, text in found.items()}
    return texts


def checked(of: Set, mirror: Path, seed: int) -> list[str]:
    """What is wrong with the plantings of a seed: drawing only. Empty where each stands in its text."""
    hosted = hosts_text(of, mirror, seed)
    files, plantings = plant(of, hosted, seed)
    wrong = []
    for p in plantings:
        data = files[p.path].encode()
        parts = [data[start:end].decode("utf-8", "replace") for start, end in p.spans]
        before = data[: p.spans[0][0]].count(b"\n") + 1 if p.spans else 0
        last = data[: p.spans[-1][1]].count(b"\n") + 1 if p.spans else 0
        entry = "\n".join(files[p.path].split("\n")[p.lines[0] - 1 : p.lines[1]])
        left = re.search(r"\{(?:[nNkPcuhwCvm]|x16|[bl]:[^}]*)\}|[‹›⟦⟧⏎⇥\x01-\x04]", entry)
        named = f"{of.name} {seed} {p.group}: {p.style} ({p.type}, {p.path})"
        if not parts or sum(map(len, parts)) < 6 or not p.lines[0] <= before <= last <= p.lines[1]:
            wrong.append(f"{named}: no value in its lines")
        elif left and not (left[0] in ("{u}", "{n}") and p.path in hosted):
            wrong.append(f"{named}: {left[0]!r} is left")
    return wrong
