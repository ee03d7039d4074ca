"""A new version beside the promoted one, as reports show it; imports nothing heavy."""

from __future__ import annotations

from pydantic import BaseModel

NAMED = 20
"""Names of secrets of each sort that a report lists; the counts are of all."""


class SecretChanges(BaseModel, frozen=True):
    """What became of the secrets: those of this version alone, of the champion alone, and whose bounds moved.

    n_up, n_down: bounds that changed by more than 1 %. moved: (name, of the champion, of this version), those whose
    ratio is furthest from 1 first. Bounds are of all runs where the certificate has one, else of the run.
    """

    n_added: int
    added: tuple[str, ...]
    n_removed: int
    removed: tuple[str, ...]
    n_up: int
    n_down: int
    moved: tuple[tuple[str, float, float], ...]


class AgainstChampion(BaseModel, frozen=True):
    """(what, of the champion, of this version), where both have the number."""

    uri: str
    rows: tuple[tuple[str, float, float], ...]
    secrets: SecretChanges | None = None
    """None where the champion's certificate cannot be read."""

    def table(self) -> list[str]:
        """In markdown, with the difference."""
        rows = [f"| {name} | {old:.5g} | {new:.5g} | {new - old:+.3g} |" for name, old, new in self.rows]
        head = [f"| | champion `{self.uri}` | this version | difference |", "|---|---|---|---|"]
        moved = self.secrets
        if moved is None:
            unread = "Its secrets could not be compared: its certificate cannot be read by this hush."
            return [*head, *rows, "", unread]
        return [
            *head, *rows, "",
            f"Secrets: {moved.n_added:,} added, {moved.n_removed:,} gone; bounds: {moved.n_up:,} moved up, "
            f"{moved.n_down:,} down.",
        ]  # fmt: skip


NO_OTHER = "No other version is champion."


def difference(against: AgainstChampion | None) -> list[str]:
    return [NO_OTHER] if against is None else against.table()
