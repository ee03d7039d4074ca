"""What a model gives away after one night and after ten that each go on from the night before, at one promise.

A git bundle of a public repository (pallets/click) stands in for a company's. The nights are the last --nights of
its first parents, --stride apart, of which source and tests are taken; on top three installed packages as public
text and five credentials of published formats, each at the end of 6 to 24 files without an owner; the last of them
comes with the night after the middle. Secrets at p = 1e-10: four files of one team, each at r = 1e-3, and each
credential at r = 1e-4. One home runs the whole job (`flows.train`) on every commit under `promise: {runs: NIGHTS}`
with `train.start: champion`, and approves each version (`flows.review`), so that the next night goes on from it.

Beside it the same start is trained without any protection on all of each night's text, night after night, by as
many examples a night. After the first, the middle and the last night the same attacks are made on both models and
on the public start: planted values ranked among --alternatives + 1 of their form, and how many of 300 texts with a
secret that the night's rounds may draw are gone on with word for word (64 bytes shown, 16 asked for, four places).
One seed.

Expected before the first run at this size: after ten nights the unprotected model has most planted values first and
hush none that the public start has not; held-out loss without a secret within 2 % of the unprotected model's; σ of
the first night at most 1.5 times what it would take alone, as the nine later ones have a tenth of its rounds; word
for word hush stays where the public start is, to within the interval.

    python lab/benchmarks/nightly_attacks.py --bundle FOLDER/repository.bundle --out nightly_attacks.json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from nightly_loss import ROOT, git

from hush_core.auditing.made_up import make_credentials

TAKEN = ("src/click", "tests")
TEAM = tuple(f"src/click/{name}.py" for name in ("termui", "_termui_impl", "shell_completion", "formatting"))
PUBLIC = ("jinja2", "flask", "packaging")
COPIES = {"github-token": 24, "aws-secret-key": 16, "stripe-key": 12, "slack-webhook": 8, "gitlab-token": 6}
"""Planted credential → in how many files; the last one comes late."""
LATE = "gitlab-token"
CONFIG = """\
version: 1
repos: [{{path: repository, rev: {rev}}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
prior_cap_bits: 33.2
public: ["third_party/**"]
secrets:
{entries}
  - {{id: creds, kind: credentials, level: critical, weak: drop, protect: noise}}
chunk_bytes: 256
weights: {{capacities: matched, c: 0.05, without_secret: plain}}
promise: {{runs: {nights}}}
model: {{layers: 1, width: {width}, heads: 4}}
pretrain: {{steps: {start}, batch: 16, learning_rate: 2.0e-3}}
untagged: {{steps: {steps}, batch: 16, evaluate_every: 50}}
train:
  {{rounds: {rounds}, batch: {batch}, schedule: linear, learning_rate: 3.0e-4, checkpoint_every: 100,
    start: champion, later_rounds: {later}}}
audit: {{alternatives: 1}}
tracking: {{experiment: nightly, model: nightly}}
"""
ENTRY = (
    '  - {{id: "{name}", kind: path, globs: ["{path}"], level: high, spread: {{imports: 0}}, protect: noise}}'
)
SEED, SHOWN, ASKED, TEXTS = 7, 64, 16, 300


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bundle", type=Path)
    for name, default in (
        ("nights", 10), ("stride", 3), ("start", 300), ("steps", 100), ("rounds", 40), ("later", 4), ("batch", 16),
        ("width", 96), ("alternatives", 300),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.home:
        return one_home(given.home, given)
    if not given.bundle:
        parser.error("--bundle: which repository?")
    with tempfile.TemporaryDirectory(prefix="hush-nightly-") as folder:
        work = Path(folder)
        home = work / "home"
        home.mkdir()
        for number, rev in enumerate(company(given, work)):
            entries = "\n".join(ENTRY.format(name=Path(path).stem.strip("_"), path=path) for path in TEAM)
            text = CONFIG.format(rev=rev, entries=entries, **vars(given))
            (work / f"home-{number:02}.yaml").write_text(text)
        others = ("PREFECT_", "MLFLOW_", "HUSH_")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(others)}
        environment |= {"HUSH_HOME": str(home), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, __file__, "--home", str(home), "--alternatives", str(given.alternatives)]
        child = subprocess.Popen(
            [*command, "--nights", str(given.nights)], cwd=work, env=environment, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        rows = []
        for line in child.stdout or ():
            if line.startswith("RAN "):
                rows.append(json.loads(line[4:]))
                print(table(rows[-1:], head=len(rows) == 1), flush=True)
                if given.out:
                    given.out.write_text(json.dumps(rows, indent=1) + "\n")
        return child.wait()


def company(given: argparse.Namespace, work: Path) -> list[str]:
    """A repository whose commits are the nights; its commits, the first one first."""
    clone, into = work / "clone.git", work / "repository"
    subprocess.run(["git", "clone", "-q", "--bare", given.bundle.resolve(), clone], check=True)
    head = git(clone, "for-each-ref", "--format=%(objectname)", "refs/heads").split()[0]
    nights = git(clone, "rev-list", "--first-parent", head).split()
    nights = nights[: given.stride * given.nights : given.stride][::-1]
    into.mkdir()
    git(into, "init", "-q", "-b", "main")
    for name in PUBLIC:
        for file in distribution(name).files or ():
            if file.suffix == ".py" and "site-packages" not in file.parts:
                target = into / "third_party" / file.as_posix()
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(Path(str(file.locate())).read_bytes())
    made, files = [], {}
    for number, rev in enumerate(nights):
        git(into, "rm", "-q", "-r", "--ignore-unmatch", *TAKEN)
        archive = subprocess.run(
            ["git", "-C", clone, "archive", rev, *TAKEN], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", into], input=archive.stdout, check=True)
        if not number:
            files = planted_in(into)
        for credential in make_credentials(SEED):
            if credential.name == LATE and number < given.nights // 2:
                continue
            for path in files.get(credential.name, ()):
                if (into / path).is_file():
                    with (into / path).open("a") as file:
                        file.write(f'\n\n{credential.variable} = "{credential.value.decode()}"\n')
        git(into, "add", "-A")
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
        git(into, *who, "commit", "-q", "--allow-empty", "-m", rev)
        made.append(git(into, "rev-parse", "HEAD").strip())
    return made


def planted_in(repository: Path) -> dict[str, list[str]]:
    """Credential → the files without an owner that hold it, by chance."""
    chance = random.Random(f"nightly {SEED}")
    paths = sorted(
        path.relative_to(repository).as_posix() for folder in TAKEN for path in (repository / folder).rglob("*.py")
    )  # fmt: skip
    free = [path for path in paths if path not in TEAM]
    return {name: chance.sample(free, k=min(count, len(free))) for name, count in COPIES.items()}


def table(rows: list[dict[str, Any]], *, head: bool) -> str:
    words = (
        "night, chunks with a secret (new), rounds, σ, all runs/target; bits a byte held out: begun, hush, "
    )
    lines = [
        words + "unprotected; texts with a secret that were trained on: hush, unprotected; attacks"
    ] * head
    for row in rows:
        sigma = "-" if row["sigma"] is None else f"{row['sigma']:.3f}"
        bits = " ".join(f"{row[key]:.3f}" for key in ("begun", "hush", "unprotected"))
        back = " ".join(f"{row[key]:.3f}" for key in ("hush_drawn", "unprotected_drawn"))
        lines.append(
            f"{row['night']:3} {row['tagged']:5} ({row['new']:4}) {row['rounds']:4} {sigma:>7} "
            f"{row['all_runs']:.3g}  {bits}  {back}"
        )
        lines += [
            f"      {name:14} ranks {', '.join(map(str, found['ranks']))}; whole {found['extracted']}; goes on "
            f"word for word {found['goes_on']:.1%}"
            for name, found in row.get("attacks", {}).items()
        ]
    return "\n".join(lines)


def one_home(place: Path, given: argparse.Namespace) -> int:
    """All nights of one home, in one process."""
    from tasks.runtime.environment import prepare_environment

    prepare_environment()  # before Prefect is imported
    from prefect import flow

    from flows.check import check_config
    from flows.review import review
    from flows.train import begin, plan, train
    from hush_core.corpus.prompted import texts_of
    from hush_core.training import load_model
    from tasks.runtime.environment import home
    from tasks.runtime.store import Store
    from tasks.runtime.versions import model_files
    from tasks.texts import all_trained

    @flow
    def begun_with(config):
        """What the night's job begins with, by its own steps, which it then finds done."""
        planned = plan(config, ())
        everything = all_trained(planned.extracted.examples, planned.weighed.weights)
        return planned, begin(planned, None, 0), everything

    store, seen, plain, public = Store(home().store), set(), None, None
    for number, path in enumerate(sorted(place.parent.glob("home-*.yaml")), 1):
        config = check_config(path, None)
        planned, begun, everything = begun_with(config)
        report, extracted = train(str(path)), planned.extracted
        review(report.model_uri, reviewer="ada", decision="approve", reason="within every target")
        tables = (begun.texts.validation, begun.texts.held_out, everything)
        validation, held_out, every = (texts_of(store.read_frame(ref)) for ref in tables)
        examples = texts_of(store.read_frame(extracted.examples))
        tagged = store.read_frame(extracted.edges)["example_id"].unique().sort().to_list()
        drawn = sorted({examples[i] for i in tagged} & set(every))
        steps = (begun.untagged.steps * config.untagged.batch + report.rounds * config.train.batch) // 16
        if public is None:
            public, plain = (load_model(store.path(begun.begun.files)) for _ in range(2))
        plain = without_protection(plain, every, validation, max(1, steps), SEED + number)
        with tempfile.TemporaryDirectory() as folder:
            hush = load_model(model_files(report.model_uri, Path(folder)))
        row = {
            "night": number, "tagged": len(drawn), "new": len(set(drawn) - seen), "rounds": report.rounds_released,
            "sigma": report.noise_multiplier, "sigma_alone": alone(planned), "all_runs": report.worst_of_all_runs,
            "from": report.goes_on_from, "batch": report.expected_batch,
            "begun": report.losses.get("champion", report.losses.get("pretrained")),
            "hush": bits(hush, held_out), "unprotected": bits(plain, held_out), "start": bits(public, held_out),
            "losses": report.losses, "held_out": len(held_out),
        }  # fmt: skip
        models = {"hush": hush, "unprotected": plain, "start": public}
        some = drawn[:: max(1, len(drawn) // TEXTS)]
        row |= {f"{name}_drawn": bits(model, some) for name, model in models.items()}
        seen |= set(drawn)
        if number in (1, given.nights // 2, given.nights):
            row["attacks"] = {
                name: attacked(model, public, store, extracted, examples, drawn, given.alternatives)
                for name, model in models.items()
            }
        print("RAN", json.dumps(row), flush=True)
    return 0


def without_protection(model, texts: list[bytes], validation: list[bytes], steps: int, seed: int):
    """The model after so many more steps on all of the night's text."""
    from hush_core.config import UntaggedConfig
    from hush_core.training import fit_untagged

    plan = UntaggedConfig(steps=steps, evaluate_every=min(50, steps))
    return fit_untagged(texts, validation, model, plan, micro_batch=16, seed=seed).model


def alone(planned) -> float:
    """σ of this night's rounds if they were the only ones."""
    from hush_core.plan import make_plan
    from tasks.runtime.environment import home
    from tasks.runtime.store import Store

    store, train = Store(home().store), planned.train
    weights = store.read_frame(planned.weighed.weights)["weight"].to_numpy()
    tables = (store.read_frame(ref) for ref in (planned.weighed.edges, planned.extracted.secrets))
    return make_plan(
        weights, *tables, rounds=train.rounds, expected_batch=train.batch, clip_norm=train.clip_norm,
        method=planned.config.method,
    ).noise_multiplier  # fmt: skip


def bits(model, texts: list[bytes]) -> float:
    return model.evaluate(texts, max_examples=len(texts))


def attacked(model, public, store, extracted, examples, drawn, alternatives) -> dict[str, Any]:
    """Ranks of the planted values by name, and the share of texts that come out."""
    import numpy as np

    from hush_core.auditing.exposure import exposure
    from hush_core.auditing.k_extraction import k_extraction

    occurrences, secrets = (store.read_frame(ref) for ref in (extracted.occurrences, extracted.secrets))
    ranked = exposure(
        model, examples, occurrences, secrets, alternatives=alternatives, seed=SEED, max_contexts=4
    ).sort("name")  # fmt: skip
    chosen = np.random.default_rng(SEED).permutation(len(drawn))[:TEXTS]
    out = k_extraction(model, public, [drawn[i] for i in chosen], prefix=SHOWN, length=ASKED, windows=4)
    return {
        "names": [name.split(":")[0] for name in ranked["name"].to_list()], "ranks": ranked["rank"].to_list(),
        "extracted": int(ranked["extracted"].sum()), "exposure_bits": float(ranked["exposure_bits"].mean()),
        "goes_on": out.trained.value, "goes_on_low": out.trained.lower, "goes_on_high": out.trained.upper,
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
