"""The certified posterior of each secret: beside its prior and its target, and as a curve over all priors."""

from pathlib import Path

import numpy as np
import polars as pl

from hush_core.figures.canvas import (
    BLUE,
    GREEN,
    GREY,
    MOST_ROWS,
    ORANGE,
    drawing,
    height_of,
    legend_below,
    name_rows,
    short_name,
    title_of,
)

_LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), ("black", (0, (1, 1))), ("#cc79a7", (0, (5, 1))))
"""Colour and dashes of the secrets whose curves are drawn."""


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
    with drawing(path, height=height_of(shown)) as (axes,):
        places = np.arange(shown.height)
        prior, bound, target = (shown[c].to_numpy() for c in ("prior", "bound", "posterior"))
        axes.hlines(places, prior, bound, color=BLUE, linewidth=1.5, alpha=0.6)
        axes.plot(prior, places, "o", mfc="white", mec=GREY, ms=6, label="prior p: best guess before")
        axes.plot(bound, places, "o", color=BLUE, ms=6, label="certified bound: best guess after")
        axes.plot(target, places, "|", color=ORANGE, ms=13, mew=2.5, label="target r: the most allowed")
        axes.set_xscale("log")
        axes.set(
            title=title_of("Certified posterior of each secret", shown, rows, "closest to their target"),
            xlabel="probability that an adversary names the secret (log scale)",
        )
        name_rows(axes, shown)
        legend_below(axes, columns=3)
    return path


MARGIN = 3.0


def posterior_curves(
    curves: pl.DataFrame, certificate: pl.DataFrame, secrets: pl.DataFrame, path: Path
) -> Path:
    """The bound by prior, for the secrets nearest to their target: what an easier part of a secret risks.

    Args:
        curves: curve, prior, bound. certificate: secret_id, prior, posterior, bound, curve. secrets: secret_id,
            name.
    """
    rows = certificate.join(secrets.select("secret_id", "name"), on="secret_id").sort(
        [pl.col("bound") / pl.col("posterior"), pl.col("secret_id")], descending=[True, False]
    )
    shown = rows.unique("curve", keep="first", maintain_order=True).head(len(_LINES))
    with drawing(path, height=4.6) as (axes,):
        least = float(curves["prior"].min() or 1e-10)
        axes.plot(
            [least, 1], [least, 1], color=GREY, linewidth=1, linestyle=":", label="nothing learnt: r = p"
        )
        for row, (color, style) in zip(shown.iter_rows(named=True), _LINES, strict=False):
            line = curves.filter(pl.col("curve") == row["curve"]).sort("prior")
            label = short_name(row["name"]).replace("$", r"\$")
            axes.plot(line["prior"], line["bound"], color=color, linestyle=style, linewidth=2, label=label)
            axes.plot([row["prior"]], [row["bound"]], "o", color=color, ms=7)
            axes.plot([row["prior"]], [row["posterior"]], "_", color=color, ms=16, mew=2.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(
            title=title_of("Certified posterior by prior", shown, rows, "nearest to their target"),
            xlabel="prior: best guess before training, of the secret or of a part of it (log scale)",
            ylabel="best guess after (log scale)",
            xlim=(least / MARGIN, 1),  # the marks at the least prior are whole
            ylim=(least / MARGIN, 1.5),
        )
        axes.grid(axis="both")
        axes.plot([], [], "o", color=GREY, ms=7, label="the whole secret: its bound")
        axes.plot([], [], "_", color=GREY, ms=16, mew=2.5, label="and its target")
        legend_below(axes, columns=2)
    return path


def trade_off(curves: pl.DataFrame, path: Path) -> Path:
    """The f-DP trade-off: the false negatives of a test for a secret's presence, by its false positives.

    Args:
        curves: secret_id, name, false_positive_rate, false_negative_rate, as of `privacy_report`.
    """
    # equal curves are drawn once; those furthest from chance first
    area = curves.group_by("secret_id", "name").agg(pl.col("false_negative_rate").mean().round(12))
    shown = area.sort("false_negative_rate", "secret_id").unique(
        "false_negative_rate", keep="first", maintain_order=True
    )
    rows, shown = shown, shown.head(len(_LINES))
    with drawing(path, height=4.6) as (axes,):
        axes.plot([0, 1], [1, 0], color=GREY, linewidth=1, linestyle=":", label="a blind test")
        for row, (color, style) in zip(shown.iter_rows(named=True), _LINES, strict=False):
            line = curves.filter(pl.col("secret_id") == row["secret_id"]).sort("false_positive_rate")
            label = short_name(row["name"]).replace("$", r"\$")
            axes.plot(
                line["false_positive_rate"], line["false_negative_rate"], color=color, linestyle=style,
                linewidth=2, label=label,
            )  # fmt: skip
        axes.set(
            title=title_of("Trade-off of tests for a secret (f-DP)", shown, rows, "easiest to tell"),
            xlabel="false positive rate: present, says the test, and it is not",
            ylabel="false negative rate, at least",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        axes.grid(axis="both")
        legend_below(axes, columns=2)
    return path
