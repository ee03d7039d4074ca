"""Curves in panels side by side: what the pages of replications draw with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.ticker import NullFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing

PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
_STYLES = (
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": GREEN, "marker": "s", "linestyle": (0, (1, 1))},
    {"color": ORANGE, "marker": "^", "linestyle": (0, (5, 2))},
    {"color": PURPLE, "marker": "D", "linestyle": "-."},
    {"color": SKY, "marker": "v", "linestyle": "-"},
    {"color": BLACK, "marker": "x", "linestyle": ":"},
)
_SPREAD = 0.12


@dataclass(frozen=True)
class Curve:
    """One curve. low, high: an interval around y. points: without a line."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    points: bool = False


@dataclass(frozen=True)
class Panel:
    """One picture of several. levels: horizontal lines, by label. diagonal: the line y = x, too. yticks: names for
    places on the y axis, the first one at the top."""

    title: str
    xlabel: str
    ylabel: str
    curves: Sequence[Curve]
    levels: tuple[tuple[str, float], ...] = ()
    xscale: str = "linear"
    yscale: str = "linear"
    ylim: tuple[float | None, float | None] | None = None
    diagonal: bool = False
    yticks: Mapping[float, str] | None = None


def draw_panels(title: str, shown: Sequence[Panel], path: Path, *, height: float = 4.2) -> Path:
    """Draw them side by side. Curves of one label look alike in all panels, and stand once in the legend."""
    labels = list(dict.fromkeys(curve.label for panel in shown for curve in panel.curves))
    styles = {label: _STYLES[i % len(_STYLES)] for i, label in enumerate(labels)}
    handles: dict[str, object] = {}
    with drawing(path, height=height, columns=len(shown)) as all_axes:
        for axes, panel in zip(all_axes, shown, strict=True):
            axes.set(xscale=panel.xscale, yscale=panel.yscale, xlabel=panel.xlabel, ylabel=panel.ylabel)
            axes.set_title(panel.title, fontsize=10, fontweight="normal")
            for name, level in panel.levels:
                handles[name] = axes.axhline(level, color=GREY, linewidth=1, linestyle="--", label=name)
            for curve in panel.curves:
                handles[curve.label] = _draw(axes, curve, styles[curve.label])
            if panel.diagonal:
                handles["y = x"] = axes.axline((0, 0), slope=1, color=GREY, linewidth=1, label="y = x")
            if panel.ylim is not None:
                axes.set_ylim(*panel.ylim)
            if panel.yticks is not None:
                axes.set_yticks(list(panel.yticks), list(panel.yticks.values()), fontsize=8)
                axes.set_ylim(max(panel.yticks) + 0.5, min(panel.yticks) - 0.5)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_formatter(NullFormatter())  # between powers of ten they run into one another
            axes.grid(axis="both")
        figure = all_axes[0].figure
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        columns = min(4, max(1, len(handles)))
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=columns, fontsize=9
        )
    return path


def _draw(axes, curve: Curve, style: dict) -> object:
    known = [i for i, value in enumerate(curve.y) if value is not None]
    x, y = [curve.x[i] for i in known], [curve.y[i] for i in known]
    how = {**style, "linestyle": "none"} if curve.points else style
    (line,) = axes.plot(x, y, label=curve.label, linewidth=1.8, markersize=4, **how)
    if curve.low is not None and curve.high is not None:
        low, high = ([side[i] for i in known] for side in (curve.low, curve.high))
        axes.fill_between(x, low, high, color=style["color"], alpha=_SPREAD, linewidth=0)
    return line
