"""The rows of `where_it_pays.py` → its tables, its JSON and the picture of loss against the number of secrets.

    .venv/bin/python lab/benchmarks/where_it_pays_report.py --work where_it_pays_work --json where_it_pays.json \
        --picture docs/figures/where_it_pays.png
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy import stats

mpl.use("Agg")
import matplotlib.pyplot as plt
from where_it_pays import SHAPE
from where_it_pays_data import CONTEXT

from hush_core.weights.law import MOST_OVERESTIMATE, UNLIKE_ERROR, Law

TITLES = {
    "gcc": "change logs beside code, older logs public",
    "gcc unlike": "change logs beside code",
    "arxiv": "abstracts beside others, older ones public",
    "arxiv unlike": "abstracts beside code",
}
LEAVE_OUT, UNPROTECTED, NOISE = "leave out", "unprotected", "noise: the new step"
KINDS = ("tagged", "untagged", "corpus")


def interval(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean, Student's t over starts; nan of one."""
    n = len(values)
    if n < 2:
        return math.nan
    return float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n))


class Found:
    def __init__(self, rows: Sequence[dict]) -> None:
        self._rows = [row for row in rows if row["part"] == "judged"]
        self.places = list(dict.fromkeys(row["place"] for row in self._rows))

    def ways(self, place: str) -> list[tuple[str, int]]:
        return list(dict.fromkeys((r["way"], r["secrets"]) for r in self._rows if r["place"] == place))

    def of(self, place: str, way: str, secrets: int | None = None) -> dict[int, dict]:
        """By start."""
        return {
            row["seed"]: row for row in self._rows
            if row["place"] == place and row["way"] == way and secrets in (None, row["secrets"])
        }  # fmt: skip

    def gains(self, place: str, way: str, secrets: int, kind: str) -> list[float]:
        """Bits a byte below leaving out, start by start."""
        plain, here = self.of(place, LEAVE_OUT), self.of(place, way, secrets)
        return [plain[seed][kind] - here[seed][kind] for seed in here if seed in plain]

    def share(self, place: str, way: str, secrets: int) -> float:
        """Of what unprotected training gains over leaving out on tagged text, over the starts of both."""
        seeds = self.of(place, way, secrets).keys() & self.of(place, UNPROTECTED).keys()
        means = [
            np.mean([self.of(place, name)[seed]["tagged"] for seed in seeds])
            for name in (LEAVE_OUT, UNPROTECTED)
        ]
        here = np.mean([self.of(place, way, secrets)[seed]["tagged"] for seed in seeds])
        return float((means[0] - here) / (means[0] - means[1]))


def table(found: Found, place: str) -> str:
    lines = [
        "| way | secrets | σ | B√T/σ | tagged | untagged | corpus | share of the gain on tagged text | "
        "gain on the corpus | starts |",
        "|---" * 10 + "|",
    ]
    for way, secrets in found.ways(place):
        rows, gains = found.of(place, way, secrets), found.gains(place, way, secrets, "corpus")
        first = next(iter(rows.values()))
        plan = [f"{first[key]:,.3g}" if key in first else "" for key in ("sigma", "signal")]
        means = [f"{np.mean([row[kind] for row in rows.values()]):.3f}" for kind in KINDS]
        gain = f"{np.mean(gains):+.4f}" + (f" ± {interval(gains):.4f}" if len(gains) > 1 else "")
        cells = [
            way, f"{secrets:,}", *plan, *means, f"{found.share(place, way, secrets):.0%}",
            gain if way != LEAVE_OUT else "", str(len(rows)),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def crossing(found: Found, place: str) -> float | None:
    """Secrets at which the rounds' gain on the corpus passes 0, by straight lines in log secrets."""
    points = sorted(
        (secrets, float(np.mean(gains))) for way, secrets in found.ways(place)
        if way == NOISE and (gains := found.gains(place, way, secrets, "corpus"))
    )  # fmt: skip
    for (fewer, below), (more, above) in pairwise(points):
        if below <= 0 < above:
            part = -below / (above - below)
            return math.exp(math.log(fewer) * (1 - part) + math.log(more) * part)
    return None


def _mean(rows: dict[int, dict], seeds: set[int]) -> float:
    return float(np.mean([rows[seed]["corpus"] for seed in seeds]))


def makes_rounds(place: str, signal: float) -> bool:
    """Whether `protect: auto` learns the tagged half of the text under noise."""
    unlike = place.endswith("unlike")
    worth = Law().worth(signal, SHAPE.parameters(CONTEXT), 0.5, unlike=unlike)
    return worth > (UNLIKE_ERROR if unlike else MOST_OVERESTIMATE)


def picture(found: Found, path: Path) -> None:
    figure, axes = plt.subplots(2, math.ceil(len(found.places) / 2), figsize=(10.4, 7.4), squeeze=False)
    places = sorted(found.places, key=lambda place: (not place.endswith("unlike"), place))
    for axis, place in zip(axes.flat, places, strict=True):
        numbers = sorted({secrets for way, secrets in found.ways(place) if way == NOISE})
        seeds = set.intersection(*(set(found.of(place, NOISE, n)) for n in numbers))
        out, all_ = (_mean(found.of(place, way), seeds) for way in (LEAVE_OUT, UNPROTECTED))
        noise = [_mean(found.of(place, NOISE, n), seeds) for n in numbers]
        signals = [next(iter(found.of(place, NOISE, n).values()))["signal"] for n in numbers]
        auto = [
            loss if makes_rounds(place, signal) else out for signal, loss in zip(signals, noise, strict=True)
        ]
        axis.axhline(out, color="tab:gray", label="leave out")
        axis.plot(numbers, noise, "o-", color="tab:blue", label="noise")
        axis.plot(numbers, auto, "--", color="tab:orange", linewidth=3, alpha=0.7, label="auto")
        axis.axhline(all_, color="tab:red", linestyle=":", label="unprotected")
        axis.set_xscale("log")
        axis.set(title=TITLES[place], xlabel="number of secrets", ylabel="bits a byte, whole corpus")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=4)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in (options.work / "rows.jsonl").read_text().splitlines()]
    found = Found(rows)
    for place in found.places:
        print(f"{place}: crossing {crossing(found, place)}\n\n{table(found, place)}\n")
    if options.json:
        options.json.write_text("[" + ",\n".join(map(json.dumps, rows)) + "]\n")
    if options.picture:
        picture(found, options.picture)


if __name__ == "__main__":
    main()
