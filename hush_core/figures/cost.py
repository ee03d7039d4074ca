"""What a promise costs: noise by certificate method, and loss by model."""

import math
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from matplotlib.ticker import FuncFormatter, NullFormatter

from hush_core.figures.canvas import BLUE, GREY, METHOD_LABELS, ORANGE, drawing


def noise_by_method(noise: Mapping[str, float | None], path: Path) -> Path:
    """The noise multiplier σ that each method needs for the same promise (None: it cannot certify it)."""
    known = {method: sigma for method, sigma in noise.items() if sigma}
    reference = known.get("kl")
    with drawing(path, height=1.5 + 0.5 * max(len(noise), 2)) as (axes,):
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


def noise_by_runs(noise: pl.DataFrame, path: Path) -> Path:
    """The noise multiplier σ of each run, by how many runs keep every target together.

    `noise`: `runs`, `from_start` and `from_previous` (where each run starts: at the public start, or at the model
        before), null if not certified.
    """
    ways = {"start": ("each from the start", BLUE, 8)}
    ways["previous"] = ("each from the model before", ORANGE, -16)
    known = [sigma for way in ways for sigma in noise[f"from_{way}"].drop_nulls()]
    with drawing(path, height=3.6) as (axes,):
        for way, (label, color, above) in ways.items():
            points = noise.select("runs", sigma=f"from_{way}").drop_nulls()
            axes.plot(points["runs"], points["sigma"], color=color, marker="o", label=label)
            for runs, sigma in points.iter_rows():
                if runs > 1 or way == "start":  # one run is the same either way
                    axes.annotate(
                        f"{sigma:#.3g}".rstrip("."), (runs, sigma), xytext=(0, above), ha="center", color=color,
                        textcoords="offset points", fontweight="bold", fontsize=10,
                    )  # fmt: skip
        axes.legend(loc="upper left")
        axes.set_xscale("log")
        axes.set_xticks(noise["runs"], [f"{runs:,}" for runs in noise["runs"]])
        axes.xaxis.set_minor_formatter(NullFormatter())
        if known:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(min(known) / 1.7, max(known) * 2)
        axes.set(
            title="Noise of each run, by how many runs keep every target together",
            xlabel="runs (log scale)",
            ylabel="noise multiplier σ (log scale)",
        )
        axes.grid()
    return path


def losses(bits: Mapping[str, float], path: Path, *, unit: str = "byte") -> Path:
    """What protection costs: loss on held-out text without a secret, by model, in bits per `unit`."""
    colors = {"protected": BLUE, "unprotected": ORANGE}
    with drawing(path, height=1.4 + 0.45 * max(len(bits), 2)) as (axes,):
        names, values = list(bits), list(bits.values())
        axes.barh(names, values, color=[colors.get(name, GREY) for name in names], height=0.6)
        for place, value in enumerate(values):
            axes.text(value, place, f" {value:.3f}", va="center", fontweight="bold")
        axes.set(
            title="Loss on held-out text, by model",
            xlabel=f"bits per {unit} (less is better{'; 8 is no model at all' if unit == 'byte' else ''})",
            xlim=(0, 1.15 * max(values, default=1.0)),
        )
        axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
        axes.grid(axis="x")
    return path


def _ratio(ratio: float) -> str:
    if ratio >= 1:
        return f"   ({ratio:.3g} times less)"
    return f"   ({1 / ratio:.3g} times more)"
