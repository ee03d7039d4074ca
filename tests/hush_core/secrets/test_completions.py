"""What of each example is learned: against a brute force over the bytes of every document, redaction included."""

import json
import random
import string
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from extracting import KEY, job

from hush_core.corpus import PLACEHOLDER
from hush_core.corpus.documents.conversation import Turn, render
from hush_core.corpus.prompted import PromptedText, texts_of
from hush_core.secrets import extract

WORDS = "".join(c for c in string.ascii_lowercase) + "    é☕\n"
NAME = "zephyrion"


def chats(seed):
    """Conversations of one to six turns; the name stands in questions and in answers."""
    chance = random.Random(seed)
    for number in range(40):
        turns = [Turn("system", "Be short.")] * (number % 3 == 0)
        for turn in range(chance.randrange(1, 7)):
            words = "".join(chance.choices(WORDS, k=chance.randrange(1, 120)))
            if chance.random() < 0.3:
                at = chance.randrange(len(words))
                words = f"{words[:at]} {NAME} {words[at:]}"
            turns.append(Turn("assistant" if turn % 2 else "user", words))
        yield turns


def extracted(folder: Path, protect: str, **table):
    values = [
        {
            "m": [turn._asdict() for turn in turns],
            "p": turns[0].content,
            "c": turns[-1].content,
            "id": f"d{n}",
        }
        for n, turns in enumerate(chats(7))
    ]
    (folder / "t.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
    (folder / "other.jsonl").write_text(json.dumps({"text": f"nobody speaks, {NAME} aside" * 9}) + "\n")
    (folder / "names.txt").write_text(NAME + "\n")
    secrets = [
        {"id": "n", "kind": "literals", "file": "names.txt", "bits": 20, "protect": protect},
        {"id": "one", "kind": "path", "globs": ["d1"]},
    ]
    tables = [{"path": "t.jsonl", "id": "id", **table}, {"path": "other.jsonl"}]
    return extract(job([], secrets, folder=folder, tables=tables), KEY)


def marked(text: bytes, ranges, replaced: bool):
    """The bytes that are trained on, and which of them a completion holds."""
    said = np.zeros(len(text), dtype=bool)
    for start, end in ranges:
        said[start:end] = True
    if not replaced:
        return text, said
    parts, marks, at = [], [], 0
    while (found := text.find(NAME.encode(), at)) >= 0:
        parts += [text[at:found], PLACEHOLDER]
        marks += [said[at:found], np.full(len(PLACEHOLDER), said[found : found + len(NAME)].any())]
        at = found + len(NAME)
    return b"".join([*parts, text[at:]]), np.concatenate([*marks, said[at:]])


def byte_ranges(text: str, ranges):
    return [tuple(len(text[:place].encode()) for place in pair) for pair in ranges]


@pytest.mark.parametrize("protect", ["noise", "redact"])
@pytest.mark.parametrize("kind", ["messages", "prompt"])
def test_every_example_knows_which_of_its_bytes_are_completions(tmp_path, protect, kind):
    table = {"messages": "m"} if kind == "messages" else {"prompt": "p", "completion": "c"}
    result = extracted(tmp_path, protect, loss_on="completions", **table)
    examples = result.examples.filter(pl.col("source") == "t.jsonl")
    documents = {}
    for number, turns in enumerate(chats(7)):
        if kind == "messages":
            text, ranges = render("here", turns, "plain")
        else:
            text = turns[0].content + turns[-1].content
            ranges = [(len(turns[0].content), len(text))]
        documents[f"d{number}"] = marked(text.encode(), byte_ranges(text, ranges), protect == "redact")
    seen = mixed = empty = 0
    for path, start, end, text in zip(
        examples["path"], examples["start"], examples["end"], texts_of(examples), strict=True
    ):
        whole, said = documents[path]
        assert bytes(text) == whole[start:end]
        expected = said[start:end]
        got = np.zeros(len(text), dtype=bool)
        if isinstance(text, PromptedText):
            for a, b in text.completions:
                got[a:b] = True
        else:
            got[:] = True
        assert np.array_equal(got, expected)
        seen, mixed, empty = seen + 1, mixed + (0 < expected.sum() < len(text)), empty + (not expected.any())
    assert seen == len(examples) > 60 and mixed > 20 and empty > 5, "the test is blind"
    if protect == "redact":
        assert any(PLACEHOLDER in said for said in (d[0] for d in documents.values()))
    others = texts_of(result.examples.filter(pl.col("source") == "other.jsonl"))
    assert len(others) > 2 and not any(isinstance(text, PromptedText) for text in others)


def test_a_secret_in_a_prompt_is_tagged_like_any_other(tmp_path):
    """It conditions the loss of what follows, so it is in the gradient."""
    masked = extracted(tmp_path, "noise", messages="m", loss_on="completions")
    whole = extracted(tmp_path, "noise", messages="m")
    assert masked.edges.equals(whole.edges) and masked.edges.height > 20
    assert "completions" not in whole.examples.columns
    assert masked.examples.drop("completions").equals(whole.examples)
