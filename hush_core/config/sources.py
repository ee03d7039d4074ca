"""Where the text comes from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hush_core.config.section import Section

Column = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class Repository(Section):
    """One git repository: the files of one revision, or every version that it reaches (`mode: history`)."""

    path: Path
    """A repository on this machine, bare or with a work tree. Only commits are read; its settings, hooks and
    filters never run."""
    rev: Annotated[str, Field(min_length=1, max_length=1000)] = "HEAD"
    """Branch, tag or commit id, resolved once when the run starts."""
    mode: Literal["tree", "history"] = "tree"
    """`tree`: the files of one commit. `history`: every version of every file that the commit reaches, with
    removed files and merge-only content."""
    name: Name | None = None
    """Name in tables; otherwise the folder's name without `.git`. No two sources share a name."""

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
    """One file on this machine. All formats but parquet may be gzipped."""
    name: Name | None = None
    """Name in tables and reports; otherwise the file's name. No two sources share a name."""
    format: Literal["parquet", "jsonl", "csv", "mbox", "changelog"] | None = None
    """Otherwise by the name's suffix, else by the first bytes."""
    text: Column | Annotated[tuple[Column, ...], Field(min_length=1)] = "text"
    """The column of texts. Several columns are joined by line breaks, in this order."""
    messages: Column | None = None
    """In place of `text` (jsonl, parquet): the column of conversations, lists of `{role, content}`."""
    prompt: Column | None = None
    """With `completion`, in place of `text`: two columns of text, joined unchanged."""
    completion: Column | None = None
    """The column that follows `prompt`."""
    chat_template: Annotated[str, Field(min_length=1)] | None = None
    """`plain`, or a Jinja file, that turns `messages` into text. Otherwise the model's own template. `plain`
    writes `role:`, a line break, the content and a blank line."""
    loss_on: Literal["all", "completions"] = "all"
    """`all` learns the whole document; `completions` learns only what the assistant says. All text is
    searched and protected either way."""
    unit: Column | None = None
    """The column that says whose a row is; rows without a value are left out. Mailboxes (sender) and
    ChangeLogs (author) always have one."""
    id: Column | None = None
    """The column of unique document names, shown in reports and matched by globs. Otherwise `row-1`, `line-1`
    or `message-1`."""

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

    def conflicts(self) -> Iterator[str]:
        if (self.prompt is None) != (self.completion is None):
            yield "prompt and completion go together; name both columns"
        given = [key for key in ("messages", "prompt") if getattr(self, key) is not None]
        given += ["text"] * ("text" in self.model_fields_set)
        if len(given) > 1:
            yield f"{given[0]} and {given[1]} both say where the text is; keep one of them"
        if self.loss_on == "completions" and not (self.messages or self.prompt):
            yield (
                "loss_on: completions needs to know what is one; name the column `messages`, or `prompt` and "
                "`completion`"
            )
        if self.chat_template is not None and self.messages is None:
            yield "chat_template renders `messages`; name their column, or leave it out"
