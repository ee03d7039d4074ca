"""Every picture, from tables: PNG, 960 pixels wide, the same bytes for the same tables.

>>> noise_by_method({"kl": 103.8, "renyi": 3.0, "blow_up": 2.83}, Path("noise.png"))    # doctest: +SKIP

Each function takes frames and the path to write, and returns the path. Labels are names of secrets (never
values, `docs/configuration.md`). Colours are Okabe and Ito's, told apart by colour-blind readers; whatever
colour says, a marker or a label says too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
WIDTH, DPI = 8.0, 120
MOST_ROWS = 40
"""A picture of more secrets than this cannot be read; the most telling ones are shown, and it says so."""
METHOD_LABELS = {"kl": "kl (the paper)", "renyi": "renyi", "blow_up": "blow_up", "best": "best"}
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
}


def weights_retained(weights: pl.DataFrame, edges: pl.DataFrame, secrets: pl.DataFrame, path: Path) -> Path:
    """What the linear program keeps: weights of the examples with a secret, and the share kept by kind.

    Args:
        weights: example_id, weight in [0, 1]. edges: example_id, secret_id. secrets: secret_id, kind.
    """
    held = edges.join(secrets.select("secret_id", "kind"), on="secret_id").join(weights, on="example_id")
    with_secret = held.unique("example_id")["weight"].to_numpy()
    by_kind = (
        held.unique(["example_id", "kind"])
        .group_by("kind")
        .agg(pl.col("weight").mean(), pl.len().alias("examples"))
        .sort("kind")
    )
    free = weights.join(edges.select("example_id").unique(), on="example_id", how="anti")["weight"]
    free = free.filter(
        free > 0
    )  # without a secret only a held-out example has weight 0: it is not in training
    rows = [*by_kind.iter_rows()]
    if len(free):
        rows.append(("no secret", float(free.mean()), len(free)))
    total = float(weights["weight"].sum()) / max(len(with_secret) + len(free), 1)

    with _figure(path, height=1.7 + 0.42 * max(len(rows), 4), columns=2) as (left, right):
        left.hist(with_secret, bins=np.linspace(0, 1, 21), color=BLUE, edgecolor="white")
        left.set(
            title="Examples with a secret", xlabel="weight (0: never drawn, 1: as any other)",
            ylabel="examples", xlim=(0, 1),
        )  # fmt: skip
        left.grid(axis="y")
        shares = [share for _, share, _ in rows]
        colors = [GREY if kind == "no secret" else BLUE for kind, _, _ in rows]
        right.barh([f"{kind}\n({n:,} examples)" for kind, _, n in rows], shares, color=colors, height=0.6)
        for place, share in enumerate(shares):
            right.text(share + 0.02, place, _percent(share), va="center", fontsize=9)
        right.set(
            title=f"Weight retained: {_percent(total)}",
            xlabel="share of the weight, by kind of secret",
            xlim=(0, 1.22),
        )
        right.set_xticks(np.linspace(0, 1, 5))
        right.xaxis.set_major_formatter(PercentFormatter(1.0))
        right.invert_yaxis()
        right.grid(axis="x")
    return path


def noise_by_method(noise: Mapping[str, float | None], path: Path) -> Path:
    """The noise multiplier σ that each method needs for the same promise (None: it cannot certify it)."""
    known = {method: sigma for method, sigma in noise.items() if sigma}
    reference = known.get("kl")
    with _figure(path, height=1.5 + 0.5 * max(len(noise), 2)) as (axes,):
        places = list(range(len(noise)))
        colors = [ORANGE if method == "kl" else BLUE for method in noise]
        axes.barh(places, [known.get(method, math.nan) for method in noise], color=colors, height=0.6)
        axes.set_yticks(places, [METHOD_LABELS.get(method, method) for method in noise])
        if known:
            axes.set_xscale("log")
            low, high = min(known.values()), max(known.values())
            left = low / 3
            axes.set_xlim(left, high * (high / left) ** 0.35)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            for place, method in enumerate(noise):
                text = " cannot be certified"
                if method in known:
                    text = f" {known[method]:#.3g}".rstrip(".")
                    if reference and method != "kl":
                        text += _ratio(reference / known[method])
                axes.text(known.get(method, left), place, text, va="center", fontweight="bold", fontsize=10)
        axes.set_ylim(max(len(noise), 1) - 0.5, -0.5)
        axes.set(
            title="Noise for the same promise, by certificate method",
            xlabel="noise multiplier σ (log scale; less is better)",
        )
        axes.grid(axis="x")
    return path


def posterior_against_target(certificate: pl.DataFrame, secrets: pl.DataFrame, path: Path) -> Path:
    """Each secret's prior, certified bound and target; the ones closest to their target come first.

    Args:
        certificate: secret_id, prior, posterior (the target r_j), bound. secrets: secret_id, name.
    """
    rows = (
        certificate.join(secrets.select("secret_id", "name"), on="secret_id")
        .with_columns(ratio=pl.col("bound") / pl.col("posterior"))
        .sort(["ratio", "secret_id"], descending=[True, False])
    )
    shown = rows.head(MOST_ROWS)
    with _figure(path, height=_height(shown)) as (axes,):
        places = np.arange(shown.height)
        prior, bound, target = (shown[c].to_numpy() for c in ("prior", "bound", "posterior"))
        axes.hlines(places, prior, bound, color=BLUE, linewidth=1.5, alpha=0.6)
        axes.plot(prior, places, "o", mfc="white", mec=GREY, ms=6, label="prior p: best guess before")
        axes.plot(bound, places, "o", color=BLUE, ms=6, label="certified bound: best guess after")
        axes.plot(target, places, "|", color=ORANGE, ms=13, mew=2.5, label="target r: the most allowed")
        axes.set_xscale("log")
        axes.set(
            title=_title("Certified posterior of each secret", shown, rows, "closest to their target"),
            xlabel="probability that an adversary names the secret (log scale)",
        )
        _name_rows(axes, shown)
        _legend_below(axes, columns=3)
    return path


def losses(bits_per_byte: Mapping[str, float], path: Path) -> Path:
    """What protection costs: loss on held-out text without a secret, by model, in bits per byte."""
    colors = {"protected": BLUE, "unprotected": ORANGE}
    with _figure(path, height=1.4 + 0.45 * max(len(bits_per_byte), 2)) as (axes,):
        names, values = list(bits_per_byte), list(bits_per_byte.values())
        axes.barh(names, values, color=[colors.get(name, GREY) for name in names], height=0.6)
        for place, value in enumerate(values):
            axes.text(value, place, f" {value:.3f}", va="center", fontweight="bold")
        axes.set(
            title="Loss on held-out text, by model",
            xlabel="bits per byte (less is better; 8 is no model at all)",
            xlim=(0, 1.15 * max(values, default=1.0)),
        )
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.grid(axis="x")
    return path


def exposure(
    protected: pl.DataFrame,
    unprotected: pl.DataFrame | None,
    path: Path,
    *,
    before: pl.DataFrame | None = None,
) -> Path:
    """How high each true value ranks among its alternatives, with and without protection.

    Exposure is log2(N + 1) − log2(rank), so a value that the model knows nothing about passes b bits with
    probability 2^−b; the line at 4.3 bits is where one secret in 20 lands by chance.

    Args:
        protected, unprotected: the tables of `hush_core.auditing.exposure`; `before`: that of the model before it
            read any protected text, which shows what a value's form alone gives away.
    """
    columns = ["secret_id", "exposure_bits", "extracted"]
    rows = protected.with_columns(ceiling=(pl.col("alternatives") + 1).log(2))
    if unprotected is not None:
        rows = rows.join(unprotected.select(columns), on="secret_id", how="left", suffix="_unprotected")
        order = "exposure_bits_unprotected"
    else:
        order = "exposure_bits"
    if before is not None:
        rows = rows.join(before.select(columns[:2]), on="secret_id", how="left", suffix="_before")
    rows = rows.sort([order, "secret_id"], descending=[True, False], nulls_last=True)
    shown = rows.head(MOST_ROWS)
    ceiling = float(shown["ceiling"].max() or 1.0)
    with _figure(path, height=_height(shown)) as (axes,):
        places = np.arange(shown.height)
        bits = shown["exposure_bits"].to_numpy()
        if unprotected is not None:
            bare = shown["exposure_bits_unprotected"].to_numpy()
            axes.hlines(places, bits, bare, color="#bbbbbb", linewidth=1.5)
            axes.plot(bare, places, "s", color=ORANGE, ms=7, label="unprotected")
            _mark_extracted(axes, bare, shown["extracted_unprotected"])
        if before is not None:
            axes.plot(
                shown["exposure_bits_before"].to_numpy(),
                places,
                "x",
                color=GREY,
                ms=7,
                label="before training",
            )
        axes.plot(bits, places, "o", color=BLUE, ms=7, label="protected")
        _mark_extracted(axes, bits, shown["extracted"], label="value extracted word for word")
        axes.axvline(math.log2(20), color=GREY, linestyle=":", label="1 in 20 by chance")
        axes.axvline(ceiling, color=GREY, linestyle="--", label="ranked first")
        axes.set(
            title=_title("Exposure of each secret with a value", shown, rows, "most exposed"),
            xlabel="exposure in bits (0: ranked last among its alternatives)",
            xlim=(-0.03 * ceiling, 1.05 * ceiling),
        )
        _name_rows(axes, shown)
        _legend_below(axes, columns=3)
    return path


def short_name(name: str) -> str:
    """A secret's name without its rule's publisher and with 6 digits of its keyed hash.

    >>> short_name("creds/betterleaks.github-pat:a7b3ade17ded")
    'creds/github-pat:a7b3ad'
    """
    name = re.sub(r":([0-9a-f]{6})[0-9a-f]+$", r":\1", name)
    return re.sub(r"/(?:betterleaks\.|veles\.secrets/|hush\.|gitleaks\.)", "/", name)


@contextmanager
def _figure(path: Path, *, height: float, columns: int = 1):
    """Axes to draw on; saved on leaving, without a date or a version, under a style of our own."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        yield tuple(figure.subplots(1, columns, squeeze=False)[0])
        figure.savefig(path, format="png", metadata={"Software": None})


def _height(rows: pl.DataFrame) -> float:
    return 1.9 + 0.26 * max(rows.height, 3)


def _title(text: str, shown: pl.DataFrame, rows: pl.DataFrame, which: str) -> str:
    if shown.height == rows.height:
        return text
    return f"{text}\n(the {shown.height} {which}, of {rows.height:,})"


def _name_rows(axes: Axes, rows: pl.DataFrame) -> None:
    names = [n if len(n) <= 40 else f"{n[:24]}…{n[-15:]}" for n in map(short_name, rows["name"])]
    # a name may hold a dollar sign, which would start a formula
    axes.set_yticks(np.arange(rows.height), [n.replace("$", r"\$") for n in names], fontsize=9)
    axes.set_ylim(max(rows.height, 1) - 0.5, -0.5)
    axes.grid(axis="both")


def _legend_below(axes: Axes, columns: int) -> None:
    axes.figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=9
    )


def _mark_extracted(axes: Axes, bits: np.ndarray, extracted: pl.Series, label: str | None = None) -> None:
    which = np.flatnonzero(extracted.fill_null(False).to_numpy())
    axes.plot(bits[which], which, "o", mfc="none", mec="black", ms=13, mew=1.6, label=label)


def _percent(share: float) -> str:
    """Never rounds a loss away: 99.96 % is not shown as 100 %."""
    text = f"{100 * share:.1f} %"
    return "under 100 %" if text == "100.0 %" and share < 1 else text.replace("100.0", "100")


def _ratio(ratio: float) -> str:
    if ratio >= 1:
        return f"   ({ratio:.3g} times less)"
    return f"   ({1 / ratio:.3g} times more)"
