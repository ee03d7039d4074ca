"""A company's repository, from a public one: its history, owners on a share of its files, planted credentials.

The repository is cloned and commits are put on top: public third-party code (installed packages), a CODEOWNERS, the
planted credentials. Lock files and what is no text are taken out. What then holds a secret is found by hush itself,
from a config.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hush_core.auditing.made_up import Credential, make_credentials
from hush_core.config import HushConfig
from hush_core.errors import InputError
from hush_core.secrets import extract
from lab.replications.repository_bundle import clone, git, paths, text_files

VENDORED = ("jinja2", "flask", "packaging")
"""Installed packages whose sources are the public text."""
GROUPS = 60
"""One entry has about one in so many files."""
COPIES = {"github-token": 24, "aws-secret-key": 16, "stripe-key": 12, "slack-webhook": 8, "gitlab-token": 6}
"""Planted credential → in how many files."""
ONE_IN = 5
"""So many examples with a secret have one held back before anything else is done: only measured on."""
KEY = b"hush replication identity"
SPREADS: Mapping[str, dict[str, Any]] = {
    "the files alone": {"imports": 0, "copies": False},
    "and near copies": {"imports": 0},
    "and who imports them": {"imports": 1},
}
"""How far entries that are whole files reach; the last is the default of a job."""
_WHO = b"Replication <replication@example.com> 1790000000 +0000"


@dataclass(frozen=True, repr=False)
class Data:
    """One corpus. Ids of `edges` and `occurrences` are places in `texts`; what is held back has none.

    facts: counts, of what was found and of what was planted.
    """

    config: HushConfig
    texts: list[bytes]
    public: list[bytes]
    tagged_back: list[bytes]
    edges: pl.DataFrame
    secrets: pl.DataFrame
    occurrences: pl.DataFrame
    facts: dict[str, int]


def build(bundle: Path, work: Path, *, seed: int) -> Path:
    """A bare clone of the one branch of a git bundle with the commits on top, on branch `hush`; made once a `work`.

    Raises:
        InputError: the bundle holds no history of one branch, or too few files.
    """
    made = work / "repository.git"
    if not (work / "built").exists():
        work.mkdir(parents=True, exist_ok=True)
        head = clone(bundle, made)
        files = text_files(made, head)
        gone = sorted(set(paths(made, head)) - set(files))
        teams = [entry for entry in entries_of(files, seed) if entry["kind"] == "codeowners"]
        owners = "".join(f"/{path} {team['teams'][0]}\n" for team in teams for path in team["_files"])
        stream = b"feature done\n" + _commit("Vendor public packages", _vendored(), gone, head)
        stream += _commit("Owners", {"CODEOWNERS": owners.encode()})
        stream += _commit("Tokens in place until the vault is back", _plant(files, seed))
        git(made, "fast-import", "--quiet", "--force", "--done", stdin=stream + b"done\n")
        (work / "built").write_text(head)
    return made


def read(repository: Path, settings: Mapping[str, Any], spread: str = "and near copies") -> Data:
    """Extract by hush, and hold back one in `ONE_IN` of the examples with a secret.

    Args:
        settings: share (per cent of the files that entries name), seed, and those of `job`. spread: of `SPREADS`.
    """
    base = (repository.parent / "built").read_text()
    files = text_files(repository, base)
    entries = entries_of(files, settings["seed"])
    named = np.cumsum([len(entry["_files"]) for entry in entries]) / len(files)
    entries = entries[: 1 + int(np.searchsorted(named, settings["share"] / 100))]
    config = HushConfig.model_validate(job(repository, entries, settings, SPREADS[spread]))
    found = extract(config, KEY)
    examples, edges = found.examples, found.edges
    tagged = edges["example_id"].unique().sort().to_numpy()
    back = tagged[ONE_IN // 2 :: ONE_IN]
    stays = np.setdiff1d(np.arange(examples.height), back)
    number = np.full(examples.height, -1)
    number[stays] = np.arange(len(stays))
    texts = examples["text"].to_list()
    planted = {one.value for one in make_credentials(settings["seed"]) if one.name in COPIES}
    spans = found.occurrences.select("example_id", "start", "end").iter_rows()
    facts = {
        "files": len(files), "files_of_entries": sum(len(entry["_files"]) for entry in entries),
        "examples": examples.height, "with_secret": len(tagged), "secrets": found.secrets.height,
        "planted": len(planted), "planted_found": len(planted & {texts[i][a:b] for i, a, b in spans}),
        "public": found.public.height,
    }  # fmt: skip
    return Data(
        config, [texts[i] for i in stays], found.public["text"].to_list(), [texts[i] for i in back],
        _renumbered(edges, number), found.secrets, _renumbered(found.occurrences, number), facts,
    )  # fmt: skip


def _renumbered(table: pl.DataFrame, number: np.ndarray) -> pl.DataFrame:
    kind = table.schema["example_id"]
    new = pl.Series("example_id", number[table["example_id"].to_numpy()])
    return table.with_columns(new).filter(pl.col("example_id") >= 0).cast({"example_id": kind})


def job(
    repository: Path, entries: Sequence[dict], settings: Mapping[str, Any], spread: dict[str, Any]
) -> dict[str, Any]:
    """The config: the demo's levels and weights, and rounds of its own."""
    owners = [{k: v for k, v in entry.items() if k != "_files"} | {"spread": spread} for entry in entries]
    credentials = {"id": "creds", "kind": "credentials", "level": "critical", "weak": "drop"}
    return {
        "version": 1,
        "repos": [{"path": str(repository), "rev": "hush"}],
        "levels": {"critical": 1e-4, "high": 1e-3},
        "prior_cap_bits": 33.2,
        "public": ["third_party/**"],
        "secrets": [*owners, credentials],
        "chunk_bytes": 256,
        "weights": {"capacities": "matched", "c": 0.05, "without_secret": "plain"},
        "method": "best",
        "model": {"kind": "byte_gpt", "layers": settings["layers"], "width": settings["width"], "heads": 4},
        "pretrain": {"steps": settings["start"], "batch": 16, "learning_rate": 2e-3},
        "untagged": {"steps": settings["plain"], "batch": 16, "evaluate_every": min(50, settings["plain"])},
        "train": {"rounds": settings["rounds"], "batch": 16, "schedule": "linear", "micro_batch": 64},
        "audit": {"alternatives": settings["alternatives"]},
    }


def entries_of(files: dict[str, bytes], seed: int) -> list[dict]:
    """Disjoint areas in a random order, about as large in bytes as in files: neighbours by path, in turn of a team
    in CODEOWNERS and of globs that name Python code, tests last; `_files`: those named, about a quarter of all."""
    paths, chance = sorted(files), random.Random(f"owners {seed}")
    size, mean = max(1, round(len(files) / GROUPS)), sum(map(len, files.values())) / GROUPS
    fits = lambda area: mean / 2 <= sum(len(files[path]) for path in area) <= 3 * mean / 2  # noqa: E731
    runs = [run for i in range(len(paths) - size) if fits(run := paths[i : i + size])]
    chance.shuffle(runs)
    code = [run for run in runs if all(path.endswith(".py") for path in run)]
    code.sort(key=lambda run: any("test" in path for path in run))
    found: list[dict] = []
    taken: set[str] = set()
    while len(taken) < len(files) / 4:
        number, team = len(found), len(found) % 2 == 0
        kind = "codeowners" if team else "path"
        area = next((run for run in (runs if team else code) if taken.isdisjoint(run)), None)
        if area is None:
            break
        taken |= set(area)
        given = {"teams": [f"@acme/{number}"]} if team else {"globs": [f"/{path}" for path in area]}
        found.append({"id": f"{kind}-{number}", "kind": kind, "level": "high", **given, "_files": area})
    if len(taken) < len(files) / 5:
        raise InputError("repository", "has too few files of alike size for owners", "give a larger one")
    return found


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
