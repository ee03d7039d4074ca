"""lab/docs/results: every page is what its JSON file gives, every mark follows, and every picture is there."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from lab.replications import NAMES, check_document, find_replication, index_of, page_of

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
    told = [{"table": c["table"], "settings": c["settings"]} for c in document["cells"]]
    assert told == json.loads(json.dumps(asked)), again
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
