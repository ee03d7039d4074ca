"""The letters of the demo's customers: one a customer, in prose, which the repository's code does not resemble.

The prose is real: paragraphs of Python's language reference, which the standard library keeps for `help()`.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

from hush_core.errors import InputError
from hush_core.files import whole_file

SHORTEST = 100
"""Characters of a paragraph that is long enough for a letter."""
_APART = re.compile(r"\n\s*\n")


def write_letters(path: Path, seed: int) -> int:
    """Write a table of JSON lines, {"customer": …, "text": …}; how many customers it has.

    Raises:
        InputError: this Python keeps no reference for `help()`.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise InputError(
            "pydoc_data.topics", "is not installed", "use a Python with all of its standard library"
        ) from None
    paragraphs = {text.strip() for topic in topics.values() for text in _APART.split(topic)}
    letters = sorted(text for text in paragraphs if len(text) >= SHORTEST)
    random.Random(f"hush demo {seed} letters").shuffle(letters)
    rows = ({"customer": f"C-{number:04d}", "text": text} for number, text in enumerate(letters, start=1))
    with whole_file(path) as out:
        out.write("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    return len(letters)
