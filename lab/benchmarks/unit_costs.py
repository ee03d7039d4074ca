"""What one unit of each step costs, for docs/planning.md: CPU-seconds and memory at two sizes, and the slope.

Steps, each size in a process of its own: extraction of real text (the standard library's files, copied under other
folders with other words) into examples of 256 bytes, with a path entry, credentials and literals; the linear
program and σ with every secret's bound on the paper's shape (15 examples a secret, 50 to 100 edges; T = 2000);
drawing 200 rounds; 6 training steps of the default byte GPT.

Printed: user and system time of all threads; the peak of the resident memory above that of the imports; per unit
by the difference of the two sizes, so that what is paid once does not count. --quick: tiny sizes. JSON with --out.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1"))

import argparse
import json
import random
import resource
import string
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

CHUNK, STEPS = 256, 6
SIZES = {"extract": (8, 32), "weigh": (2_000, 20_000), "certify": (2_000, 20_000), "draw": (10**5, 10**6),
         "train": (256, 1024)}  # fmt: skip
QUICK = {
    "extract": (1, 2),
    "weigh": (100, 200),
    "certify": (100, 200),
    "draw": (10**3, 10**4),
    "train": (16, 32),
}
UNITS = {
    "extract": "MB of text",
    "weigh": "secrets",
    "certify": "secrets",
    "draw": "examples",
    "train": "examples",
}
MILLION = 10**6


def spent() -> float:
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in times)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    before, memory = spent(), peak()
    facts = work()
    return {"cpu_s": spent() - before, "mb": peak() - memory, **facts}


def extract(megabytes: int) -> dict[str, float]:
    from hush_core.config import HushConfig
    from hush_core.secrets import extract

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _repository(folder / "repository", megabytes * MILLION)
        (folder / "names.txt").write_text("\n".join(f"codename-{word}" for word in _words(200)))
        config = HushConfig.model_validate(
            {
                "version": 1,
                "repos": [{"path": str(folder / "repository")}],
                "secrets": [
                    {"id": "alpha", "kind": "path", "globs": ["*1/**"], "level": 1e-3},
                    {"id": "creds", "kind": "credentials", "level": 1e-4, "may_be_empty": True},
                    {"id": "names", "kind": "literals", "file": str(folder / "names.txt"), "level": 1e-3,
                     "bits": 20, "may_be_empty": True},
                ],
                "chunk_bytes": CHUNK,
                "train": {"rounds": 1, "batch": 1},
            }
        )  # fmt: skip
        found: dict[str, float] = {}

        def work() -> dict[str, float]:
            done = extract(config, b"k" * 32, work=folder)
            found["examples"] = done.examples.height
            return found

        return measured(work)


def _words(count: int) -> list[str]:
    chance = random.Random(3)
    return ["".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(count)]


def _repository(path: Path, size: int) -> None:
    """Files of the standard library, over and over, each copy with other words at the ends of its lines."""
    chance, written = random.Random(1), 0
    sources = [
        f for f in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")) if "site-packages" not in f.parts
    ]
    words = _words(5000)
    while written < size:
        for file in sources:
            if written >= size:
                break
            text = file.read_bytes().decode("utf-8", "ignore")
            lines = [f"{line}  # {chance.choice(words)} {chance.choice(words)}" for line in text.splitlines()]
            target = path / f"{file.parent.name}{written % 97}" / f"{written}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            written += target.write_bytes("\n".join(lines).encode())
    git = ["git", "-C", str(path), "-c", "user.name=n", "-c", "user.email=n@example.com"]
    for words_ in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words_], check=True)


def _graph(secrets: int):
    from graphs import paper_graph

    from hush_core.weights import largest_useful_c, unit_capacities

    examples, edges, table = paper_graph(secrets)
    kappa = unit_capacities(table, "normal_quantiles")
    return examples, edges, table, 0.5 * largest_useful_c(edges, kappa) * kappa


def weigh(secrets: int) -> dict[str, float]:
    from hush_core.weights import solve_weights

    examples, edges, _, capacities = _graph(secrets)

    def work() -> dict[str, float]:
        solve_weights(edges, n_examples=examples, capacities=capacities)
        return {"examples": examples, "edges": edges.height}

    return measured(work)


def certify(secrets: int) -> dict[str, float]:
    from hush_core.accounting import calibrate
    from hush_core.weights import sampling_rates, solve_weights

    examples, edges, table, capacities = _graph(secrets)
    rates = sampling_rates(solve_weights(edges, n_examples=examples, capacities=capacities).weights, 2048)

    def work() -> dict[str, float]:
        calibrate(edges, rates, table, rounds=2000, method="blow_up")
        return {"edges": edges.height}

    return measured(work)


def draw(examples: int) -> dict[str, float]:
    import numpy as np

    from hush_core.training import WeightedPoissonSampler

    rates = np.full(examples, 256 / examples)

    def work() -> dict[str, float]:
        sampler = WeightedPoissonSampler(rates)
        for k in range(200):
            sampler.draw(k)
        return {"rounds": 200}

    return measured(work)


def train(batch: int) -> dict[str, float]:
    import numpy as np
    import polars as pl

    from hush_core.config import ByteGptModel, TrainConfig
    from hush_core.plan import ProtectionPlan
    from hush_core.training import byte_gpt, fit_private

    texts = [b"def step(v): return v + 1\n" * 10] * (2 * batch)
    plan = ProtectionPlan(np.full(2 * batch, 0.5), 1.0, STEPS, batch, 1.0, "best", pl.DataFrame())
    model = byte_gpt(ByteGptModel(), CHUNK)

    def work() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            settings = TrainConfig(rounds=STEPS, batch=batch, micro_batch=16)
            fit_private(plan, [text[:CHUNK] for text in texts], model, settings, Path(folder))
        return {"rounds": STEPS, "parameters": sum(p.numel() for p in model.network.parameters())}

    return measured(work)


STEP = {"extract": extract, "weigh": weigh, "certify": certify, "draw": draw, "train": train}


def in_process(step: str, size: int) -> dict[str, float]:
    said = subprocess.run(
        [sys.executable, __file__, "--one", step, str(size)], check=True, capture_output=True, text=True
    )
    return json.loads(said.stdout.splitlines()[-1])


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--only", choices=STEP)
    arguments.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    if given.one:
        print(json.dumps(STEP[given.one[0]](int(given.one[1]))))
        return
    rows = []
    for step, sizes in (QUICK if given.quick else SIZES).items():
        if given.only not in (None, step):
            continue
        few, many = (in_process(step, size) for size in sizes)
        more = sizes[1] - sizes[0]
        row = {
            "step": step, "unit": UNITS[step], "sizes": sizes, "few": few, "many": many,
            "cpu_s_a_million": (many["cpu_s"] - few["cpu_s"]) / more * MILLION,
            "mb_a_million": (many["mb"] - few["mb"]) / more * MILLION,
        }  # fmt: skip
        rows.append(row)
        print(
            f"{step:8} {sizes[0]:>9,} {sizes[1]:>9,} {row['unit']:11} "
            f"{few['cpu_s']:8.2f} {many['cpu_s']:8.2f} CPU-s  {few['mb']:7.0f} {many['mb']:7.0f} MB  "
            f"a million: {row['cpu_s_a_million']:.3g} CPU-s, {row['mb_a_million']:.3g} MB  {many}",
            flush=True,
        )
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
