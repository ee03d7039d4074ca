"""Figure 5 and table 1 of "Defending against Reconstruction Attacks with Rényi DP": which lines are at risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from lab import figures
from lab.replications.claims import Claim
from lab.replications.measured_lines import (
    BATCH,
    CONTEXT,
    PARTS,
    TOP_K,
    measured_lines,
    model_of,
    parts_of,
)
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

SEED, LOOKED_AT = 5, 2000
TRAINING = {
    "tiny": {"layers": 1, "width": 32, "lines": 150, "steps": 10, "written": 20, "shown": 20},
    "short": {"layers": 1, "width": 128, "lines": 3000, "steps": 1000, "written": 1000, "shown": 250},
    "full": {"layers": 4, "width": 256, "lines": 1_000_000, "steps": 20_000, "written": 20_000, "shown": 500},
}
SORTS = {
    "common": (-3.5, None, -0.2, 0.2),
    "at risk": (-3.6, None, None, -9.81),
    "by heart, and unlikely": (None, -10.0, None, -11.3),
    "neither": (None, -21.0, 1.29, None),
}
"""Table 1: log10 of the probability from, to; calibrated loss in nats from, to. The ends are the paper's rows."""
Ends = tuple[float | None, float | None, float | None, float | None]


def cells(size: Size) -> list[Cell]:
    given = {**TRAINING[size], "seed": SEED}
    models = [Cell("models", {"part": part, **given}) for part in PARTS[:2]]
    return models + [Cell(table, given) for table in ("groups", "sorts", "sampling", "points")]


def models(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The model of one part, and its loss on all three."""
    model = model_of(settings, settings["part"], place)
    parts = parts_of(settings, place)
    return [{f"bits_{part}": model.evaluate([line for _, line in lines[:: 1 + len(lines) // LOOKED_AT]],
                                            max_examples=LOOKED_AT)
             for part, lines in parts.items()}]  # fmt: skip


def groups(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The calibrated loss of each group's lines: mean with a 95 % interval over files, spread, median."""
    rows = []
    for (group,), some in measured_lines(settings, place).group_by("group", maintain_order=True):
        mean, error, files = by_file(some["calibrated_nats"].to_numpy(), some["file"].to_numpy())
        rows.append({"group": group, "drawn": some.height, "files": files, "mean": mean, "error": error,
                     "spread": float(some["calibrated_nats"].std()),
                     "median": float(some["calibrated_nats"].median())})  # fmt: skip
    return rows


def by_file(values: np.ndarray, files: np.ndarray) -> tuple[float, float, int]:
    """(mean over lines, its standard error, files): lines of a file are no independent draws, files are."""
    names, at = np.unique(files, return_inverse=True)
    mean = float(values.mean())
    sums = np.bincount(at, weights=values - mean)
    scale = len(names) / max(1, len(names) - 1)
    return mean, math.sqrt(float((sums**2).sum()) * scale) / len(values), len(names)


def sorts(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """How many different training lines each sort of table 1 has, and one of them: the likeliest to be written."""
    lines = (
        measured_lines(settings, place)
        .filter(group="train")
        .unique("line", keep="first", maintain_order=True)
    )
    lines = lines.sort("log10_probability", descending=True, maintain_order=True)
    rows = []
    for sort, ends in SORTS.items():
        found = lines.filter(_within(ends))
        one = found.row(0, named=True) if found.height else {}
        likely = one.get("log10_probability", -math.inf)
        rows.append({"sort": sort, "found": found.height, "of": lines.height, "line": _shown(one.get("line")),
                     "log10_probability": likely if math.isfinite(likely) else None,
                     "calibrated_nats": one.get("calibrated_nats")})  # fmt: skip
    return rows


def _within(ends: Ends) -> pl.Expr:
    kept = pl.lit(True)
    for column, (low, high) in (("log10_probability", ends[:2]), ("calibrated_nats", ends[2:])):
        kept &= pl.col(column) >= (-math.inf if low is None else low)
        kept &= pl.col(column) <= (math.inf if high is None else high)
    return kept


def _shown(line: bytes | None) -> str | None:
    """Public text, in a cell of a table."""
    if line is None:
        return None
    text = line.decode(errors="replace").rstrip("\n").replace("|", "¦").replace("`", "'")
    return f"`{text}`"


def sampling(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """How often lines of the training part came out of the lines that were written, and what their probabilities
    foretell."""
    table = measured_lines(settings, place)
    lines = table.filter(group="train").unique("line")
    written, known = table.filter(group="written"), set(lines["line"])
    share = float((10.0 ** lines["log10_probability"]).sum())
    return [{"written": written.height, "came_out": sum(line in known for line in written["line"]),
             "foretold": share * written.height, "different": lines.height}]  # fmt: skip


def points(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """Some lines of each group, for the picture."""
    rows: list[Row] = []
    likely = measured_lines(settings, place).filter(pl.col("log10_probability").is_finite())
    for _, some in likely.group_by("group", maintain_order=True):
        chosen = some.sample(min(settings["shown"], some.height), seed=settings["seed"])
        rows += chosen.select("group", "log10_probability", "calibrated_nats").to_dicts()
    return rows


def claims(rows: Rows) -> list[Claim]:
    group = {row["group"]: row for row in rows["groups"]}
    train, test, written = (group[name] for name in ("train", "test", "written"))
    counted, (drawn,) = {row["sort"]: row["found"] for row in rows["sorts"]}, rows["sampling"]
    way = test["mean"] - train["mean"]
    read = train["steps"] * BATCH / train["drawn"]
    learned = way > 0
    return [
        Claim("Figure 5, left: training lines have a lower calibrated loss than test lines: test less train, lower "
              "end of the interval, at least", 0.0, _lower(test, train), "at_least", unit=" nats", target=True,
              why="too few rounds to learn its own lines"),
        Claim("test lines: calibrated loss around 0: its mean's distance from 0 over that from the training "
              "lines', at most", 0.1, abs(test["mean"]) / way if learned else None, "at_most", target=True,
              why="the files of one part are closer to the test files than those of the other"),
        Claim("with a small standard deviation: test lines' over training lines', at most", 1.0,
              test["spread"] / train["spread"] if train["spread"] else None, "at_most", target=True,
              why="both models differ as much on lines that neither has seen"),
        Claim("right: lines that the model writes have a lower calibrated loss than training lines: train less "
              "written, lower end, at least", 0.0, _lower(train, written), "at_least", unit=" nats", target=True,
              why=f"a training line was read {read:.0f} times and is by heart; of the lines written "
                  f"{1 - drawn['came_out'] / drawn['written']:.0%} are none of those"),
        Claim("most of them lie above −7.5: median of the written lines, at least", -7.5, written["median"],
              "at_least", unit=" nats", why="the two models are further apart than the paper's"),
        *(Claim(f"table 1, {sort} ({_words(ends)}): different training lines, at least", 1.0, counted[sort],
                "at_least", target=True, why="no line of that sort among these")
          for sort, ends in SORTS.items()),
        Claim("lazy sampling: training lines among the written ones, over what their probabilities foretell", 1.0,
              drawn["came_out"] / drawn["foretold"] if drawn["foretold"] >= 1 else None, "equal", 0.15,
              target=True, why="chance: too few lines were written"),
    ]  # fmt: skip


def _lower(above: Row, below: Row) -> float:
    """Lower end of the 95 % interval of a difference of means, by Student's law of the fewer files."""
    error = math.hypot(above["error"], below["error"])
    freedom = max(1, min(above["files"], below["files"]) - 1)
    return above["mean"] - below["mean"] - float(stats.t.ppf(0.975, freedom)) * error


def _words(ends: Ends) -> str:
    likely, unlikely, low, high = ends
    said = f"p at least 10^{likely:g}" if likely is not None else f"p at most 10^{unlikely:g}"
    if low is not None and high is not None:
        return f"{said}, calibrated loss within {high:g} nats of 0"
    return f"{said}, calibrated loss {f'at most {high:g}' if low is None else f'at least {low:g}'} nats"


def draw(rows: Rows, path: Path) -> Path:
    names = {"train": "trained on", "test": "test", "written": "written by the model"}
    group = {row["group"]: row for row in rows["groups"]}
    some = {name: [row for row in rows["points"] if row["group"] == name] for name in names}
    every = [row["calibrated_nats"] for name in ("train", "test") for row in some[name]]
    edges = np.histogram_bin_edges(np.clip(every, *np.percentile(every, [1, 99])), bins=24)
    middles = ((edges[1:] + edges[:-1]) / 2).tolist()
    left = [figures.Curve(names[name], middles, _shares(some[name], edges)) for name in ("train", "test")]
    right = [
        figures.Curve(names[name], [row["log10_probability"] for row in some[name]],
                      [row["calibrated_nats"] for row in some[name]], points=True)
        for name in names if group[name]["drawn"]
    ]  # fmt: skip
    panels = [
        figures.Panel("lines by calibrated loss", "nats a line", "share of lines", left, ylim=(0, None)),
        figures.Panel("at risk: low, and on the right", "log10 of the probability", "nats a line", right),
    ]
    return figures.draw_panels("Calibrated loss, and the probability to be written", panels, path)


def _shares(rows: Sequence[Row], edges: np.ndarray) -> list[float]:
    values = np.clip([row["calibrated_nats"] for row in rows], edges[0], edges[-1])
    return (np.histogram(values, edges)[0] / max(1, len(values))).tolist()


REPLICATION = Replication(
    name="lazy_reconstruction",
    title="Lines at risk of being written out, by calibrated loss and probability",
    source="reconstruction_rdp.txt, Figure 5, table 1 and section 4.2",
    about=f"""\
The paper trains language models on three subsets of OpenWebText, of a million samples each: one is the
target's, one that of the model it calibrates with, one is for the test. Ours: the lines of a public
repository's files (`repository*.bundle`; its head, without lock files), whole files in three parts of about
equal length, and byte GPTs that begin with the same weights. Calibrated loss: −log p of a line by the target
model less that by the other, in nats; p is the probability that the target model writes just this line and ends
it, by top-{TOP_K} sampling, computed and not sampled. Lines are cut to {CONTEXT} bytes; of all files of a part
every n-th is taken. Intervals are over files. The paper has Figure 5 as a picture and claims it in words; the
numbers asked for are ours but for −7.5. Of table 1 each row gives the ends of a sort of lines: likely and
common, likely and learned by heart (at risk), by heart and unlikely, neither. The lines shown are the likeliest
of their sort; they are public. Expected before the short size ran: training lines 12 nats below test lines (7
to 17), the test mean within 1 nat of 0; written lines about as low as training lines, as two models near their
optimum would have it (with d parameters and n lines both lie d/n nats below 0), with a median of −8; common
lines 3 or more, at risk 1 to 10, by heart and unlikely over 100, neither over 20; 0.9 to 1.1 of the training
lines foretold. Training lines came out far lower, with them those at risk: read 14 times, they are by heart.""",
    seed=SEED,
    cells=cells,
    compute={"models": models, "groups": groups, "sorts": sorts, "sampling": sampling, "points": points},
    views=(
        View("models", "The two models: bits a byte",
             (("part", "trained on", ""), ("bits_train", "train", ".3f"),
              ("bits_calibration", "calibration", ".3f"), ("bits_test", "test", ".3f"))),
        View("groups", "Calibrated loss, nats a line",
             (("group", "lines", ""), ("drawn", "number", ",d"), ("files", "files", ",d"), ("mean", "mean", ".2f"),
              ("error", "standard error", ".2f"), ("spread", "standard deviation", ".2f"),
              ("median", "median", ".2f"))),
        View("sorts", "Table 1: different training lines of each sort",
             (("sort", "sort", ""), ("found", "lines", ",d"), ("of", "of", ",d"), ("line", "the likeliest", ""),
              ("log10_probability", "log10 p", ".1f"), ("calibrated_nats", "calibrated", ".2f"))),
        View("sampling", "Training lines among those written",
             (("written", "lines written", ",d"), ("came_out", "are training lines", ",d"),
              ("foretold", "foretold", ".1f"))),
    ),
    claims=claims,
    draw=draw,
    data=("repository.bundle",),
)  # fmt: skip
