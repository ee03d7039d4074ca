"""The text of one item, where an item is more than one example: the records of which a round averages some."""

from __future__ import annotations

from dataclasses import dataclass

from hush_core.errors import InputError


@dataclass(frozen=True, repr=False)
class Records:
    """The pool of an item: a round that draws the item uses `ProtectionPlan.records` of these texts, or all of
    them where it has no more.

    Attributes:
        texts: at least one; each may be a `PromptedText`.
    """

    texts: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not self.texts or not all(isinstance(text, bytes) for text in self.texts):
            raise InputError(
                "records", "of an item are no texts", "give each item at least one text, as bytes"
            )

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Records({len(self.texts)} texts)"


ItemText = bytes | Records
"""The text of one item: an example's, or a pool's."""


def texts_of_item(item: ItemText) -> tuple[bytes, ...]:
    """The records of an item; of an example, itself alone."""
    return item.texts if isinstance(item, Records) else (item,)
