"""Numbers in words, for all who write to a person: it loads nothing, so that `hush verify` may use it."""


def counted(number: int, what: str) -> str:
    """1 secret, 2 secrets."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
