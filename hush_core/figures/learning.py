"""How the loss on public text falls over the rounds: the run itself, and the rehearsals of its learning rate."""

from pathlib import Path

import polars as pl

from hush_core.figures.canvas import BLUE, GREY, drawing, legend_below

RUN = "protected run"
_STYLES = ((0, (5, 2)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))


def learning_curves(table: pl.DataFrame, path: Path, *, unit: str) -> Path:
    """Loss on public text (bits per `unit`) against rounds released.

    Args:
        table: run, rounds, bits; the run that was kept is called `RUN`, the others are drawn behind it.
    """
    with drawing(path, height=4.2) as (axes,):
        names = [name for name in table["run"].unique(maintain_order=True) if name != RUN]
        for place, name in enumerate(names):
            rows = table.filter(pl.col("run") == name).sort("rounds")
            style = _STYLES[place % len(_STYLES)]
            axes.plot(rows["rounds"], rows["bits"], color=GREY, linestyle=style, label=name)
        rows = table.filter(pl.col("run") == RUN).sort("rounds")
        if rows.height:
            axes.plot(rows["rounds"], rows["bits"], color=BLUE, linewidth=2.5, marker="o", ms=4, label=RUN)
        axes.set(
            title="Loss on public text while training",
            xlabel="rounds released",
            ylabel=f"bits per {unit} (less is better)",
        )
        if table.height:
            legend_below(axes, columns=3)
    return path
