"""The few ways in which hush refuses, each a type of its own.

A message names where (file, line, key, secret or layer), what is wrong and how to fix it. It never holds a value
from the user's data: such a value may be the secret itself.
"""

from collections.abc import Sequence

MOST_LINES = 10
"""Of one message; how many more mistakes there are is its last line."""


class HushError(Exception):
    """Base of every refusal that hush raises on purpose."""


class InputError(HushError):
    """The user's input cannot be used: config, repository, table or model. The command line exits with 2.

    >>> str(InputError("demo.yaml: rounds", "must be at least 1, got 0", "give a positive number"))
    'demo.yaml: rounds: must be at least 1, got 0. Hint: give a positive number'

    others: further mistakes in the same place, each a line of the message up to MOST_LINES in all.
    """

    def __init__(self, where: str, what: str, hint: str, others: Sequence["InputError"] = ()) -> None:
        super().__init__(where, what, hint)
        self.where, self.what, self.hint, self.others = where, what, hint, tuple(others)

    @property
    def lines(self) -> list[str]:
        """One a mistake, then how many more there are."""
        own = f"{self.where}: {self.what}. Hint: {self.hint}"
        listed = [own, *(str(one) for one in self.others[: MOST_LINES - 1])]
        more = len(self.others) + 1 - len(listed)
        return listed + [f"{self.where}: {more} more. Hint: correct these first"] * bool(more)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Unavailable(HushError):
    """Something that the work needs is away: a storage, an object of the store. It says nothing of the computation,
    so it must not count as a refusal of it."""


class SetupError(InputError, Unavailable):
    """A machine that takes part was not set up for it: its variables, or what they name, cannot be used."""


class CertificationError(HushError):
    """The numerics cannot certify a bound here; no number is returned in its place."""


class VerificationError(HushError):
    """A certificate does not hold: a missing file, an edited byte, or a number that does not come out again."""

    def __init__(self, failures: list[str]) -> None:
        super().__init__(failures)
        self.failures = failures

    def __str__(self) -> str:
        return "the certificate does not verify:\n" + "\n".join(f"  - {line}" for line in self.failures)


class OlderSchema(VerificationError):
    """A certificate of an older hush, in a form that this one does not read: what it proves is unknown.

    store: the public name of the store that wrote it, by its own words, if its files are unchanged.
    refuted: why audits refute its model, in words; empty if none does.
    """

    def __init__(self, failures: list[str], store: str = "", refuted: str = "") -> None:
        super().__init__(failures)
        self.store, self.refuted = store, refuted
