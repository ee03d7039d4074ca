"""Words for people: numbers, and a new version beside the promoted one. It loads nothing heavy, so that
`hush verify` may use it."""

from pydantic import BaseModel


def counted(number: int, what: str) -> str:
    """1 secret, 2 secrets."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def batch_in_words(expected: int, cycle: float | None) -> str:
    """`cycle`: mean items of a round that takes them in turn (`Calibrated.cycle_batch`), if it does."""
    if cycle is None:
        return f"expected batch {expected}"
    least = int(cycle)
    size = f"{least}" if cycle == least else f"{least} or {least + 1}"
    return f"batches of {size} in turn, divided by {expected}"


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
