"""A real repository with its history, owners on a share of its files, and credentials planted in real files.

The repository is cloned and commits are put on top: public third-party code (installed packages), a CODEOWNERS, the
planted credentials. Lock files and what is no text are taken out. What then holds a secret is found by hush itself,
from a config for each share.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from flows.demo.credentials import Credential, make_credentials
from hush_core.config import HushConfig, load_config
from hush_core.errors import InputError
from hush_core.secrets import extract

VENDORED = ("jinja2", "flask", "packaging")
"""Installed packages whose sources are the public text."""
SHARES = (5, 10, 20)
"""Per cent of the files that entries name: CODEOWNERS, path and contributors in turn; each is part of the next."""
GROUPS = 60
"""One entry has at most about one in so many files."""
COPIES = {"github-token": 24, "aws-secret-key": 16, "stripe-key": 12, "slack-webhook": 8, "gitlab-token": 6}
"""Planted credential → in how many files."""
ONE_IN = 5
"""So many examples with a secret have one held back before anything else is done: only measured on."""
KEY = b"hush benchmark identity"
_WHO = b"Benchmark <benchmark@example.com> 1790000000 +0000"


@dataclass(frozen=True, repr=False)
class Data:
    """One share's corpus. Ids of `edges` and `occurrences` are places in `texts`; what is held back has none."""

    config: HushConfig
    texts: list[bytes]
    public: list[bytes]
    tagged_back: list[bytes]
    edges: pl.DataFrame
    secrets: pl.DataFrame
    occurrences: pl.DataFrame
    facts: dict


def build(repository: Path, work: Path, rev: str, *, seed: int) -> Path:
    """A bare clone with the commits on top, on branch `hush`; made once a `work`."""
    made = work / "repository.git"
    if not (work / "built").exists():
        _git(work, "clone", "--quiet", "--bare", "--no-hardlinks", str(repository.resolve()), str(made))
        base = _git(made, "rev-parse", f"{rev}^{{commit}}").decode().strip()
        files = _text_files(made, base)
        gone = sorted(set(_paths(made, base)) - set(files))
        authors = _authors(made, base, set(files))
        entries = _entries(files, authors, seed)
        teams = [entry for entry in entries if entry["kind"] == "codeowners"]
        owners = "".join(f"/{path} {team['teams'][0]}\n" for team in teams for path in team["_files"])
        stream = b"feature done\n" + _commit("Vendor public packages", _vendored(), gone, base)
        stream += _commit("Owners", {"CODEOWNERS": owners.encode()})
        stream += _commit("Tokens in place until the vault is back", _plant(files, seed))
        _git(made, "fast-import", "--quiet", "--force", "--done", stdin=stream + b"done\n")
        named = np.cumsum([len(entry["_files"]) for entry in entries]) / len(files)
        for share in SHARES:
            job = _config(entries[: 1 + np.searchsorted(named, share / 100)])
            (work / f"share-{share}.yaml").write_text(yaml.safe_dump(job, sort_keys=False))
        (work / "built").write_text(base)
    return made


def read(work: Path, share: int) -> Data:
    """Extract by hush, and hold back one in `ONE_IN` of the examples with a secret."""
    config = load_config(work / f"share-{share}.yaml")
    found = extract(config, KEY)
    examples, edges = found.examples, found.edges
    tagged = edges["example_id"].unique().sort().to_numpy()
    back = tagged[ONE_IN // 2 :: ONE_IN]
    stays = np.setdiff1d(np.arange(examples.height), back)
    number = np.full(examples.height, -1)
    number[stays] = np.arange(len(stays))
    texts = examples["text"].to_list()
    whole = edges.join(
        found.secrets.filter(~pl.col("name").str.contains("/")).select("secret_id"),
        on="secret_id",
        how="semi",
    )["example_id"].unique()
    files = examples.group_by("path").agg(pl.col("example_id").is_in(whole.implode()).any().alias("held"))
    facts = {
        "files": files.height, "files_of_entries": int(files["held"].sum()), "examples": examples.height,
        "with_secret": len(tagged), "of_entries": len(whole), "held_back": len(back),
        "secrets": found.secrets.height, "public": found.public.height,
    }  # fmt: skip
    return Data(
        config, [texts[i] for i in stays], found.public["text"].to_list(), [texts[i] for i in back],
        _renumbered(edges, number), found.secrets, _renumbered(found.occurrences, number), facts,
    )  # fmt: skip


def _renumbered(table: pl.DataFrame, number: np.ndarray) -> pl.DataFrame:
    kind = table.schema["example_id"]
    new = pl.Series("example_id", number[table["example_id"].to_numpy()])
    return table.with_columns(new).filter(pl.col("example_id") >= 0).cast({"example_id": kind})


def _config(entries: list[dict]) -> dict:
    """examples/demo.yaml's levels, weights and rounds; spread reaches no importers, as there."""
    spread = {"spread": {"imports": 0}}  # click imports itself: with importers most of it would hold a secret
    owners = [{k: v for k, v in entry.items() if k != "_files"} | spread for entry in entries]
    credentials = {"id": "creds", "kind": "credentials", "level": "critical", "weak": "drop"}
    return {
        "version": 1,
        "repos": [{"path": "repository.git", "rev": "hush"}],
        "levels": {"critical": 1e-4, "high": 1e-3},
        "prior_cap_bits": 33.2,
        "public": ["third_party/**"],
        "secrets": [*owners, credentials],
        "chunk_bytes": 256,
        "weights": {"capacities": "matched", "c": 0.05, "without_secret": "plain"},
        "method": "best",
        "model": {"kind": "byte_gpt", "layers": 1, "width": 96, "heads": 4},
        "pretrain": {"steps": 600, "batch": 16, "learning_rate": 2e-3},
        "untagged": {"steps": 750, "batch": 16, "evaluate_every": 50},
        "train": {
            "rounds": 40,
            "batch": 16,
            "learning_rate": 1e-3,
            "schedule": "linear",
            "freeze": ["embedding", "matrices"],
            "micro_batch": 64,
        },
        "audit": {"alternatives": 300},
    }


def _entries(files: dict[str, bytes], authors: dict[str, list[str]], seed: int) -> list[dict]:
    """Disjoint areas in a random order, about as large in bytes as in files: neighbours by path for teams and
    globs, what a rare author changed."""
    paths, chance = sorted(files), random.Random(f"owners {seed}")
    size, mean = max(1, round(len(files) / GROUPS)), sum(map(len, files.values())) / GROUPS
    fits = lambda area: mean / 2 <= sum(len(files[path]) for path in area) <= 3 * mean / 2  # noqa: E731
    runs = [run for i in range(len(paths) - size) if fits(run := paths[i : i + size])]
    rare = [
        author for author in sorted(authors) if len(authors[author]) <= 2 * size and fits(authors[author])
    ]
    chance.shuffle(runs)
    chance.shuffle(rare)
    entries, taken = [], set()
    while len(taken) < max(SHARES) / 100 * len(files):
        number = len(entries)
        kind = ("codeowners", "path", "contributors")[number % 3]
        if kind == "contributors":
            author = next((a for a in rare if taken.isdisjoint(authors[a])), None)
            area, given = authors[author] if author else [], {"emails": [author]}
        else:
            area = next((run for run in runs if taken.isdisjoint(run)), [])
            given = (
                {"teams": [f"@acme/{number}"]}
                if kind == "codeowners"
                else {"globs": [f"/{path}" for path in area]}
            )
        if not area:
            raise InputError("repository", f"has too few files or authors for {kind}", "give a larger one")
        taken |= set(area)
        entries.append({"id": f"{kind}-{number}", "kind": kind, "level": "high"} | given | {"_files": area})
    return entries


def _plant(files: dict[str, bytes], seed: int) -> dict[str, bytes]:
    """Files with an assignment of a credential before a top-level block: `NAME = "value"`."""
    chance = random.Random(f"credentials {seed}")
    modules = sorted(path for path in files if path.endswith(".py") and _blocks(files[path]))
    planted: dict[str, bytes] = {}
    for credential in make_credentials(seed):
        for path in chance.sample(modules, k=min(COPIES.get(credential.name, 0), len(modules))):
            planted[path] = _with_line(planted.get(path, files[path]), credential, chance)
    return planted


def _with_line(content: bytes, credential: Credential, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    place = chance.choice(_blocks(content))
    line = f'{credential.variable} = "{credential.value.decode()}"\n\n\n'.encode()
    return b"".join([*lines[:place], line, *lines[place:]])


def _blocks(content: bytes) -> list[int]:
    """Lines (from 0) that begin a function, class or decorator at the top level after an empty line."""
    lines = content.splitlines()
    starts = (b"def ", b"class ", b"@")
    return [n for n in range(1, len(lines)) if lines[n].startswith(starts) and not lines[n - 1].strip()]


def _vendored() -> dict[str, bytes]:
    """third_party/PACKAGE/… of what is installed."""
    files = {}
    for name in VENDORED:
        for file in distribution(name).files or ():
            if file.suffix == ".py" and "site-packages" not in file.parts:
                files[f"third_party/{file.as_posix()}"] = Path(str(file.locate())).read_bytes()
    return files


def _text_files(git: Path, rev: str) -> dict[str, bytes]:
    """What is trained on: text, and no lock file (those are hashes of public packages)."""
    files = {}
    for path in _paths(git, rev):
        content = _git(git, "cat-file", "blob", f"{rev}:{path}")
        if content and b"\0" not in content and not path.endswith(".lock"):
            files[path] = content
    return files


def _paths(git: Path, rev: str) -> list[str]:
    lines = _git(git, "ls-tree", "-r", "-z", rev).decode().split("\0")
    return [line.split("\t", 1)[1] for line in lines if line.startswith("100")]


def _authors(git: Path, rev: str, present: set[str]) -> dict[str, list[str]]:
    """E-mail → the present files that its commits changed, under whatever name they had then."""
    log = _git(
        git,
        "log",
        "-M",
        "--diff-merges=first-parent",
        "--name-status",
        "--topo-order",
        "--format=%x01%ae",
        rev,
    )
    now = {path: path for path in present}
    found: dict[str, set[str]] = defaultdict(set)
    for part in log.decode("utf-8", "replace").split("\x01")[1:]:
        author, *lines = part.splitlines()
        for kind, *names in (line.split("\t") for line in lines if line):
            if kind.startswith("R") and names[1] in now:
                now.setdefault(names[0], now[names[1]])
            found[author] |= {now[name] for name in names if name in now}
    return {author: sorted(paths) for author, paths in found.items() if paths}


def _commit(message: str, files: dict[str, bytes], gone: Sequence[str] = (), base: str = "") -> bytes:
    """In git fast-import's format."""
    out = bytearray(b"commit refs/heads/hush\nauthor " + _WHO + b"\ncommitter " + _WHO + b"\n")
    out += b"data %d\n%s\n" % (len(message), message.encode())
    if base:
        out += f"from {base}\n".encode()
    for path in gone:
        out += f"D {path}\n".encode()
    for path, content in sorted(files.items()):
        out += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)
    return bytes(out)


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(folder), "LC_ALL": "C",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-c", f"core.hooksPath={os.devnull}", *arguments],
        cwd=folder, env=environment, input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(
            f"git {arguments[0]}", said[-1] if said else "failed", "give a repository with its history"
        )
    return done.stdout
