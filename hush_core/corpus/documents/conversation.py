"""Conversations, and prompts with completions, as one text with the ranges that the model is to say.

A template must render a conversation turn by turn: its text of the first turns stays the same when more are added,
and holds each turn's content. So no turn changes another's text, and the ranges are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hush_core.config.chat_template import PLAIN
from hush_core.errors import InputError

ASSISTANT = "assistant"
DATE = "26 Jul 2024"
"""The date that a template gets if it asks for today's: the same every day (Llama 3's own default)."""
_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_MOST_TURNS = 1000
_NO_CLOCK = (
    f'{{%- macro strftime_now(format) -%}}{DATE}{{%- endmacro -%}}{{%- set date_string = "{DATE}" -%}}'
)


class Turn(NamedTuple):
    """One message: who says it, and what."""

    role: str
    content: str


class Conversation(NamedTuple):
    """A whole text, and the ranges [start, end) of its characters that are completions: ascending, apart."""

    text: str
    completions: list[tuple[int, int]]


def prompted(prompt: str, completion: str) -> Conversation:
    """The two unchanged, one after the other.

    >>> prompted("2 + 2 = ", "4")
    Conversation(text='2 + 2 = 4', completions=[(8, 9)])
    """
    text = prompt + completion
    return Conversation(text, [(len(prompt), len(text))] if completion else [])


def turns_of(place: str, column: str, value: object) -> list[Turn]:
    """The messages of a row, from what JSON or parquet makes of them.

    Raises:
        InputError: no list of objects with a role and a content that are text; names place and column, no value.
    """
    where = f"{place}: {column}"
    if not isinstance(value, list) or not value:
        raise InputError(where, "is no list of messages", 'write [{"role": "user", "content": "…"}, …]')
    if len(value) > _MOST_TURNS:
        raise InputError(where, f"holds more than {_MOST_TURNS} messages", "cut it into several rows")
    turns = []
    for number, one in enumerate(value, 1):
        role, content = (one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None)
        if not isinstance(role, str) or not _ROLE.fullmatch(role):
            raise InputError(
                where, f"message {number} has no role", "name one: system, user, assistant, tool"
            )
        if not isinstance(content, str):
            raise InputError(
                where,
                f"message {number} has no content that is text",
                "write it as text; images are not read",
            )
        if any(one.get(key) for key in ("tool_calls", "function_call")):
            raise InputError(
                where, f"message {number} calls a tool beside its content", "write the call into the content"
            )
        turns.append(Turn(role, content))
    return turns


def render(place: str, turns: Sequence[Turn], template: str) -> Conversation:
    """A conversation as one text by a Jinja template, or by the plain one: `role:`, a line break, the content, a
    blank line. A completion is what the assistant says, with what ends its turn.

    Raises:
        InputError: the template refuses these messages, or does not render turn by turn. Never holds a value.

    >>> render("here", [Turn("user", "2 + 2?"), Turn("assistant", "4")], "plain")
    Conversation(text='user:\\n2 + 2?\\n\\nassistant:\\n4\\n\\n', completions=[(25, 28)])
    """
    whole = _plain if template == PLAIN else _by_jinja(place, template)
    text, completions, asked = "", [], 0
    for end, turn in enumerate(turns, 1):
        if turn.role != ASSISTANT and end < len(turns):
            continue  # some templates refuse what ends with a system's message
        after = whole(turns[:end], False)
        if turn.role == ASSISTANT:
            before = _before(whole, turns[: end - 1], after)
            _check(place, text, before, turns[asked : end - 1])
            _check(place, before, after, [turn])
            completions.append((len(before), len(after)))
        else:
            _check(place, text, after, turns[asked:end])
        text, asked = after, end
    return Conversation(text, completions)


def _before(whole: Callable[[Sequence[Turn], bool], str], turns: Sequence[Turn], after: str) -> str:
    """The text before the assistant's answer: with its name, unless the template then continues otherwise."""
    if not turns:
        return ""
    begun = whole(turns, True)
    return begun if after.startswith(begun) else whole(turns, False)


def _check(place: str, before: str, after: str, turns: Sequence[Turn]) -> None:
    """The text continues, and the added part holds what these turns say."""
    added = after[len(before) :]
    if not after.startswith(before) or any(turn.content.strip() not in added for turn in turns):
        raise InputError(
            place,
            "is not rendered turn by turn: the chat template leaves out, changes or moves what a turn says",
            "set chat_template to plain or to a file with another one, or cut such conversations to one answer",
        )


def _plain(turns: Sequence[Turn], answer: bool) -> str:
    text = "".join(f"{turn.role}:\n{turn.content}\n\n" for turn in turns)
    return text + f"{ASSISTANT}:\n" * answer


def _by_jinja(place: str, template: str) -> Callable[[Sequence[Turn], bool], str]:
    """Renders in transformers' sandbox; `answer`: up to where the assistant begins to speak."""
    from transformers.utils.chat_template_utils import render_jinja_template

    def whole(turns: Sequence[Turn], answer: bool) -> str:
        found = None
        try:
            found, _ = render_jinja_template(
                conversations=[[turn._asdict() for turn in turns]],
                chat_template=_NO_CLOCK + template,
                add_generation_prompt=answer,
            )
        except Exception:  # jinja's own messages quote what they render
            found = None
        if found is None:
            raise InputError(
                place,
                "is refused by the chat template",
                "see which roles it takes, and in which order; or set chat_template to plain",
            )
        return found[0]

    return whole
