"""Forms of tokens and keys, filled in with random symbols.

NOT TO BE READ by anyone who writes or changes a rule of hush (`outside_blind.py`).

In a form {A36} is 36 letters and digits, {B} base64url, {E} base64, {H} hex, {L} lower case and digits, {D} digits,
{X} base32, {a} letters, {crc} GitHub's checksum of the letters before it, {sum} a CRC-32 in hex.
"""

import random
import re
import zlib

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SETS = {"D": "0123456789", "H": "0123456789abcdef", "L": "0123456789" + LETTERS, "X": LETTERS.upper() + "234567",
        "A": "0123456789" + LETTERS.upper() + LETTERS}  # fmt: skip
SETS |= {"a": LETTERS + LETTERS.upper(), "B": SETS["A"] + "-_", "E": SETS["A"] + "+/"}


def of(kind: str, count: int, chance: random.Random) -> str:
    return "".join(chance.choice(SETS[kind]) for _ in range(count))


def form(text: str, chance: random.Random) -> str:
    """A value of a form."""
    out = ""
    for plain, kind, count in re.findall(r"([^{]+)|\{([A-Za-z]+)(\d*)\}", text):
        if kind == "crc":
            number, sum_ = zlib.crc32(out.split("_")[1].encode()), ""
            for _ in range(6):
                number, at = divmod(number, 62)
                sum_ = SETS["A"][at] + sum_
            out += sum_
        elif kind == "sum":
            out += f"{zlib.crc32(out.rstrip('_=').encode()):08x}"
        else:
            out += plain or of(kind, int(count), chance)
    return out
