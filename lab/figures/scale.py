"""What certificates cost in time: a calibration by the number of secrets, one certificate by the rounds."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, METHOD_LABELS, ORANGE, drawing

_STYLES = {
    "kl": {"color": ORANGE, "marker": "s"},
    "renyi": {"color": GREEN, "marker": "^"},
    "blow_up": {"color": BLUE, "marker": "o"},
    "best": {"color": GREY, "marker": "D"},
}
_WITH_LOWER = {"color": GREY, "marker": "v", "linestyle": "--", "label": "blow_up and a lower bound"}
_LEAST_HEIGHT = 30.0
"""Ratio of the ends of a scale of seconds, at least: a curve that hardly grows is to look flat."""


def certificate_scale(calibrations: pl.DataFrame, certificates: pl.DataFrame, path: Path) -> Path:
    """Seconds, both scales logarithmic: left, one σ for all secrets, by method; right, one bound by `blow_up`.

    Args:
        calibrations: secrets, method, seconds. certificates: rounds, seconds, seconds_with_lower (the lower
            bound computed too; null where it was not).
    """
    with drawing(path, height=4.0, columns=2) as (left, right):
        for method, style in _STYLES.items():
            rows = calibrations.filter(pl.col("method") == method).sort("secrets")
            if rows.height:
                _curve(left, rows, "secrets", "seconds", {"label": METHOD_LABELS[method], **style})
        rows = certificates.sort("rounds")
        _curve(right, rows, "rounds", "seconds", {"label": METHOD_LABELS["blow_up"], **_STYLES["blow_up"]})
        _curve(right, rows.drop_nulls("seconds_with_lower"), "rounds", "seconds_with_lower", _WITH_LOWER)
        left.set(title="Calibrating all secrets", xlabel="secrets (log scale)", ylabel="seconds (log scale)")
        right.set(title="Certifying one secret", xlabel="rounds of training (log scale)")
        handles = {}
        for axes in (left, right):
            _log_log(axes)
            handles |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        left.figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=9)
    return path


def _curve(axes: Axes, rows: pl.DataFrame, across: str, up: str, style: dict[str, str]) -> None:
    axes.plot(rows[across].to_numpy(), rows[up].to_numpy(), linewidth=2, markersize=5, **style)


def _log_log(axes: Axes) -> None:
    axes.set(xscale="log", yscale="log")
    if any(len(line.get_ydata()) for line in axes.get_lines()):
        low, high = axes.get_ylim()
        wider = max(_LEAST_HEIGHT * low / high, 1.0) ** 0.5
        axes.set_ylim(low / wider, high * wider)
    else:
        axes.set(xlim=(1, 10), ylim=(1, 10))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="both")
