"""Sealed files: what was sealed comes back, and nothing else opens."""

import io

import pytest

from tasks.runtime.sealed import MAGIC, PIECE, SALT, TAG, NotWhole, seal, unseal

KEY, NAME = bytes(range(32)), "objects/ab/abc"
HEAD = len(MAGIC) + SALT


def sealed(data, key=KEY, name=NAME):
    out = io.BytesIO()
    seal(io.BytesIO(data), out, key, name)
    return out.getvalue()


def opened(data, key=KEY, name=NAME):
    out = io.BytesIO()
    unseal(io.BytesIO(data), out, key, name)
    return out.getvalue()


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE])
def test_what_was_sealed_comes_back(size):
    data = bytes(i % 251 for i in range(size))
    first, second = sealed(data), sealed(data)
    assert opened(first) == data and first != second, "equal files must not look equal"
    assert data[:64] not in first or size < 2


THREE = sealed(b"a" * PIECE + b"b" * PIECE + b"c" * 10)
PIECES = [THREE[HEAD + i * (PIECE + TAG) :][: PIECE + TAG] for i in range(3)]


@pytest.mark.parametrize(
    "wrong",
    [
        b"", THREE[: HEAD - 1], THREE[:HEAD], THREE[:-1], THREE + b"x",
        THREE[: HEAD + PIECE + TAG], THREE[: HEAD + 2 * (PIECE + TAG)],  # cut off between pieces
        THREE[:HEAD] + PIECES[0] + PIECES[2], THREE[:HEAD] + PIECES[1] + PIECES[0] + PIECES[2],
        THREE[:HEAD] + PIECES[0] + PIECES[1] + PIECES[2] + PIECES[2],
        THREE[:HEAD] + PIECES[2],
        *(
            THREE[:at] + bytes([THREE[at] ^ 1]) + THREE[at + 1 :]
            for at in (0, HEAD - 1, HEAD, HEAD + PIECE, len(THREE) - 1)
        ),
    ],
    ids=lambda data: str(len(data)),
)  # fmt: skip
def test_what_was_cut_swapped_or_changed_does_not_open(wrong):
    assert wrong != THREE
    with pytest.raises(NotWhole):
        opened(wrong)


def test_another_key_or_name_does_not_open():
    for other in ({"key": bytes(32)}, {"name": "objects/ab/abd"}):
        with pytest.raises(NotWhole):
            opened(sealed(b"text"), **other)
