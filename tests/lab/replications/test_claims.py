"""Marks follow from numbers, documents from rows, and what does not follow is named."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from hush_core.errors import InputError
from lab.replications import (
    MARKS,
    NAMES,
    Claim,
    check_document,
    document_of,
    find_data,
    find_replication,
    index_of,
    mark_of,
    page_of,
)
from lab.replications.claims import EXCEEDED, NOT_REACHED, REPRODUCED

MADE = {
    "command": "hush replicate ngram",
    "versions": {"numpy": "2"},
    "code": "c" * 64,
    "machine": "m",
    "data": {},
}


@pytest.mark.parametrize(
    ("ours", "paper", "want", "tolerance", "mark"),
    [
        (8.0, 8.0, "more", 0.0, REPRODUCED), (8.9, 8.0, "more", 0.1, EXCEEDED), (7.3, 8.0, "more", 0.1, REPRODUCED),
        (7.1, 8.0, "more", 0.1, NOT_REACHED), (0.5, 1.0, "less", 0.1, EXCEEDED),
        (1.05, 1.0, "less", 0.1, REPRODUCED),
        (1.2, 1.0, "less", 0.1, NOT_REACHED), (9e9, 2e4, "at_least", 0.0, REPRODUCED),
        (1e4, 2e4, "at_least", 0.0, NOT_REACHED), (1e-9, 1.0, "at_most", 0.0, REPRODUCED),
        (1.1, 1.0, "at_most", 0.0, NOT_REACHED), (-22.6, -22.5, "equal", 0.01, REPRODUCED),
        (-23.0, -22.5, "equal", 0.01, NOT_REACHED), (-22.0, -22.5, "equal", 0.01, NOT_REACHED),
        (1e-4, 0.0, "equal", 1e-3, REPRODUCED), (2e-3, 0.0, "equal", 1e-3, NOT_REACHED),
        (None, 1.0, "at_most", 0.0, NOT_REACHED), (math.nan, 1.0, "at_most", 9.0, NOT_REACHED),
    ],
)  # fmt: skip
def test_the_mark_follows_from_the_numbers(ours, paper, want, tolerance, mark):
    assert mark_of(ours, paper, want, tolerance) == mark
    assert mark in MARKS


def test_a_miss_says_by_how_much():
    assert Claim("x", 8.0, 4.0, "more").missed_by == "by 50% of the figure"
    assert Claim("x", 0.0, 0.25, "equal", 0.1, " bits").missed_by == "by 0.25 bits"
    assert Claim("x", 8.0, None, "more").missed_by == "not measured"
    assert Claim("x", 8.0, 9.0, "more").missed_by == ""


@pytest.mark.parametrize("ours", [9.0, 4.0, None])
def test_an_exploratory_claim_has_no_mark_and_is_not_counted(document, ours):
    from lab.replications.document import claim_json

    claim = Claim("it flies", 8.0, ours, "more", exploratory=True)
    assert claim.mark is None and claim.missed_by == ""
    more = {**document, "claims": [*document["claims"], claim_json(claim)]}
    before, after = (index_of([one]).split("claims: ")[1].splitlines()[0] for one in (document, more))
    assert after == before + " 1 exploratory ones are not among them."
    shown = "–" if ours is None else f"{ours:g}"
    assert f"| it flies | 8 | {shown} | exploratory |" in page_of(more)


@pytest.fixture(scope="module")
def document():
    """What the n-gram models come to in the tiny size, as it would lie in a file."""
    from lab.replications import Place

    replication, done = find_replication("ngram"), []
    for cell in replication.cells("tiny"):
        rows = replication.rows_of(cell, Place({}, Path()))
        done.append(({"table": cell.table, "settings": dict(cell.settings)}, rows, 1.0))
    return json.loads(json.dumps(document_of(replication, "tiny", done, MADE)))


def test_what_follows_is_accepted_and_shown(document):
    assert check_document(document) == []
    page, index = page_of(document), index_of([document])
    for claim in document["claims"]:
        assert claim["text"] in page and f"{claim['ours']:.4g}" in page
    assert "![" in page and "hush replicate ngram" in page and "2 cells, 2 CPU-seconds" in page
    missed = [claim for claim in document["claims"] if claim["mark"] == NOT_REACHED]
    assert missed and all(claim["why"] in page and claim["missed_by"] in page for claim in missed)
    assert all(claim["text"] in index and f"{claim['ours']:.4g}" in index for claim in missed)
    assert f"{len(missed)} not reached" in index
    assert (
        "hush replicate one_shot" in index and "hush replicate ngram`" not in index
    )  # what is not there is named


def change(document, **values):
    """The document with these values in its first claim."""
    first, *others = document["claims"]
    return {**document, "claims": [{**first, **values}, *others]}


@pytest.mark.parametrize("values", [{"mark": EXCEEDED}, {"ours": -22.5}, {"paper": -23.0}, {"tolerance": 0.5},
                                    {"want": "at_least"}, {"why": ""}, {"target": True},
                                    {"exploratory": True}])  # fmt: skip
def test_a_claim_that_does_not_follow_from_the_rows_is_named(document, values):
    (failure,) = check_document(change(document, **values))
    assert document["claims"][0]["text"] in failure and next(iter(values)) in failure


def test_other_rows_other_claims_and_another_schema_are_named(document):
    cells = [
        {**cell, "rows": [{**row, "log_p": -21.0} for row in cell["rows"]]} for cell in document["cells"]
    ]
    assert any("ours" in failure for failure in check_document({**document, "cells": cells}))
    assert "run it again" in check_document({**document, "claims": document["claims"][1:]})[0]
    assert "schema" in check_document({**document, "schema": "hush-replication/0"})[0]


def test_a_miss_without_a_reason_is_named(monkeypatch):
    replication = find_replication("ngram")

    def silent(rows):
        return [Claim("it flies", 2.0, 1.0, "more")]

    other = replace(replication, claims=silent)
    monkeypatch.setattr("lab.replications.document.find_replication", lambda name: other)
    failures = check_document(document_of(other, "tiny", [], MADE))
    assert failures == ["ngram: it flies: is not reached, and nothing says why"]


def test_every_replication_says_what_it_is():
    for name in NAMES:
        found = find_replication(name)
        assert found.name == name and found.title and found.source and found.about
        for size in ("tiny", "short", "full"):
            cells = found.cells(size)
            assert cells and {cell.table for cell in cells} <= set(found.compute)
            keys = [json.dumps([cell.table, dict(cell.settings)], sort_keys=True) for cell in cells]
            assert len(set(keys)) == len(keys)
        assert {view.table for view in found.views} <= set(found.compute)
    with pytest.raises(InputError, match="ngram"):
        find_replication("figure_9")


def test_data_is_found_by_the_beginning_of_its_name(tmp_path):
    for name in ("arxiv_public_20k.parquet", "arxiv_private_100k.parquet"):
        (tmp_path / name).write_bytes(b"x")
    assert find_data(tmp_path, ["arxiv_public"]) == {"arxiv_public": tmp_path / "arxiv_public_20k.parquet"}
    assert find_data(None, []) == {}
    (tmp_path / "arxiv_public_2.parquet").write_bytes(b"x")
    for folder, names in (
        (None, ["arxiv_public"]),
        (tmp_path, ["arxiv_public"]),
        (tmp_path / "no", ["arxiv_private"]),
    ):
        with pytest.raises(InputError, match="--data"):
            find_data(folder, names)


RESULTS = Path(__file__).parents[3] / "lab" / "docs" / "results"

FILES = [path for name in NAMES if (path := RESULTS / f"{name}.json").is_file()]


def test_there_are_results_and_no_others():
    assert len(FILES) > 3
    assert {path.stem for path in RESULTS.iterdir()} == {*(path.stem for path in FILES), "README"}
    assert {path.suffix for path in RESULTS.iterdir()} == {".json", ".md", ".png"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_page_is_what_its_numbers_give(path):
    document = json.loads(path.read_bytes())
    assert check_document(document) == []
    again = f"regenerate it: hush replicate {path.stem}"
    assert path.with_suffix(".md").read_text(encoding="utf-8") == page_of(document), again
    assert Image.open(path.with_suffix(".png")).size[0] == 960
    replication = find_replication(path.stem)
    asked = [{"table": c.table, "settings": dict(c.settings)} for c in replication.cells(document["size"])]
    cells = [{"table": c["table"], "settings": c["settings"]} for c in document["cells"]]
    assert cells == json.loads(json.dumps(asked)), again
    assert document["size"] in ("short", "full") and document["seed"] == replication.seed


def test_the_index_is_what_the_numbers_give():
    index = index_of([json.loads(path.read_bytes()) for path in FILES])
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == index, "regenerate it: hush replicate ngram"


def test_another_number_on_a_page_would_be_seen():
    document = json.loads(FILES[0].read_bytes())
    row = document["cells"][-1]["rows"][0]
    key = next(key for key in ("kl", "paper", "noise_multiplier") if isinstance(row.get(key), float))
    before = page_of(document)
    row[key] *= 1.5
    assert page_of(document) != before


def test_the_readme_gives_the_counts_of_the_index():
    counts = re.search(
        r"(\d+) claims: (\d+) reproduced, (\d+) exceeded, (\d+) not reached",
        (RESULTS / "README.md").read_text(),
    )
    claims, reproduced, exceeded, missed = map(int, counts.groups())
    words = " ".join((RESULTS.parents[2] / "README.md").read_text().split())
    assert f"Of {claims} claims" in words and f"{reproduced + exceeded} hold and {missed} do not" in words
