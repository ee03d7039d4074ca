"""The fourth and the fifth hold-out: credentials planted by who read no rule, in one run of hush and of the others.

    python lab/benchmarks/outside_blind.py --set fifth --mirror FOLDER --out FILE.json [--hush CHECKOUT]
        [--peer NAME=ENV] ...

Rules were tuned on the fourth set on 2026-11-27. The modules of the fifth are NOT TO BE READ by anyone who writes
or changes a rule: it is a hold-out only as long as nothing is tuned on it. FOLDER holds the git directories of
HOSTS as `fetch` lays them out.

Every style is planted COUNT times a seed (COUNT_MORE for chosen passwords and connections), in a random half of the
hosts' files; false positives are counted in every file without a planting. Judged as in `outside_recall.py`, strict
for hush and mild for the others. Where the credential stands encoded, only the bytes that encode it count; of a PEM
block its body, of an array its numbers.
"""

import argparse
import base64
import gzip
import json
import random
import re
import resource
import subprocess
import tempfile
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

import outside_peers
from outside_keys import key_lines
from outside_planting import Field, Planting, _indented, _located, crossed_out, host_files, repository
from outside_recall import OURS, hush_found, judged, reported_lines, wilson

SEEDS = {"fourth": (40261126, 7793), "fifth": (51261127, 90473)}
HOSTS = {
    "fourth": (
        "actix/examples", "jhipster/jhipster-sample-app", "wagtail/bakerydemo", "dotnet-architecture/eShopOnWeb",
        "gothinkster/golang-gin-realworld-example-app", "laravel/laravel",
    ),
    "fifth": (
        "gin-gonic/examples", "spring-projects/spring-petclinic", "rust-lang/rustlings",
        "nestjs/typescript-starter", "symfony/demo", "django/djangoproject.com", "heroku/ruby-getting-started",
    ),
}  # fmt: skip
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


class HoldOut:
    """One of the sets: its classes of styles, and its types of credential."""

    def __init__(self, name: str) -> None:
        self.name, self.seeds, self.hosts = name, SEEDS[name], HOSTS[name]
        self.classes = import_module(f"outside_{name}_styles").CLASSES
        self.types = import_module(f"outside_{name}_types")


def styles(classes: dict[str, str]) -> list[tuple[str, str, list[str], str, str]]:
    """(class, style, places, families, text) of every style."""
    rows = []
    for title, table in classes.items():
        for line in table.strip().splitlines():
            name, places, families, text = line.split(" ¦ ")
            rows.append((title, name, places.split(), families, text.replace("⏎", "\n").replace("⇥", "\t")))
    return rows


def _array(form: str, data: bytes) -> str:
    """A key's bytes as numbers; between \\x01 and \\x02."""
    if form.endswith("/"):
        rows = [", ".join(f"0x{b:02x}" for b in data[i : i + 8]) for i in range(0, len(data), 8)]
        return "\x01" + ",\n    ".join(rows) + "\x02"
    if form == "s, ":
        return "\x01" + ", ".join(str(b - 256 if b > 127 else b) for b in data) + "\x02"
    kind = max((k for k in ARRAYS if form.startswith(k)), key=len)
    return "\x01" + form[len(kind) :].join(ARRAYS[kind] % b for b in data) + "\x02"


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


def written(types: ModuleType, text: str, family: str, chance: random.Random) -> tuple[str, str, str]:
    """(family, type, the style's text filled in, with marks)."""
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


def plant(hold_out: HoldOut, hosted: dict[str, str], seed: int) -> tuple[dict[str, str], list[Planting]]:
    """Half of `hosted` with plantings, new files with the others, and where each stands (`group`: its class)."""
    chance = random.Random(f"{hold_out.name} {seed}")
    field = Field({path: hosted[path] for path in sorted(hosted) if chance.random() < 0.5}, chance)
    entries, blocks, fresh = [], [], {}
    for title, name, places, families, text in styles(hold_out.classes):
        for _ in range(COUNT_MORE if title == "chosen passwords" or families == "C" else COUNT):
            number = len(entries)
            kind, type_, block = written(hold_out.types, text, chance.choice(families), chance)
            entries.append((title, type_, name, kind))
            own = [place for place in places if not place.startswith(".") or place in DOT_FILES]
            if own or field.place(tuple(places), number) is None:
                ending = (own or [f"settings{chance.choice(places)}"])[-1]
                path = f"services/unit{number:04d}/{ending}"
                framed = not own and not block.startswith("variable")
                top, bottom = FRAMES.get(Path(ending).suffix, ("", "\n")) if framed else ("", "")
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


def hosts_text(mirror: Path, hosts: tuple[str, ...], seed: int) -> dict[str, str]:
    """All text files of `hosts` by path."""
    texts: dict[str, str] = {}
    for host in hosts:
        found = host_files([mirror / host.replace("/", "+") / "repo"], seed)
        texts |= {f"{host.split('/')[-1]}/{path}": text for path, text in found.items()}
    return texts


def measured(hold_out: HoldOut, mirror: Path, finders: dict[str, Path], seed: int) -> dict:
    """Of one seed: each planting without its value, who of `finders` (hush by its checkout, peers by their
    environments) found it, false positives and CPU seconds."""
    hosted = hosts_text(mirror, hold_out.hosts, seed)
    files, plantings = plant(hold_out, hosted, seed)
    clean = {path: text for path, text in hosted.items() if files[path] == text}
    keys, certificates = key_lines(clean)
    hits, facts = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "planted", files)
        crossed = repository(Path(folder) / "crossed", crossed_out(files, plantings))
        for who, environment in finders.items():
            begin = _cpu()
            try:
                if who == OURS:
                    found, others = hush_found(tree, environment), hush_found(crossed, environment)
                    lines, said = reported_lines(clean, found), judged(files, plantings, found, others)
                    hits[who] = [how != "missed" for how in said]
                    facts[who] = {"dropped_only": said.count("dropped"), "secrets": found["secrets"]}
                else:
                    lines, _ = outside_peers.reported(who, environment, tree)
                    hits[who] = [
                        any((p.path, i) in lines for i in range(p.lines[0], p.lines[1] + 1))
                        for p in plantings
                    ]
                    facts[who] = {}
            except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError) as error:
                facts[who] = {"failed": f"{type(error).__name__}: {error}"[:300]}
                continue
            mine = {(path, line) for path, line in lines if path in clean}
            facts[who] |= {
                "false_positive_lines": len(mine - keys - certificates),
                "lines_with_key_blocks": len(mine),
                "cpu_seconds": round(_cpu() - begin, 1),
            }
            print(seed, who, sum(hits[who]), len(plantings), facts[who], flush=True)
    return {
        "seed": seed, "megabytes_without_plantings": sum(len(t.encode()) for t in clean.values()) / 1e6,
        "megabytes": sum(len(t.encode()) for t in files.values()) / 1e6, "facts": facts, "hits": hits,
        "plantings": [{"class": p.group, "style": p.style, "type": p.type, "family": p.value} for p in plantings],
    }  # fmt: skip


def _cpu() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def rows(results: list[dict], key: str) -> list[dict]:
    """Both seeds together: by `key` (class or family), recall of each finder, of the peers together and of any."""
    finders = [w for w in results[0]["hits"] if all(w in result["hits"] for result in results)]
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        for i, planting in enumerate(result["plantings"]):
            for row in ("all", planting[key]):
                found = {who: result["hits"][who][i] for who in finders}
                found["all peers"] = any(found[who] for who in finders if who != OURS)
                counts[row]["n"] += 1
                for who, hit in found.items():
                    counts[row][who] += hit
    return [
        {key: row, "plantings": c["n"],
         "found": {who: {"count": c[who], "interval": wilson(c[who], c["n"])} for who in [*finders, "all peers"]}}
        for row, c in counts.items()
    ]  # fmt: skip


def table(rows_: list[dict], key: str) -> str:
    """Markdown: recall in percent with 95 % Wilson intervals."""
    who = list(rows_[0]["found"])
    lines = ["| " + " | ".join([key, "n", *who]) + " |", "|" + "---|" * (len(who) + 2)]
    for row in rows_:
        cells = [
            f"{100 * f['count'] / row['plantings']:.1f} ({100 * low:.0f}–{100 * high:.0f})"
            for f in row["found"].values()
            for low, high in [f["interval"]]
        ]
        lines.append("| " + " | ".join([row[key], str(row["plantings"]), *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=sorted(SEEDS), default="fifth")
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument(
        "--hush", type=Path, default=Path(__file__).parents[2], help="the checkout that is measured"
    )
    parser.add_argument("--peer", action="append", default=[], help="NAME=ENVIRONMENT, see outside_peers.py")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    peers = {name: Path(path) for name, path in (word.split("=", 1) for word in given.peer)}
    results, hold_out = [], HoldOut(given.set)
    for seed in hold_out.seeds:
        results.append(measured(hold_out, given.mirror, {OURS: given.hush, **peers}, seed))
        missed = sorted({
            (p["class"], p["style"]) for result in results
            for p, hit in zip(result["plantings"], result["hits"].get(OURS, []), strict=False) if not hit
        })  # fmt: skip
        by = {key: rows(results, key) for key in ("class", "family")}
        said = {"results": results, **by, "missed": missed, "peers": outside_peers.versions(peers)}
        given.out.write_text(json.dumps(said, ensure_ascii=False))
    print(*(table(by[key], key) for key in by), sep="\n\n")


if __name__ == "__main__":
    main()
