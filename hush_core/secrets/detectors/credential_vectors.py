"""Code that is full of random values without a name: tests with vectors, not credentials.

One value that no name tells of may be a credential. Half a dozen different ones in one program are what it
computes with: exchanged keys, digests, encoded messages. Judged over a whole content, from what was found in it, so
versions of a file are judged alike however they were looked at. Data, settings and lists stay as they are: an
export of keys has many, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hush_core.secrets.detectors.credential_names import RANDOM_TOKEN

VECTORS = 6
"""So many different values that no name tells of are vectors, if the content is code."""
CODE_SHARE = 0.2
"""Least share of lines (of those with text) that only a program has."""
READ_BYTES = 1 << 16
"""By what of a content it is told whether it is code."""

_CODE = re.compile(
    rb"[ \t]*(?:(?:def|class|import|func|function|fn|impl|package|use|return|if|else|for|while|switch|try|catch"
    rb"|except|var|let|const|val|public|private|protected|static|final|void|int|struct|module|require|begin|end|describe"
    rb"|context|self|this|assert\w*|expect)\b(?![ \t]*:[ \t]*[^ \t\r\n])|#include\b|from\s+\S+\s+import\b|@\w+"
    rb"|[})\]]+[;)][;,)]*[ \t\r]*$)"
)


def vectors(content: bytes, rows: Iterable[tuple[int, int, str]]) -> bool:
    """Whether the values of RANDOM_TOKEN in a content are test vectors.

    Args:
        rows: (start, end, rule) of all that was found in it.
    """
    values = {content[start:end] for start, end, rule in rows if rule == RANDOM_TOKEN}
    return len(values) >= VECTORS and is_code(content)


def is_code(content: bytes) -> bool:
    """Whether a share of the lines is what only programs have.

    >>> is_code(b"def f():\\n    x = 1\\n    return x + 1\\n"), is_code(b"ann: x7Gq0TzLw4\\nbob: RbN9vKpY2c\\n")
    (True, False)
    """
    lines = [line for line in content[:READ_BYTES].split(b"\n") if line.strip()]
    return sum([_CODE.match(line) is not None for line in lines]) >= CODE_SHARE * max(1, len(lines))
