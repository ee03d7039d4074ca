"""The tables of what was measured, the paper's figures beside them, and whether its findings hold.

Ours are bits per byte, the paper's perplexities a token: only orders and signs can be compared. Intervals are
Student's at 95 % over seeds, with one spread pooled over all cells with noise (and another over those without):
two seeds a cell would give none of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from lab import figures
from lab.replications import user_level_paper as paper
from lab.replications.user_level_means import Measured, gain_over

KINDS = ("user_wise", "group_privacy")
WHERE = {"ChangeLog": "changelog", "mails": "mails", "arXiv": "arxiv"}


def _shown(cell: dict | None) -> str:
    if cell is None:
        return "-"
    return f"{cell['bits']:.3f}" + (f" ± {cell['half_width']:.3f}" if cell["half_width"] else "")


def _markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = list(head)
    lines = [cells, ["---"] * len(cells), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _epsilon(one: float | None) -> str:
    return "∞" if one is None else f"{one:g}"


def by_selection(found: Measured, kind: str, theirs: dict) -> str:
    """Tables 2 and 4, at k = 10."""
    names = list(theirs["Enron"])
    epsilons = [one for one in found.epsilons if one is not None]
    head = ["selection", *(f"ε = {one:g}" for one in epsilons), *(f"{name}, ε = 1, 3, 8" for name in theirs)]
    rows = []
    for name in names:
        ours = [_shown(found.cell(kind, name, 10, epsilon)) for epsilon in epsilons]
        rows.append(
            [name, *ours, *(" ".join(f"{x:.2f}" for x in theirs[data][name].values()) for data in theirs)]
        )
    return _markdown(head, rows)


def by_records(found: Measured, kind: str, theirs: dict, equal_units: bool = False) -> str:
    """Tables 3 and 5, of random records; beside each, σ and the noise of a released number σC/B."""
    records = list(theirs["Enron"])
    head = ["ε", *(f"k = {k}" for k in records), "σ", "σC/B", *(f"{name}, k = 2, 5, 10" for name in theirs)]
    rows = []
    for epsilon in found.epsilons:
        # at k = 5 units and records a round are those of the other table
        cells = [found.cell(kind, "random", k, epsilon, equal_units and k != 5) for k in records]
        private = [cell for cell in cells if cell and cell["sigma"]]
        rows.append([
            _epsilon(epsilon), *map(_shown, cells), ", ".join(f"{c['sigma']:.2f}" for c in private) or "-",
            ", ".join(f"{c['noise']:.4f}" for c in private) or "-",
            *(" ".join(f"{theirs[data][k][epsilon]:.2f}" for k in records) for data in theirs),
        ])  # fmt: skip
    return _markdown(head, rows)


def at_their_best(found: Measured) -> str:
    """Table 6: both at the setting that the choosing half prefers; and the paper's setting of user-wise."""
    theirs = paper.AT_THEIR_BEST
    head = [
        "ε",
        "group privacy",
        "user-wise",
        "user-wise, chunks, k = 10",
        *(f"{name}: group, user-wise" for name in theirs),
    ]
    rows = []
    for epsilon in found.epsilons:
        best = [found.best(kind, epsilon) for kind in ("group_privacy", "user_wise")]
        named = [f"{_shown(one)} ({one['select']}, k = {one['records']})" if one else "-" for one in best]
        beside = (
            f"{theirs[data]['group_privacy'][epsilon]:.2f}, {theirs[data]['user_wise'][epsilon]:.2f}"
            if epsilon
            else "-"
            for data in theirs
        )
        rows.append(
            [_epsilon(epsilon), *named, _shown(found.cell("user_wise", "chunks", 10, epsilon)), *beside]
        )
    return _markdown(head, rows)


def verdict(better: dict | None, worse: dict | None) -> str:
    """Whether the first loses less than the second, by more than both intervals together allow by chance."""
    if better is None or worse is None:
        return "not measured"
    return verdict_over([(better, worse)])


def verdict_over(pairs: Sequence[tuple[dict | None, dict | None]]) -> str:
    """The same of the mean gain over several such pairs, of those that are measured."""
    found = gain_over(pairs)
    if found is None:
        return "not measured"
    gain, chance = found
    if chance is None:
        return f"{gain:+.3f} (one seed)"
    word = "holds" if gain > chance else "the other way" if gain < -chance else "not told apart"
    return f"{word}: {gain:+.3f} ± {chance:.3f}"


def findings(found: Measured) -> list[tuple[str, str, str]]:
    """(finding of the paper, ε, what ours says): the gain in bits of what the paper prefers."""
    rows = []
    group = {e: [found.cell("group_privacy", "random", k, e) for k in (2, 5, 10)] for e in found.epsilons}
    for epsilon, cells in group.items():
        known = [cell for cell in cells if cell]
        if known:
            least = min(known, key=lambda cell: cell["bits"])
            rows.append(
                ("Group: best k (smaller for smaller ε)", _epsilon(epsilon), f"k = {least['records']}")
            )
            rows.append(("Group: k = 2 before k = 10", _epsilon(epsilon), verdict(cells[0], cells[2])))
    for epsilon in found.epsilons:
        pair = [found.cell("user_wise", "random", k, epsilon) for k in (10, 2)]
        rows.append(("User-wise: k = 10 before k = 2", _epsilon(epsilon), verdict(*pair)))
        pair = [found.cell("user_wise", "random", k, epsilon, equal_units=True) for k in (10, 2)]
        rows.append(("the same, at equal units a round", _epsilon(epsilon), verdict(*pair)))
    for epsilon in (one for one in found.epsilons if one is not None):
        for kind, select in (("group_privacy", "longest"), ("user_wise", "chunks")):
            pair = [found.cell(kind, one, 10, epsilon) for one in (select, "random")]
            rows.append((f"{kind}: {select} before random", _epsilon(epsilon), verdict(*pair)))
    for epsilon in found.epsilons:
        pair = [found.best(kind, epsilon) for kind in ("user_wise", "group_privacy")]
        rows.append(("User-wise before Group, each at its best", _epsilon(epsilon), verdict(*pair)))
    noisy = [epsilon for epsilon in found.epsilons if epsilon is not None]
    cell = found.cell
    for what, pairs in (
        ("Group: k = 2 before k = 10", [(group[e][0], group[e][2]) for e in noisy]),
        (
            "User-wise: k = 10 before k = 2",
            [[cell("user_wise", "random", k, e) for k in (10, 2)] for e in noisy],
        ),
        (
            "User-wise before Group, at equal k",
            [[cell(kind, "random", k, e) for kind in KINDS] for e in noisy for k in (2, 5, 10)],
        ),
    ):
        rows.append((what, "mean of all", verdict_over([(one, other) for one, other in pairs])))
    return rows


def report(work: Path, picture: Path | None) -> None:
    """Everything that is in the folder; the picture is of ChangeLogs, or else of the first data set."""
    drawn = False
    for name, folder in WHERE.items():
        kept = work / folder / "cells.jsonl"
        if not kept.exists():
            continue
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        found = Measured.of(rows)
        print(f"\n## {name}\n\n{(work / folder / 'data.json').read_text()}\n")
        for title, table in (
            ("2, group privacy by selection", by_selection(found, "group_privacy", paper.GROUP_SELECTIONS)),
            ("3, group privacy by k", by_records(found, "group_privacy", paper.GROUP_RECORDS)),
            ("4, user-wise by selection", by_selection(found, "user_wise", paper.USER_SELECTIONS)),
            ("5, user-wise by k", by_records(found, "user_wise", paper.USER_RECORDS)),
            (
                "5 at equal units a round",
                by_records(found, "user_wise", paper.USER_RECORDS, equal_units=True),
            ),
            ("6, both at their best", at_their_best(found)),
        ):
            print(f"Table {title}\n\n{table}\n")
        print(_markdown(["the paper's finding", "ε", "ours: bits gained"], findings(found)))
        seeds = found.means["seeds"]
        rates = found.means.select("kind", "epsilon", "learning_rate").unique(maintain_order=True)
        print(f"\nlearning rates: {rates.rows()}; {seeds.min()} to {seeds.max()} seeds a cell")
        if picture and not drawn:
            drawn_rows = found.means.filter((pl.col("select") == "random") & (pl.col("units") == 0))
            figures.loss_by_records(drawn_rows, picture)
            drawn = True
