"""Where the text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from hush_core.config.section import Section

Column = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class Repository(Section):
    """One git repository: the files of one revision, or every version that it reaches (`mode: history`)."""

    path: Path
    rev: Annotated[str, Field(min_length=1, max_length=1000)] = "HEAD"
    mode: Literal["tree", "history"] = "tree"
    name: Name | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name.removesuffix(".git")


def _path_alone(given: Any) -> Any:
    return {"path": given} if isinstance(given, str) else given


_Given = Repository | Annotated[str, Field(min_length=1)]
RepositoryOrPath = Annotated[Repository, BeforeValidator(_path_alone, json_schema_input_type=_Given)]
"""A repository, or its path alone."""


class Table(Section):
    """One text table: every row, mail or entry is a document, read like a file."""

    path: Path
    name: Name | None = None
    format: Literal["parquet", "jsonl", "csv", "mbox", "changelog"] | None = None
    """None: by the name's suffix, else by the first bytes."""
    text: Column | Annotated[tuple[Column, ...], Field(min_length=1)] = "text"
    messages: Column | None = None
    """In place of `text`: the column of conversations, lists of {role, content}."""
    prompt: Column | None = None
    completion: Column | None = None
    """With `prompt`, in place of `text`: two columns that are joined as they stand."""
    chat_template: Annotated[str, Field(min_length=1)] | None = None
    """Of `messages`: `plain`, or a file of Jinja. None: the model's own, or `plain` where it has none. Once the
    config is loaded, `plain` or the template itself."""
    loss_on: Literal["all", "completions"] = "all"
    """What of a document is learned: all of it, or what the assistant says (the completion) alone."""
    unit: Column | None = None
    """The column that says whose a row is; mailboxes and ChangeLogs have theirs whether asked or not."""
    id: Column | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that a document's text is made of."""
        if self.messages is not None:
            return (self.messages,)
        if self.prompt is not None and self.completion is not None:
            return (self.prompt, self.completion)
        return (self.text,) if isinstance(self.text, str) else tuple(self.text)

    @model_validator(mode="after")
    def _one_kind_of_text(self) -> Self:
        if (self.prompt is None) != (self.completion is None):
            raise ValueError("prompt and completion go together; name both columns")
        given = [key for key in ("messages", "prompt") if getattr(self, key) is not None]
        given += ["text"] * ("text" in self.model_fields_set)
        if len(given) > 1:
            raise ValueError(f"{given[0]} and {given[1]} both say where the text is; keep one of them")
        if self.loss_on == "completions" and not (self.messages or self.prompt):
            raise ValueError(
                "loss_on: completions needs to know what is one; name the column `messages`, or `prompt` and "
                "`completion`"
            )
        if self.chat_template is not None and self.messages is None:
            raise ValueError("chat_template renders `messages`; name their column, or leave it out")
        return self
