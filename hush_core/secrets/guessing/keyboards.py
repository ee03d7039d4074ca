"""Which keys are neighbours, on several layouts, with and without shift."""

from functools import cache

_LAYOUTS = (
    ("`1234567890-=", "qwertyuiop[]\\", "asdfghjkl;'", "zxcvbnm,./"),
    ("^1234567890ß´", "qwertzuiopü+", "asdfghjklöä#", "yxcvbnm,.-"),
    ("²&é\"'(-è_çà)=", "azertyuiop^$", "qsdfghjklmù*", "wxcvbn,;:!"),
    ("`1234567890[]", "',.pyfgcrl/=\\", "aoeuidhtns-", ";qjkxbmwvz"),
    ("789", "456", "123", "0."),
)
_STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
"""Right, left, and the two keys below and above: rows are shifted by half a key each."""
_SHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))
_AZERTY_DIGITS = dict(zip("1234567890", "&é\"'(-è_çà", strict=True))


def lower_case(text: str) -> str:
    """In lower case, one character for each: of all of Unicode only İ becomes two by `str.lower`."""
    return text.replace("İ", "i").lower()


def unshifted(text: str) -> str:
    """The keys that were pressed, on an American keyboard."""
    return "".join(_SHIFTED.get(c, c) for c in lower_case(text))


@cache
def neighbours() -> dict[tuple[str, str], int]:
    """Two keys → a set of bits, one a layout and direction in which the second is next to the first."""
    found: dict[tuple[str, str], int] = {}
    for layout, rows in enumerate(_LAYOUTS):
        # the row of digits begins one key further left than the row below it
        offset = 1 if layout < len(_LAYOUTS) - 1 else 0
        place = {
            c: (r, i - (offset if r == 0 else 0)) for r, row in enumerate(rows) for i, c in enumerate(row)
        }
        if layout == 2:
            place |= {digit: place[key] for digit, key in _AZERTY_DIGITS.items()}
        keys: dict[tuple[int, int], list[str]] = {}
        for c, at in place.items():
            keys.setdefault(at, []).append(c)
        for a, (r, i) in place.items():
            for direction, (down, right) in enumerate(_STEPS):
                for b in keys.get((r + down, i + right), ()):
                    found[a, b] = found.get((a, b), 0) | 1 << (6 * layout + direction)
    return found
