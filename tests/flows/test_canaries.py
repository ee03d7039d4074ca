"""Every kind of entry at once, each with a canary: no value reaches a log, the tracker, Prefect or an output.

Globs, teams and e-mail patterns of the config are the user's own words; what they match is not. A person's
address, a unit of a table, a word, a match, an identifier and a removed line are canaries here.
"""

import base64
import hashlib
import random
import re
import string
from pathlib import Path

import polars as pl
import pytest
from jobs import Job, commit, git
from sizes import some

CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
tables: [{{path: tickets.csv, name: tickets, text: [text], unit: customer}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high, protect: noise,
     spread: {{imports: 2}}}}
  - {{id: owners, kind: codeowners, teams: ["@acme/risk"], level: high, protect: noise}}
  - {{id: quants, kind: contributors, emails: ["*@quant.example.com"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
  - {{id: names, kind: literals, file: codenames.txt, level: high, bits: 20, protect: noise}}
  - {{id: tickets, kind: patterns, file: patterns.txt, level: high, bits: 20, protect: noise}}
  - {{id: jargon, kind: rare_words, document_frequency: [3, 5], level: high, bits: 20, protect: noise}}
  - {{id: gone, kind: removed, paths: ["old/**"], level: high, protect: noise}}
  - {{id: people, kind: unit, table: tickets, level: high, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
train: {{rounds: {rounds}, batch: {batch}}}
tracking: {{experiment: job, model: job}}
"""


class Planted(Job):
    """The job's repository, with one canary a kind."""

    def __init__(self, folder):
        super().__init__(folder, seed=31)
        chance = random.Random(32)

        def word(n=12):
            return "".join(chance.choices(string.ascii_lowercase, k=n))

        self.canaries = {
            "credential": self.token,
            "literal": self.codename,
            "pattern": f"vk-{chance.randrange(10**11, 10**12)}",
            "rare word": f"{word()}x",
            "identifier": f"{word()}_{word(5)}",
            "removed line": f"{word(30)}",
            "tagged line": f"{word(30)}",
            "address": f"{word()}@quant.example.com",
            "person": word(),
            "unit": f"{word()}@customer.example.org",
            "document": word(30),
            "message": word(20),
            "owner": f"{word()}@owner.example.org",
            "weak credential": word(7).capitalize() + "2019!",
        }
        self.values = [value.encode() for value in self.canaries.values()]
        self.plant()
        self.config = self.write("all.yaml", text=CONFIG, rounds=4, batch=4)

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def plant(self):
        value, repository = self.canaries, self.folder / "repository"
        self.put("patterns.txt", "vault: \\bvk-([0-9]{12})\\b\n")
        rows = [
            f'{value["unit"] if i % 7 == 0 else f"c{i % 5}"},"ticket {i} about {i * 37}"' for i in range(30)
        ]
        rows[7] = f'{value["unit"]},"{value["document"]} {value["literal"]}"'
        self.put("tickets.csv", "customer,text\n" + "\n".join(rows) + "\n")
        self.put(
            "repository/trading/core.py",
            f"def {value['identifier']}(v):\n    return v  # {value['tagged line']}\n",
        )
        self.put("repository/app/uses.py", f"from trading.core import {value['identifier']}\nprint(1)\n")
        self.put("repository/app/mentions.py", f"# as {value['identifier']} does\nx = 1\n")
        for i in range(4):
            self.put(f"repository/app/word_{i}.py", f"y = {i}  # {value['rare word']}\n")
        self.put("repository/app/vault.py", f"k = '{value['pattern']}'\n")
        self.put("repository/old/gone.py", f"z = '{value['removed line']}'\n" * 3)
        self.put(
            "repository/CODEOWNERS", f"* @acme/all {value['owner']}\n/risk/ @acme/risk {value['owner']}\n"
        )
        commit(repository, message=value["message"])
        self.put("repository/app/kept.py", f"z = '{value['removed line']}'\n" * 3)
        self.put("repository/app/module_4.py", "QUANT = 6\n" * 12)
        git(repository, "rm", "-q", "-r", "old")
        trailer = f"Co-authored-by: {value['person']} <{value['address']}>"
        commit(repository, message=f"m\n\n{trailer}", email=value["address"])


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return Planted(tmp_path_factory.mktemp("canaries"))


def forms(value: bytes) -> set[bytes]:
    """The value, and it again in base64 at every alignment, in hexadecimal and in UTF-16; in lower case."""
    found = {
        value,
        value.hex().encode(),
        value.decode().encode("utf-16-le"),
        value.decode().encode("utf-16-be"),
    }
    for lead in range(3):
        text = base64.b64encode(b"\0" * lead + value)
        found.add(text[4:-4] if lead else text[: len(value) // 3 * 4])
    return {form.lower() for form in found}


def leaks(job, output, *folders):
    """(canary, file) for each that stands where others can read."""
    private = job.home / "store"
    places = [p for p in job.home.rglob("*") if private not in p.parents]
    places += (private / "results").rglob("*")
    for folder in folders:
        places += Path(folder).rglob("*")
    texts = {"the output": output.encode()}
    for path in (p for p in places if p.is_file()):
        texts[str(path)] = path.read_bytes()
        if path.suffix == ".parquet":  # compressed: look at what a reader sees
            texts[str(path)] += str(pl.read_parquet(path).to_dicts()).encode()
    found = []
    for name, value in job.canaries.items():
        wanted = forms(value.encode())
        found += [
            (name, place) for place, text in texts.items() if any(form in text.lower() for form in wanted)
        ]
    return found


def frames(job, column):
    stored = (pl.read_parquet(p) for p in (job.home / "store" / "objects").rglob("*.parquet"))
    return [frame for frame in stored if column in frame.columns]


def test_no_canary_of_any_kind_leaves_the_private_store(job):
    output = job.hush("plan", job.config, "--c", "0.5", "--out", job.folder / "out")
    assert "`hush run --c 0.5` takes it" in output
    found = {name.split("/")[0] for frame in frames(job, "posterior") for name in frame["name"]}
    assert found == {"alpha", "owners", "quants", "creds", "names", "tickets", "jargon", "gone", "people"}
    digest = hashlib.sha256((job.folder / "tickets.csv").read_bytes()).hexdigest()
    assert digest in {path.read_text().strip() for path in (job.home / "store" / "commits").iterdir()}
    job.canaries["digest of a table"] = digest
    assert leaks(job, output, job.folder / "out") == []
    texts = b"".join(b"".join(frame["text"]) for frame in frames(job, "text"))
    held = {
        "credential",
        "literal",
        "pattern",
        "rare word",
        "identifier",
        "removed line",
        "tagged line",
        "document",
    }
    assert all(job.canaries[name].encode() in texts for name in held), "the test is blind"


@pytest.mark.slow
def test_a_table_that_changed_is_read_again(job):
    examples = []
    for _ in range(2):
        output = job.hush("plan", job.config, "--c", "0.5")
        examples.append(int(re.search(r"of (\d+) examples hold its secrets", output)[1]))
        with (job.folder / "tickets.csv").open("a") as file:
            file.write("someone,hello\n")
    assert examples[1] == examples[0] + 1


def _literals(job, value):
    (job.folder / "broken.txt").write_bytes(value.encode() + b"\xff\n")
    return CONFIG.replace("codenames.txt", "broken.txt")


def _pattern(job, value):
    job.put("broken.txt", f"ok: vk-[0-9]+\n({value}\n")
    return CONFIG.replace("patterns.txt", "broken.txt")


def _row(job, value):
    job.put("broken.csv", f'customer,text\na,b\n{value},"unclosed {value}\n')
    return CONFIG.replace("tickets.csv", "broken.csv")


def _weak(job, value):
    weak = {"app/weak.py": f'url = "postgres://app:{value}@db.corp:5432/x"\n'}
    commit(job.folder / "repository", weak, message=value)
    return CONFIG.replace("kind: credentials, level", "kind: credentials, weak: refuse, level")


FAILURES = {
    "a broken line of literals": (_literals, "broken.txt"),
    "a pattern that RE2 refuses": (_pattern, "broken.txt:2"),
    "a broken row": (_row, "tickets"),
    "a value of a wrong type": (lambda job, value: CONFIG.replace("bits: 20", f"bits: {value}"), "bits"),
    "broken YAML": (lambda job, value: CONFIG + f"{value}: [", "broken.yaml"),
    "a weak credential": (_weak, "weak"),
}


@pytest.mark.parametrize("failure", some(list(FAILURES), 2))
def test_no_refusal_shows_a_canary(job, failure):
    break_it, says = FAILURES[failure]
    text = break_it(job, job.canaries["weak credential"])
    config = job.write("broken.yaml", text=text, rounds=4, batch=4)
    output = job.hush("plan", config, "--c", "0.5", "--out", job.folder / "none", status=2)
    told = [line for line in output.splitlines() if line.startswith("hush: ")]
    assert all(says in line and "Hint:" in line for line in told) and "Traceback" not in output
    assert len(told) == (text.count("bits: ") if failure == "a value of a wrong type" else 1)
    assert leaks(job, output) == [] and not (job.folder / "none").exists()
