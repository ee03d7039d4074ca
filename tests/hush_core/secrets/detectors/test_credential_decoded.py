"""Credentials in arrays of bytes: one finding over all lines, in time that grows with the text."""

import itertools

from hush_core.secrets.detectors.credential_decoded import DECODED_PASSWORD, decoded

WORDS = b"the quick brown fox runs over a lazy dog and then away again, "


def array(text: bytes) -> bytes:
    return b"".join(
        b"  " + b"".join(b"0x%02x, " % byte for byte in text[at : at + 12]) + b"\n"
        for at in range(0, len(text), 12)
    )


def lines_of(content: bytes) -> list[tuple[int, int]]:
    ends = [0, *itertools.accumulate(map(len, content.splitlines(keepends=True)))]
    return list(itertools.pairwise(ends))


def test_each_byte_of_an_array_is_decoded_once_however_many_lines_it_has():
    looked = []

    def find(text):
        looked.append(len(text))
        return ()

    text = WORDS * 60
    content = array(text) + b"}\n\n{\n" + array(text)
    assert list(decoded(content, lines_of(content), find)) == []
    assert 2 * len(text) <= sum(looked) < 3 * len(text)


def test_a_password_in_the_midst_of_an_array_is_one_finding_over_its_lines():
    content = b"char x[] = {\n" + array(WORDS + b"password=J7kq2!mWz9Lr4 ") + b"};\n"

    def find(text):
        at = text.find(b"J7kq2!mWz9Lr4")
        return [("hush.assigned-password", at, at + 13)] if at >= 0 else []

    ((rule, start, end),) = decoded(content, lines_of(content), find)
    assert rule == DECODED_PASSWORD and content[start:end].count(b"\n") > 5
