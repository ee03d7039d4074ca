"""What methods and secrets are called in pictures and reports; needs nothing that draws."""

import re

METHOD_LABELS = {"kl": "kl (the paper)", "renyi": "renyi", "blow_up": "blow_up", "best": "best"}


def short_name(name: str, digits: int = 6) -> str:
    """A secret's name without its rule's publisher and with so many digits of its keyed hash.

    >>> short_name("creds/betterleaks.github-pat:a7b3ade17ded")
    'creds/github-pat:a7b3ad'
    """
    name = re.sub(r":([0-9a-f]{7,})$", lambda match: f":{match[1][:digits]}", name)
    return re.sub(r"/(?:betterleaks\.|veles\.secrets/|hush\.|gitleaks\.)", "/", name)
