"""What attacks found beside what the certificate allows, secret by secret; texts at risk; and ROC curves."""

from pathlib import Path

import numpy as np
import polars as pl

from hush_core.figures.canvas import (
    BLUE,
    GREY,
    MOST_ROWS,
    ORANGE,
    drawing,
    height_of,
    legend_below,
    name_rows,
    title_of,
)

_FLOOR = 1e-12
"""Probabilities below this are drawn there."""


def audit_against_certificate(table: pl.DataFrame, path: Path) -> Path:
    """Left: the certified posterior above, below it how likely an attacker extracts the value, each with its
    interval. Right: measured exposure, how much of it the certificate calls unlikely, and the most it could show.

    Args:
        table: `hush_core.auditing.against_certificate.TABLE`; those nearest to their bound come first.
    """
    rows = table.with_columns(
        near=pl.max_horizontal(pl.col("written") / pl.col("certified"), pl.col("ranked_evidence"))
    )
    rows = rows.sort(["near", "secret_id"], descending=[True, False], nulls_last=True)
    shown = rows.head(MOST_ROWS)
    with drawing(path, height=height_of(shown), columns=2) as (left, right):
        places = np.arange(shown.height)

        def column(name: str) -> np.ndarray:
            return shown[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

        certified, written = column("certified"), np.maximum(column("written"), _FLOOR)
        lower = np.maximum(column("certified_lower"), _FLOOR)
        left.hlines(places - 0.12, lower, certified, color=BLUE, linewidth=3, alpha=0.5)
        left.plot(certified, places - 0.12, "o", color=BLUE, ms=6, label="certified: at most")
        ends = np.maximum(column("written_lower"), _FLOOR), column("written_upper")
        left.hlines(places + 0.12, *ends, color=ORANGE, linewidth=1, alpha=0.35)
        left.plot(written, places + 0.12, "s", color=ORANGE, ms=5, label="attacked: written out")
        left.plot(
            np.maximum(column("every_step"), _FLOOR), places - 0.12, "d", mfc="white", mec=BLUE, ms=5,
            label="best guess at every noisy step",
        )  # fmt: skip
        left.plot(column("prior"), places, "|", color=GREY, ms=11, mew=2, label="prior")
        left.set_xscale("log")
        left.set(
            title=title_of("Certified, attacked", shown, rows, "nearest"),
            xlabel="probability (log scale)",
            xlim=(_FLOOR / 2, 2),
        )
        name_rows(left, shown)
        right.hlines(
            places, column("exposure_lower"), column("exposure_upper"), color=ORANGE, linewidth=1.2, alpha=0.5
        )
        right.plot(column("exposure_bits"), places, "s", color=ORANGE, ms=5, label="exposure measured")
        right.plot(column("start_bits"), places, "x", color=GREY, ms=6, label="before the rounds")
        right.plot(
            column("allowed_bits"), places, ">", color=BLUE, ms=6, label="1 in 20 at most, by certificate"
        )
        right.plot(
            column("ceiling_bits"), places, "|", color="black", ms=13, mew=2, label="ceiling: ranked first"
        )
        most = np.nanmax([1.0, *shown["ceiling_bits"].drop_nulls(), *shown["allowed_bits"].drop_nulls()])
        right.set(title="Exposure", xlabel="bits", xlim=(-0.03 * most, 1.15 * most))
        right.set_yticks(places, [""] * shown.height)
        right.set_ylim(max(shown.height, 1) - 0.5, -0.5)
        right.grid(axis="both")
        handles, labels = (
            [*one, *two]
            for one, two in zip(*(a.get_legend_handles_labels() for a in (left, right)), strict=True)
        )
        left.figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return path


def samples_at_risk(members: pl.DataFrame, others: pl.DataFrame, path: Path) -> Path:
    """Training texts by their probability under the model and how much of it training added, beside texts that it
    never saw (reconstruction_rdp.txt, Figure 5). At risk: on the right, and below the others.

    Args:
        members, others: `hush_core.auditing.calibrated_loss`.
    """

    def per_token(rows: pl.DataFrame) -> np.ndarray:
        return (rows["calibrated_bits"] / rows["tokens"].clip(1)).to_numpy()

    with drawing(path, height=4.6, columns=2) as (left, right):
        bins = np.histogram_bin_edges(np.concatenate([[0.0], per_token(members), per_token(others)]), bins=40)
        for rows, color, label in ((others, GREY, "never trained on"), (members, ORANGE, "trained on")):
            left.hist(per_token(rows), bins=bins, color=color, alpha=0.6, density=True, label=label)
            right.plot(rows["log2_probability"], per_token(rows), ".", color=color, ms=5, alpha=0.7)
        left.set(title="Calibrated loss", xlabel="bits a token, less the model before", ylabel="density")
        right.set(
            title="Texts at risk: low, and on the right",
            xlabel="log2 of the probability to be written",
            ylabel="calibrated loss, bits a token",
        )
        for axes in (left, right):
            axes.grid(axis="both")
        legend_below(left, columns=2)
    return path


def inference_curves(curves: pl.DataFrame, path: Path) -> Path:
    """ROC curves of user inference, on logarithmic axes: what counts is the left.

    Args:
        curves: samples, false_positive_rate, true_positive_rate.
    """
    with drawing(path, height=4.6) as (axes,):
        least = 1e-3
        axes.plot([least, 1], [least, 1], color=GREY, linestyle=":", linewidth=1, label="guessing")
        for (samples,), line in curves.group_by("samples", maintain_order=True):
            rates = (line[name].clip(least, 1) for name in ("false_positive_rate", "true_positive_rate"))
            axes.step(*rates, where="post", linewidth=2, label=f"{samples} texts of a unit")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(
            title="Was this unit trained on?",
            xlabel="false positive rate",
            ylabel="true positive rate",
            xlim=(least, 1),
            ylim=(least, 1.1),
        )
        axes.grid(axis="both")
        legend_below(axes, columns=3)
    return path
