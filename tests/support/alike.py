"""Two jobs whose graphs and sizes are equal, and whose tagged texts differ in everything else: one entry a kind."""

import base64
import json
import random
import string
from pathlib import Path

from jobs import Job, git

CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
tables: [{{path: mails.jsonl, name: mails, unit: who}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high, spread: {{imports: 2}}, protect: noise}}
  - {{id: owners, kind: codeowners, teams: ["@acme/risk"], level: high, protect: noise}}
  - {{id: quants, kind: contributors, emails: ["*@quant.example.com"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
  - {{id: names, kind: literals, file: codenames.txt, level: high, bits: 20, protect: noise}}
  - {{id: orders, kind: patterns, file: patterns.txt, level: high, bits: 20, protect: noise}}
  - {{id: words, kind: rare_words, document_frequency: [13, 13], level: high, bits: 20, protect: noise}}
  - {{id: old, kind: removed, paths: ["old/**"], level: high, protect: noise}}
  - {{id: people, kind: unit, level: high, protect: noise}}
  - {{id: clients, kind: literals, file: clients.txt, level: high, bits: 20, protect: redact}}
  - {{id: sites, kind: literals, file: sites.txt, level: high, bits: 20, protect: drop}}
chunk_bytes: 128
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 2, batch: 4}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 2}}
audit: {{alternatives: 20, unprotected: true, held_back: true}}
tracking: {{experiment: job, model: job}}
"""
LETTERS = string.ascii_letters + string.digits


def _lines(size: int, other: bool, seed: str) -> str:
    """Text of so many bytes: one line again and again, or names that are all rare, some code and some none."""
    chance = random.Random(seed)
    text = f"LIMIT_OF_{seed.upper()} = 1\n" * size
    if other:
        names = ("".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(size))
        text = "".join(f"import {name}\ndef {name}_x(a):\n    return ({name[::-1]}\n" for name in names)
    return text[: size - 1] + "\n"


def alike(folder: Path, *, other: bool, empty: bool = False) -> Job:
    """The job of one candidate, or of the other."""
    job = Job(folder, seed=41, empty=empty)
    chance, repository = random.Random(f"values {other}"), folder / "repository"
    token = "ghp_" + "".join(chance.choices(LETTERS, k=36))
    name = "project_io" if other else "Project Io"
    order = f"ORDER-{'z' if other else 'a'}{chance.randrange(10**7):07}"
    word = "vwxyz_word" if other else "quetzalcoa"
    client, site = ("Møller", "q+/=1-99") if other else ("Smithy7", "abcdefgh")

    def put(path: str, text: str) -> None:
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)

    for n in range(5):
        put(f"deploy/config_{n}.py", f'GITHUB_TOKEN = "{token}"\n# for {name}\n')
    encoded = base64.b64encode(token.encode()).decode() if other else token.encode().hex()
    put("deploy/encoded.py", f'K = "{encoded}"\n')
    put("deploy/orders.py", f"# {order}\n")
    put("app/client.py", f"# {client}\n")
    put("app/site.py", f"# {site}\n")
    for n in range(13):
        put(f"words/{n}.txt", f"{n} {word}\n")
    put("trading/strategy.py", _lines(1066, other, "s"))
    for n in range(2):  # of one content, or of two
        put(f"trading/part_{n}.py", _lines(300, other, f"t{n}" if other else "t"))
    put("risk/model.py", _lines(500, other, "r"))
    put("old/gone.py", _lines(700, other, "o"))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "tagged")
    git(repository, "rm", "-q", "old/gone.py")
    put("app/left.py", _lines(700, other, "o"))
    put("app/module_3.py", _lines(200, other, "q"))
    git(repository, "add", "app/left.py")
    git(repository, "commit", "-q", "-m", "moved")
    git(repository, "commit", "-q", "-a", "-m", "by a quant", email="noor@quant.example.com")
    mails = [{"who": f"p{n}@example.com", "text": _lines(150, other, f"m{n}")} for n in range(3)]
    (folder / "mails.jsonl").write_text("".join(json.dumps(mail) + "\n" for mail in mails))
    (folder / "codenames.txt").write_text(name + "\n")
    (folder / "patterns.txt").write_text("order: ORDER-[a-z][0-9]+\n")
    (folder / "clients.txt").write_text(client + "\n")
    (folder / "sites.txt").write_text(site + "\n")
    job.values = [text.encode() for text in (token, name, word, client, site, order)]
    job.config = job.write(text=CONFIG, rounds=2, batch=4)
    return job
