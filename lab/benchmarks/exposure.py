"""How long the exposure of 1,000 secrets of 16 symbols takes on the byte GPT; what repetition does to it.

python lab/benchmarks/exposure.py [--secrets 1000] [--alternatives 1000] [--layers 4] [--width 256] [--json FILE]
python lab/benchmarks/exposure.py --secrets 24 --steps 200 --learned         # what a value costs that ranks first

Canaries planted 1, 4 and 16 times train a byte GPT without protection; each value is ranked among alternatives
with `stop_after=8`, as `hush audit` does it, in two processes of one thread, and then once in whole for 1 in 50 of
them. With --learned all are planted 4 times, few enough for the steps to learn them by heart: then none is given up
early. Model and finished parts are kept in --folder: started again with the same arguments it goes on, and says how
many parts were there. `cpu_seconds` (user and system, loading of the model included) is what the attack took on all
cores together, whenever it was, and holds on a machine that does other things, too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

REPEATS, LEARNED = (1, 4, 16), (4,)


def attack(job: tuple) -> tuple[pl.DataFrame, float]:
    """The table of some canaries, and the processor's seconds that it took."""
    import torch

    from hush_core.auditing.canaries import plant_canaries
    from hush_core.auditing.exposure import exposure
    from hush_core.training import load_model

    folder, count, repeats, ids, alternatives, stop_after = job
    kept = Path(folder) / f"part-{ids[0]}-{ids[-1]}-{alternatives}-{stop_after}.parquet"
    if kept.exists():
        return pl.read_parquet(kept), float(kept.with_suffix(".cpu").read_text())
    torch.set_num_threads(1)
    planted = plant_canaries(count, repeats=repeats, seed=0)
    places = planted.occurrences.filter(pl.col("secret_id").is_in(ids))
    begun = time.process_time()
    model = load_model(Path(folder) / "model")
    table = exposure(
        model, planted.texts, places, planted.secrets, alternatives=alternatives, seed=0,
        stop_after=stop_after,
    )  # fmt: skip
    spent = time.process_time() - begun
    kept.with_suffix(".cpu").write_text(f"{spent}")
    table.write_parquet(kept.with_suffix(".half"))
    kept.with_suffix(".half").rename(kept)
    return table, spent


def parts(given: argparse.Namespace, jobs: list[tuple]) -> Iterator[tuple[pl.DataFrame, float]]:
    """Each job's answer, in order, by --processes at once; one alone needs no second process."""
    if given.processes == 1:
        yield from map(attack, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        yield from pool.imap(attack, jobs)


def main(arguments: list[str] | None = None) -> dict:
    """Train, attack in parts, print; the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (
        ("secrets", 1000), ("alternatives", 1000), ("layers", 4), ("width", 256), ("steps", 300), ("part", 50),
        ("processes", 2),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("exposure_work"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    from hush_core.auditing.canaries import plant_canaries
    from hush_core.config import ByteGptModel
    from hush_core.training import byte_gpt, fit_plain, save_model

    repeats = LEARNED if given.learned else REPEATS
    planted = plant_canaries(given.secrets, repeats=repeats, seed=0)
    shape = ByteGptModel(layers=given.layers, width=given.width, heads=4)
    kind = "-learned" if given.learned else ""
    work = given.folder / f"{given.secrets}-{given.layers}x{given.width}-{given.steps}{kind}"
    if not (work / "model").exists():
        model = fit_plain(planted.texts, byte_gpt(shape, 96), steps=given.steps, batch=24, learning_rate=2e-3)
        save_model(model, work / "model.half")
        (work / "model.half").rename(work / "model")
    ids = list(range(given.secrets))
    lots = [ids[i : i + given.part] for i in range(0, len(ids), given.part)]
    jobs = [(work, given.secrets, repeats, lot, given.alternatives, 8) for lot in lots]
    there = sum(1 for _ in work.glob("part-*-8.parquet"))
    begun = time.monotonic()
    found, worked = [], 0.0
    for part, spent in parts(given, jobs):
        worked += spent
        found.append(part)
        done, seconds = sum(p.height for p in found), time.monotonic() - begun
        print(f"{done} of {given.secrets}: {seconds:.0f} s, {worked:.1f} CPU-s", flush=True)
    seconds = time.monotonic() - begun
    table = pl.concat(found).join(planted.secrets.select("secret_id", "repeats"), on="secret_id")
    some = ids[:: given.part]
    _, spent = attack((work, given.secrets, repeats, some, given.alternatives, None))
    whole = spent / max(1, len(some))
    by = table.group_by("repeats").agg(
        bits=pl.col("exposure_bits").mean(),
        first=(pl.col("rank") == 1).mean(),
        tried=pl.col("alternatives").mean(),
    )
    result = {
        "secrets": given.secrets, "alternatives": given.alternatives, "layers": given.layers, "width": given.width,
        "seconds": seconds, "parts_kept_from_before": there, "cpu_seconds": worked,
        "cpu_seconds_a_secret": worked / given.secrets, "cpu_seconds_a_secret_ranked_in_whole": whole,
        "tried_of_each": float(table["alternatives"].mean()), "by_repeats": by.sort("repeats").to_dicts(),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return result


if __name__ == "__main__":
    main()
