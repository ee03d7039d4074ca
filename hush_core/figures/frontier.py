"""What a plan shows: what is kept against the noise that it takes, by certificate method."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter, PercentFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, METHOD_LABELS, ORANGE, drawing

_STYLES = {
    "kl": {"color": ORANGE, "marker": "s"},
    "renyi": {"color": GREEN, "marker": "^"},
    "blow_up": {"color": BLUE, "marker": "o"},
    "best": {"color": BLUE, "marker": "o"},
}


def frontier(rows: pl.DataFrame, path: Path) -> Path:
    """Left the weight retained, right the expected number of distinct examples, against σ (log scale).

    Args:
        rows: method, c, noise_multiplier (null: not certified, not drawn), weight_retained, distinct, recommended.
    """
    known = rows.filter(pl.col("noise_multiplier") > 0).sort("noise_multiplier")
    with drawing(path, height=4.2, columns=2) as (left, right):
        for axes, column in ((left, "weight_retained"), (right, "distinct")):
            for method, style in _STYLES.items():
                line = known.filter(pl.col("method") == method)
                if line.height:
                    label = METHOD_LABELS[method]
                    axes.plot(
                        line["noise_multiplier"],
                        line[column],
                        label=label,
                        linewidth=2,
                        markersize=5,
                        **style,
                    )
            chosen = known.filter(pl.col("recommended"))
            if chosen.height:
                axes.plot(
                    chosen["noise_multiplier"], chosen[column], "*", color=GREY, markersize=17, zorder=5,
                    markeredgecolor="white", label="recommended",
                )  # fmt: skip
            axes.set(xlabel="noise multiplier σ (log scale; less is better)", ylim=(0, None))
            _log_noise(axes, known)
        _name_points(left, known.filter(pl.col("method").is_in(["best", "blow_up"])))
        left.set(title="Weight retained")
        left.yaxis.set_major_formatter(PercentFormatter(1.0))
        right.set(title="Distinct examples seen, expected")
        right.yaxis.set_major_formatter(EngFormatter())
        handles = {label: line for line, label in zip(*left.get_legend_handles_labels(), strict=True)}
        left.figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=9)
    return path


def _name_points(axes: Axes, rows: pl.DataFrame) -> None:
    """Write c beside each point."""
    for row in rows.iter_rows(named=True):
        axes.annotate(
            f"c = {row['c']:.2g}", (row["noise_multiplier"], row["weight_retained"]), xytext=(7, -10),
            textcoords="offset points", fontsize=8, color=GREY,
        )  # fmt: skip


def _log_noise(axes: Axes, known: pl.DataFrame) -> None:
    axes.grid(axis="both")
    if known.is_empty():
        axes.text(0.5, 0.5, "nothing is certified", ha="center", transform=axes.transAxes)
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
