"""The numbers of one replication as a JSON document, the pages that follow from it, and whether they still do.

failures = check_document(document)          # marks and claims that do not follow from the rows
page_of(document), index_of(documents)       # Markdown; a function of the documents alone
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lab.replications.catalogue import NAMES, find_replication
from lab.replications.claims import EXCEEDED, MARKS, NOT_REACHED, REPRODUCED, Claim
from lab.replications.replication import Replication, Row, Size, View

SCHEMA = "hush-replication/1"
SIGNS = {REPRODUCED: "✓ reproduced", EXCEEDED: "▲ exceeded", NOT_REACHED: "✗ not reached"}
INDEX_HEAD = """\
# The papers' results beside ours

`hush replicate` writes this page from the JSON files beside it. Each replication's page lists all its claims,
with the paper's figure and ours. A mark follows from the two numbers: *reproduced* within the tolerance,
*exceeded* beyond it on the better side, otherwise *not reached*. An *exploratory* claim was added after numbers
had been seen: it has no mark and is not counted. Numbers in italics are targets of this project, not figures of
the paper.
"""


def document_of(
    replication: Replication,
    size: Size,
    cells: Sequence[tuple[Mapping[str, Any], Sequence[Row], float]],
    made: Mapping[str, Any],
) -> dict[str, Any]:
    """The document.

    Args:
        cells: ({table, settings}, rows, CPU-seconds) of every one. made: command, versions, machine, data.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": replication.name,
        "size": size,
        "seed": replication.seed,
        **made,
        "cells": [{**cell, "rows": list(rows), "cpu_seconds": round(cpu, 2)} for cell, rows, cpu in cells],
    }
    document["claims"] = [claim_json(claim) for claim in replication.claims(rows_in(document))]
    return document


def claim_json(claim: Claim) -> dict[str, Any]:
    """A claim with its mark, as JSON."""
    return {**asdict(claim), "mark": claim.mark, "missed_by": claim.missed_by}


def rows_in(document: Mapping[str, Any]) -> dict[str, list[Row]]:
    """By table, in the order of the cells."""
    tables: dict[str, list[Row]] = {}
    for cell in document["cells"]:
        tables.setdefault(cell["table"], []).extend(cell["rows"])
    return tables


def _same(kept: Any, again: Any) -> bool:
    """Whether a kept value is the one computed again; an optimiser ends a little elsewhere on another machine."""
    if isinstance(kept, float) and isinstance(again, float):
        return math.isclose(kept, again, rel_tol=1e-6)
    return kept == again


def check_document(document: Mapping[str, Any]) -> list[str]:
    """What does not follow: a claim that the rows do not give, a mark that its numbers do not, a miss without a
    reason. Empty where all does."""
    name, failures = document["name"], []
    if document["schema"] != SCHEMA:
        return [f"{name}: its schema is {document['schema']}, and this hush reads {SCHEMA}"]
    again = [claim_json(claim) for claim in find_replication(name).claims(rows_in(document))]
    texts = [claim["text"] for claim in document["claims"]]
    if texts != [claim["text"] for claim in again]:
        return [f"{name}: its claims are not those of this hush: run it again"]
    for claim, right in zip(document["claims"], again, strict=True):
        for key in right:
            if not _same(claim.get(key), right[key]):
                failures.append(
                    f"{name}: {claim['text']}: {key} is {claim.get(key)}, and the rows give {right[key]}"
                )
        if right["mark"] == NOT_REACHED and not right["why"]:
            failures.append(f"{name}: {claim['text']}: is not reached, and nothing says why")
    return failures


def page_of(document: Mapping[str, Any]) -> str:
    """The page of one replication."""
    replication, rows = find_replication(document["name"]), rows_in(document)
    parts = [f"# {replication.title}", f"Source: {replication.source}.", replication.about.strip()]
    parts += ["## Claims", _claims(document["claims"]), f"![{replication.title}]({replication.name}.png)"]
    for view in replication.views:
        parts += [f"## {view.title}", _table(view, rows.get(view.table, []))]
    parts += ["## How it was made", _made(document)]
    return "\n\n".join(parts) + "\n"


def index_of(documents: Sequence[Mapping[str, Any]]) -> str:
    """One page of all claims, in the order of the documents; replications without a document are named."""
    counts = {mark: sum(c["mark"] == mark for d in documents for c in d["claims"]) for mark in MARKS}
    total, exploratory = sum(counts.values()), sum(c["exploratory"] for d in documents for c in d["claims"])
    counted = f"{total} claims: " + ", ".join(f"{n} {mark}" for mark, n in counts.items()) + "."
    counted += f" {exploratory} exploratory ones are not among them." * (exploratory > 0)
    parts = [INDEX_HEAD.strip(), counted, _summary(documents), "## Not reached"]
    parts.append("The reason for each is on its replication's page.")
    parts.append(_missed(documents))
    done = {document["name"] for document in documents}
    if missing := [name for name in NAMES if name not in done]:
        listed = "\n".join(f"- `hush replicate {name}`: {find_replication(name).title}" for name in missing)
        parts += ["## Not computed here yet", listed]
    return "\n\n".join(parts) + "\n"


def _summary(documents: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| replication | source | size | " + " | ".join(MARKS) + " |", "|---" * (3 + len(MARKS)) + "|"]
    for document in documents:
        replication = find_replication(document["name"])
        counts = [str(sum(claim["mark"] == mark for claim in document["claims"])) for mark in MARKS]
        cells = (
            f"[{replication.title}]({replication.name}.md)",
            replication.source,
            document["size"],
            *counts,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _missed(documents: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| replication | claim | paper | ours |", "|---|---|---|---|"]
    for document in documents:
        for claim in document["claims"]:
            if claim["mark"] == NOT_REACHED:
                lines.append(f"| {document['name']} | {claim['text']} | {' | '.join(_numbers(claim))} |")
    return "\n".join(lines)


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| claim | paper | ours | mark |", "|---|---|---|---|"]
    for claim in claims:
        mark = sign_of(claim)
        if claim["mark"] == NOT_REACHED:
            mark += f", {claim['missed_by']}: {claim['why']}"
        lines.append(f"| {claim['text']} | {' | '.join(_numbers(claim))} | {mark} |")
    return "\n".join(lines)


def _numbers(claim: Mapping[str, Any]) -> tuple[str, str]:
    """The paper's figure, in italics where it is a target, and ours."""
    paper = _number(claim["paper"], claim["unit"])
    ours = "–" if claim["ours"] is None else _number(claim["ours"], claim["unit"])
    return (f"*{paper}*" if claim["target"] else paper), ours


def sign_of(claim: Mapping[str, Any]) -> str:
    """The mark of a claim as pages and the terminal show it."""
    return "exploratory" if claim["exploratory"] else SIGNS[claim["mark"]]


def _number(value: float, unit: str) -> str:
    return f"{value:.4g}{unit}"


def _table(view: View, rows: Sequence[Row]) -> str:
    lines = [
        "| " + " | ".join(heading for _, heading, _ in view.columns) + " |",
        "|---" * len(view.columns) + "|",
    ]
    for row in filter(view.keep, rows):
        cells = (_cell(row.get(key), form) for key, _, form in view.columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: Any, form: str) -> str:
    if value is None:
        return "–"
    if not (isinstance(value, (int, float)) and form):
        return str(value)
    shown = format(value, form)
    return shown.lstrip("-") if not shown.strip("-0.%") else shown  # no -0.0: less than is shown


def _made(document: Mapping[str, Any]) -> str:
    seconds = sum(cell["cpu_seconds"] for cell in document["cells"])
    lines = [
        f"    {document['command']}",
        "",
        f"- size {document['size']}, seed {document['seed']}; {len(document['cells'])} cells, {seconds:.0f} "
        f"CPU-seconds",
        "- " + ", ".join(f"{name} {version}" for name, version in document["versions"].items()),
        f"- code {document['code'][:12]} (SHA-256 of the modules that the numbers rest on)",
        f"- {document['machine']}",
    ]
    lines += [f"- data {name}: SHA-256 {digest[:12]}" for name, digest in document["data"].items()]
    return "\n".join(lines)
