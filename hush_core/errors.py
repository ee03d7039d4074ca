"""The few ways in which hush refuses, each a type of its own.

A message names where (file, line, key, secret or layer), what is wrong and how to fix it. It never holds a value
from the user's data: such a value may be the secret itself.
"""


class HushError(Exception):
    """Base of every refusal that hush raises on purpose."""


class InputError(HushError):
    """The user's input cannot be used: config, repository, table or model. The command line exits with 2.

    >>> str(InputError("demo.yaml: rounds", "must be at least 1, got 0", "give a positive number"))
    'demo.yaml: rounds: must be at least 1, got 0. Hint: give a positive number'
    """

    def __init__(self, where: str, what: str, hint: str) -> None:
        super().__init__(where, what, hint)
        self.where, self.what, self.hint = where, what, hint

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. Hint: {self.hint}"


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
