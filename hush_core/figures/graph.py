"""The graph of an extraction: how many examples a secret touches, and which secrets are together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing, name_rows

LARGEST = 12
"""Secrets that are named, and compared with each other."""
_STYLES = (
    (BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), ("#CC79A7", "D"), ("#56B4E9", "v"), ("#E69F00", "P"),
)  # fmt: skip
_OTHER = (GREY, "X")
_MANY = 60
"""More secrets than this are drawn as smaller marks."""


def secret_graph(edges: pl.DataFrame, secrets: pl.DataFrame, path: Path) -> Path:
    """Examples by secret, secrets by example, and how far the largest secrets overlap.

    Args:
        edges: example_id, secret_id; unique. secrets: secret_id, kind, name; those without an edge are counted.
    """
    sizes = (
        secrets.select("secret_id", "kind", "name")
        .join(edges.group_by("secret_id").agg(examples=pl.len()), on="secret_id", how="left")
        .with_columns(pl.col("examples").fill_null(0))
        .sort(["examples", "secret_id"], descending=[True, False])
    )
    held = sizes.filter(pl.col("examples") > 0)
    largest = held.head(LARGEST)
    matrix = 0.9 + 0.26 * max(largest.height, 3)
    with drawing(path, height=3.5 + matrix) as (axes,):
        page = axes.figure
        axes.remove()
        top, bottom = page.subfigures(2, 1, height_ratios=(3.5, matrix))
        left, right = top.subplots(1, 2, width_ratios=(3, 2))
        _draw_sizes(left, held, sizes.height - held.height)
        _draw_held(right, edges)
        _draw_overlap(bottom.subplots(), edges, largest)
    return path


def _draw_sizes(axes: Axes, held: pl.DataFrame, without: int) -> None:
    """One mark a secret by its rank in its kind; the largest are numbered as in the matrix."""
    held = held.with_columns(rank=pl.int_range(1, pl.len() + 1).over("kind"))
    kinds = held.group_by("kind").len().sort(["len", "kind"], descending=[True, False]).rows()
    styles = [*_STYLES, *[_OTHER] * (len(kinds) - len(_STYLES))]
    for place, (kind, count) in enumerate(kinds):
        rows = held.filter(pl.col("kind") == kind)
        color, marker = styles[place]
        label = f"{kind} ({count:,})" if place < len(_STYLES) else "_"
        if place == len(_STYLES):
            label = f"other kinds ({sum(n for _, n in kinds[place:]):,})"
        line = axes.plot(rows["rank"].to_numpy(), rows["examples"].to_numpy(), color=color, marker=marker)
        line[0].set(markersize=6 if held.height <= _MANY else 4, mew=0, lw=1, label=label.replace("$", r"\$"))
    _show_hidden(axes, held)
    axes.set(xlim=(0.8, max(held["rank"].max() or 1, 2) * 1.5))
    axes.set(ylim=(0.7, max(held["examples"].max() or 1, 2) * 4))
    _log(axes.set_xscale, axes.xaxis)
    _log(axes.set_yscale, axes.yaxis)
    _number(axes, held.head(LARGEST))
    more = f"; {without:,} more in no example" if without else ""
    axes.set(
        xlabel=f"secrets of its kind, largest first{more}",
        ylabel="examples that hold it",
        title="Each secret",
    )
    axes.grid(axis="both")
    if held.height:
        axes.legend(fontsize=8, loc="upper right", borderaxespad=0.2)


def _show_hidden(axes: Axes, held: pl.DataFrame) -> None:
    """A ring where marks of several kinds lie on one another: the last one drawn hides the others."""
    places = held.group_by("rank", "examples").agg(pl.col("kind").n_unique()).filter(pl.col("kind") > 1)
    places = places.sort("rank", "examples")
    if places.height:
        axes.plot(
            places["rank"].to_numpy(), places["examples"].to_numpy(), "o", mfc="none", mec="black", ms=11,
            label="several kinds there",
        )  # fmt: skip


def _number(axes: Axes, largest: pl.DataFrame) -> None:
    """Numbers over the marks, but not over one another."""
    taken: list[np.ndarray] = []
    numbers = largest.with_row_index("number", offset=1).group_by("rank", "examples", maintain_order=True)
    for rank, count, some in numbers.agg("number").iter_rows():
        number = ", ".join(map(str, some))  # of marks at the same place
        at = np.log10([rank, count]) / np.log10([axes.get_xlim()[1] / 0.8, axes.get_ylim()[1] / 0.7])
        if all(abs(at - other)[0] > 0.045 or abs(at - other)[1] > 0.06 for other in taken):
            taken.append(at)
            axes.annotate(number, (rank, count), (0, 8), textcoords="offset points", ha="center", fontsize=8)


def _log(set_scale: Callable[[str], None], axis: Axis) -> None:
    """A logarithmic scale, its limits set before: without data it would know none."""
    set_scale("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 150 else (1,)))
    axis.set_major_formatter(EngFormatter(sep=""))
    axis.set_minor_formatter(NullFormatter())


def _draw_held(axes: Axes, edges: pl.DataFrame) -> None:
    """A histogram over 1, 2, 3–4, 5–8, … secrets an example."""
    numbers = edges.group_by("example_id").len()["len"].to_numpy()
    group = np.ceil(np.log2(np.maximum(numbers, 1))).astype(int)
    counts = np.bincount(group, minlength=3)
    names = ["1", "2", *(f"{2 ** (g - 1) + 1}–{2**g}" for g in range(2, len(counts)))]
    places = np.arange(len(counts))
    axes.barh(places, counts, color=BLUE, height=0.7)
    high = max(int(counts.max()), 2)
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        axes.text(max(count, 0.7), place, f" {count:,}", va="center", fontsize=9)
    axes.set_yticks(places, names)
    axes.set(xlim=(0.7, high * max(high, 10) ** 0.45), ylim=(len(counts) - 0.5, -0.5))
    _log(axes.set_xscale, axes.xaxis)
    axes.set(
        xlabel=f"examples ({len(numbers):,} hold a secret)", ylabel="secrets in it", title="Each example"
    )
    axes.grid(axis="x")


def _draw_overlap(axes: Axes, edges: pl.DataFrame, largest: pl.DataFrame) -> None:
    """Of the row's examples, the share that hold the column's secret too."""
    count = largest.height
    if not count:
        axes.set_axis_off()
        axes.text(0, 0.5, "No example holds a secret.")
        return
    share = _shares(edges, largest)
    blues = LinearSegmentedColormap.from_list("hush", ["#ffffff", BLUE])
    axes.imshow(np.where(np.eye(count, dtype=bool), np.nan, share), cmap=blues, vmin=0, vmax=1, aspect="auto")
    for row in range(count):
        for column in range(count):
            text = "–" if row == column else _percent(share[row, column])
            dark = row != column and share[row, column] > 0.6
            axes.text(
                column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else "#333333"
            )
    numbered = largest.with_columns(
        name=pl.Series([f"{i}  {name}" for i, name in enumerate(largest["name"], start=1)], dtype=pl.String)
    )
    name_rows(axes, numbered)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.set_xticks(range(count), [str(i + 1) for i in range(count)], fontsize=9)
    axes.xaxis.tick_top()
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("Of the row's examples, % that\nalso hold the column's secret", fontsize=11)


def _shares(edges: pl.DataFrame, largest: pl.DataFrame) -> np.ndarray:
    """(k, k): |row ∩ column| / |row| over examples."""
    count = largest.height
    column_of = largest.select("secret_id").with_row_index("column")
    pairs = edges.select("example_id", "secret_id").join(column_of, on="secret_id")
    _, row = np.unique(pairs["example_id"].to_numpy(), return_inverse=True)
    holds = np.zeros((int(row.max(initial=-1)) + 1, count), dtype=np.float32)
    holds[row, pairs["column"].to_numpy()] = 1
    both = (holds.T @ holds).astype(np.float64)
    return both / np.maximum(np.diag(both), 1)[:, None]


def _percent(share: float) -> str:
    """Whole percents that round neither nothing nor all away: 0 is a dot, 99.9 stays under 100.

    >>> _percent(0.0), _percent(0.001), _percent(0.42), _percent(0.999), _percent(1.0)
    ('·', '<1', '42', '>99', '100')
    """
    if share == 0:
        return "·"
    if share < 0.01:
        return "<1"
    return ">99" if 0.99 < share < 1 else f"{100 * share:.0f}"
