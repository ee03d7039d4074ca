"""What noise costs in use: the loss of models trained under the same promise, against the noise it took."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing, legend_below

_POINTS = ({"color": ORANGE, "marker": "s"}, {"color": ORANGE, "marker": "^"}, {"color": BLUE, "marker": "o"})
_LINES = (
    {"color": GREY, "linestyle": "--"},
    {"color": GREEN, "linestyle": "-"},
    {"color": GREY, "linestyle": ":"},
)


def utility_against_noise(rows: pl.DataFrame, path: Path) -> Path:
    """Bits per byte on held-out text against σ (log scale), a point a private setting, with an interval.

    Settings without noise (a start, no protection) are horizontal lines. Styles follow the order of the rows: the
    last private setting is the one that stands out.

    Args:
        rows: setting, noise_multiplier (null: trained without noise), bits_per_byte, low, high (the ends of an
            interval around it, of the loss or of its difference to the start).
    """
    private = rows.filter(pl.col("noise_multiplier").is_not_null())
    plain = rows.filter(pl.col("noise_multiplier").is_null())
    with drawing(path, height=4.2) as (axes,):
        for row, style in zip(plain.iter_rows(named=True), _cycled(_LINES, plain.height), strict=True):
            label = f"{row['setting']} ({row['bits_per_byte']:.3f})"
            axes.axhline(row["bits_per_byte"], linewidth=2, label=label, zorder=1, **style)
        points = _cycled(_POINTS, max(private.height, len(_POINTS)))[-private.height or len(_POINTS) :]
        for row, style in zip(private.iter_rows(named=True), points, strict=False):
            _point(axes, row, style)
        axes.set(
            title="Loss for the same promise, against the noise that it takes",
            xlabel="noise multiplier σ (log scale; less is better)",
            ylabel="bits per byte (less is better)",
        )
        axes.grid(axis="both")
        _log_noise(axes, private)
        if rows.height:
            legend_below(axes, columns=2)
    return path


def _cycled(styles: tuple[dict[str, str], ...], count: int) -> list[dict[str, str]]:
    return [styles[i % len(styles)] for i in range(count)]


def _point(axes: Axes, row: dict, style: dict[str, str]) -> None:
    x, y = row["noise_multiplier"], row["bits_per_byte"]
    label = f"{row['setting']} ({y:.3f})"
    axes.errorbar(
        [x], [y], yerr=[[max(y - row["low"], 0.0)], [max(row["high"] - y, 0.0)]], capsize=4, markersize=8,
        linestyle="none", label=label, zorder=2, **style,
    )  # fmt: skip
    axes.annotate(
        f"σ = {x:#.3g}".rstrip("."), (x, y), xytext=(9, -13), textcoords="offset points", fontsize=9
    )


def _log_noise(axes: Axes, private: pl.DataFrame) -> None:
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if private.is_empty():
        axes.set_xticks([])
        return
    low, high = private["noise_multiplier"].min(), private["noise_multiplier"].max()
    axes.set_xscale("log")
    axes.set_xlim(low / 2, high * 3)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
