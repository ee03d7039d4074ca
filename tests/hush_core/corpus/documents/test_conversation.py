"""Conversations become one text, and it is exact what the assistant says, for templates that go by turns."""

import json
import os
import random
import string
import subprocess
import sys
import traceback

import polars as pl
import pytest

from hush_core.config import parse_config
from hush_core.config.chat_template import PLAIN
from hush_core.corpus.documents import read_documents
from hush_core.corpus.documents.conversation import Turn, render
from hush_core.errors import InputError

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] | trim "
    "+ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set start = 1 %}{% set system = '<<SYS>>\n' "
    "+ messages[0]['content'] + '\n<</SYS>>\n\n' %}{% else %}{% set start = 0 %}{% set system = '' %}{% endif %}"
    "{% for message in messages[start:] %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}"
    "{{ '<s>[INST] ' + (system if loop.first else '') + message['content'] + ' [/INST]' }}{% else %}"
    "{{ ' ' + message['content'] + ' </s>' }}{% endif %}{% endfor %}"
)
"""It refuses what ends with a system's message."""
FORGETS = (
    "{% for message in messages %}{{ message['role'] }}:{% if message['role'] == 'assistant' and not loop.last %}-"
    "{% else %}{{ message['content'] }}{% endif %};{% endfor %}"
)
"""As some templates that drop what was thought in earlier turns."""
CHAT = [Turn("system", "Be short."), Turn("user", "2 + 2?"), Turn("assistant", "4"), Turn("user", "é + é?"),
        Turn("assistant", "éé")]  # fmt: skip


def rows(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def said(document):
    return [document.text[a:b].decode() for a, b in document.completions]


@pytest.mark.parametrize(
    "template, ends",
    [(PLAIN, "\n\n"), (CHATML, "<|im_end|>\n"), (LLAMA_2, " </s>")],
    ids=["plain", "chatml", "llama"],
)
def test_what_the_assistant_says_is_told_to_the_character(template, ends):
    found = render("here", CHAT, template)
    parts = [found.text[a:b] for a, b in found.completions]
    assert [part.strip(" ") for part in parts] == [f"4{ends}".strip(" "), f"éé{ends}".strip(" ")]
    for turn in CHAT:
        assert turn.content in found.text
    assert not any(word in part for part in parts for word in ("2 + 2", "short", "user"))


def test_what_one_turn_says_moves_no_other_turn():
    chance = random.Random(4)
    for _ in range(50):
        said = [
            "".join(chance.choices(string.ascii_letters + " \n:<|>", k=chance.randrange(1, 30)))
            for _ in range(6)
        ]
        said = [f"({number} {text})" for number, text in enumerate(said)]
        turns = [Turn("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(said)]
        found = render("here", turns, CHATML)
        at = chance.randrange(6)
        other = render(
            "here", [*turns[:at], turns[at]._replace(content="(another)"), *turns[at + 1 :]], CHATML
        )
        before = found.text.index(said[at])
        assert other.text[:before] == found.text[:before]
        assert other.text[before + len("(another)") :] == found.text[before + len(said[at]) :]


def test_the_same_documents_from_json_lines_and_parquet(tmp_path):
    chats = [[turn._asdict() for turn in CHAT], [turn._asdict() for turn in CHAT[1:3]]]
    lines = rows(tmp_path / "t.jsonl", [{"chat": chat} for chat in chats] + [{"chat": None}])
    pl.DataFrame({"chat": [*chats, None]}).write_parquet(tmp_path / "t.parquet")
    for path in (lines, tmp_path / "t.parquet"):
        found = read_documents(path, text="chat", chat_template=CHATML, max_bytes=1 << 20, where="t")
        documents = list(found)
        assert [said(d) for d in documents] == [["4<|im_end|>\n", "éé<|im_end|>\n"], ["4<|im_end|>\n"]]
        assert dict(found.skipped) == {"null_text": 1}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_prompt_and_its_completion_are_joined_as_they_stand(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    values = [{"ask": "é = ", "say": "ü"}, {"ask": "nothing", "say": ""}]
    if kind == "jsonl":
        rows(path, values)
    else:
        pl.DataFrame(values).write_csv(path)
    documents = list(read_documents(path, text=("ask", "say"), prompted=True, max_bytes=99, where="t"))
    assert [(d.text.decode(), said(d)) for d in documents] == [("é = ü", ["ü"]), ("nothing", [])]


SECRET = "canaryCANARY0147"
BROKEN = {
    "no list": "text",
    "nothing": [],
    "no object": [SECRET],
    "no role": [{"content": SECRET}],
    "a role that is text": [{"role": SECRET * 3, "content": "x"}],
    "parts": [{"role": "user", "content": [{"type": "image", "image": SECRET}]}],
    "no content": [{"role": "assistant", "content": None}],
    "a call": [{"role": "assistant", "content": "x", "tool_calls": [{"name": SECRET}]}],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_row_is_refused_by_its_place_and_never_quoted(tmp_path, broken):
    path = rows(
        tmp_path / "t.jsonl", [{"chat": [{"role": "user", "content": "x"}]}, {"chat": BROKEN[broken]}]
    )
    with pytest.raises(InputError) as refused:
        list(read_documents(path, text="chat", chat_template=PLAIN, max_bytes=999, where="t"))
    shown = "".join(traceback.format_exception(refused.value))
    assert "line 2" in str(refused.value) and SECRET not in shown


@pytest.mark.parametrize(
    "template, turns, what",
    [
        (FORGETS, CHAT, "not rendered turn by turn"),
        (
            CHATML.replace("message['content'] | trim", "message['content'][:3]"),
            CHAT,
            "not rendered turn by turn",
        ),
        (LLAMA_2, [CHAT[1], CHAT[3]._replace(content=SECRET)], "refused by the chat template"),
        ("{{ messages[0]['content'] | nothing }}", [Turn("user", SECRET)], "refused by the chat template"),
        ("{% for", [Turn("user", SECRET)], "refused by the chat template"),
    ],
    ids=["forgets", "cuts", "order", "filter", "syntax"],
)
def test_a_template_that_changes_what_was_said_is_refused(template, turns, what):
    with pytest.raises(InputError, match=what) as refused:
        render("here", turns, template)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_one_answer_is_enough_for_a_template_that_forgets_earlier_ones():
    found = render("here", CHAT[1:3], FORGETS)
    assert [found.text[a:b] for a, b in found.completions] == ["assistant:4;"]


def test_a_template_has_no_clock():
    asks = (
        "{% set today = strftime_now('%d %b %Y') %}{{ today }} {{ date_string }} {{ messages[0]['content'] }}"
    )
    assert render("here", [Turn("user", "x")], asks).text == "26 Jul 2024 26 Jul 2024 x"


def config(folder, **table):
    data = {
        "version": 1, "tables": [{"path": "t.jsonl", **table}], "train": {"rounds": 2, "batch": 2},
        "secrets": [{"id": "a", "kind": "credentials", "level": 1e-3}],
    }  # fmt: skip
    return data


def test_messages_in_a_format_that_has_none_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("m\nx\n")
    with pytest.raises(InputError, match="cannot be in a csv"):
        read_documents(tmp_path / "t.csv", text="m", chat_template=PLAIN, max_bytes=9, where="t")


def test_the_models_own_template_is_taken_with_its_tokens(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    settings = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "{{ bos_token }}old"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    own = "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{{ eos_token }}{% endfor %}"

    def text_of(**table):
        data = config(tmp_path, messages="m", **table)
        data["model"] = {"kind": "huggingface", "name": "model"}
        (table,) = parse_config(data, where="job.yaml", folder=tmp_path).tables
        return table.chat_template

    assert text_of().endswith("{{ bos_token }}old")
    settings["chat_template"] = [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert text_of().endswith("d")
    (folder / "chat_template.jinja").write_text(own)
    assert render("here", CHAT[1:3], text_of()).text == "<s>2 + 2?</s>4</s>"
    assert text_of(chat_template="plain") == PLAIN
    (tmp_path / "mine.jinja").write_text("{{ eos_token }}{{ messages[0]['content'] }}")
    assert render("here", CHAT[:1], text_of(chat_template="mine.jinja")).text == "</s>Be short."
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text("{}")
    assert text_of() == PLAIN
    assert (
        parse_config(config(tmp_path, messages="m"), where="j", folder=tmp_path).tables[0].chat_template
        == PLAIN
    )


def test_a_model_on_the_hub_gives_its_template_or_is_said_not_to_be_had(tmp_path):
    """Through the hub's own client, from what it has kept: it is told that there is no network."""
    kept = tmp_path / "hub" / "models--some--model"
    snapshot = kept / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0" * 40)
    (snapshot / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ messages[0]['content'] }}!"})
    )
    code = """
import sys
from pathlib import Path
from hush_core.config.chat_template import template_text
from hush_core.config.models import HuggingFaceModel
from hush_core.errors import InputError
for name in sys.argv[1:]:
    model = HuggingFaceModel(kind="huggingface", name=name)
    try:
        print(template_text(None, model, Path("."), where="tables.chat"))
    except InputError as error:
        print(error)
    print(template_text("plain", model, Path("."), where="tables.chat"))
"""
    offline = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "some/model", "some/other"],
        env=os.environ | offline, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    own, plain, missing, also_plain = done.stdout.splitlines()
    assert own == "{{ messages[0]['content'] }}!" and plain == also_plain == PLAIN
    assert "tables.chat" in missing and "the hub did not give" in missing
