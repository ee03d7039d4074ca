"""Does a token look like a machine's random value, or like what people write?

A bigram model of what is in code (names, words, numbers, paths), counted once from the standard library
(`lab/benchmarks/credential_ngrams.py`): a random value surprises it at every step, a name at few.
"""

from __future__ import annotations

import codecs
import itertools
import re
import string
from binascii import a2b_base64
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from hush_core import linear

_SYMBOLS = string.ascii_lowercase + string.ascii_uppercase + string.digits + "_-./+= "
_LEVELS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
# fmt: off
_ROWS = (
    'eVQPldVoUsZMQPzTyMOLYcecbl1y1131wy299z6v8x94zw4/s0/8lihjllmkpocndlsmY',
    'LYTbRfgmRRlMbfQUsUUcNqlpTiurnrqqorwy1ryuurxyrkx1rq3zfedfghhigiXgScphS',
    'OibeNgkOWuNPajKflUaNVekocvpxpurutwo90tqxru4ttm05y039ljgkoonoloUmYltiU',
    'RceUJdgoNoqTjjRjsXUaTlpndwlpglikomk6xmmknk/lifuulv3wlggmhgilnoMeTkwbL',
    'TgSSbYcpivlOWPgYdNKQjbcTdqqslpkpzpp21pqnto0smhuvsy/4skjnosptssQgWlpcO',
    'RibZSQesLs1UjhOgvSXXTumud3w0v3vvzyv31600zu1y0v061696jhilllkmflXiHntjU',
    'WiegIkWVR2oVeTZh/SPZVgnxoilmomlmsojuyommrhxmkeots2urqginnruvusOgSZrbL',
    'LjieJjppPykacgMkxTcTXrovhsppnklmtnl/uqnprqxoijyxsx1soklroxw31pOdVkrbN',
    'XWRTWYTvirjOSIOUpUPMsY1Z3Xys18+7++168y35/186y1/6//183xwy1557y8gpestrd',
    'ThcgInhjXnYjqmNW0kRkN0iojtg0tqi00tnk0okk0qnn0ttlt0mknhdohnqtq0VhNofZL',
    'UiebIeWkQqqToZfdncRecmWxfwjmiplkummnsqpmpm0khetnpyvttiios0xwlvKfQflbL',
    'PdgVJLopMumQkhOb5kUSVjrxYqquppmrysq/6vrrws1vomz2w/10wrqv11263+ThXmzgS',
    'LWlaIlnpR1jXUgNN2iTaWrtyb4zustom4sm/0tplzsznlkxqq91xzlkruuw4rtSkWfyiS',
    'PjQNNVOjTtabiXRcqiQMXYpuivqqoplqruo2xqqpso3qmjsury4xwnlow1380vQcWhufQ',
    'YXQPjZYrctZTQJTR4MTTRZVdmjvututy10yz5vvuvy1wrs17y551tqouw00zr+Vdal2jW',
    'LkdaLfkdS7gPlkPRoOYPXhjxS4rvosrn0zp5+qtvzr0zoluyv7y0ljjqsxpzuxTgVmkhR',
    'ikdgkklgjruUlbicdXVkCngmorru11r1u1n1u1lorumuukp1r1prmhfm11u1prSpUrpdP',
    'PiXYJdUqPxccXXOd3TQRWajvX3qrnkmpyuq9zqpsxs/sngy0q6/x3nmsx10427RiSiweN',
    'ZpYkJleXSwdbhlVVkjRIVngsZ0ruqupo0yr95uspuq/sokxvq8510nmvx352z5SlShwbM',
    'RkacIftRP4kddkTdzRUXYlhjXkkmelikrmk5vlkmok1jghorq4/1vnlpu0x418KiUkvcO',
    'WSWaOWXrU1qNRLaQ9NQMiswlys0xxs1r64y//wy330/49039/41uYkXlrrsvsxiwhw9se',
    'IgdlEfjoO8vmbiYiviggtijsst2twuzm8rp88uux8wzwrr8x22soleimbvZrx2WmWgugU',
    'MjdYRglVJypaeRPjoNTgplVhutmokroksuj90mqtmq3qjiptp3vtysmkywmvy3PgTmpfR',
    'VbOaRXvgSvtdYlgP1jdKkksUXmlljihhytow4plprrwvjovuqtwwRRZdehjfZbSbShjaP',
    'geYcYglnbwsYXSfMvfPOndakcfgedgaeonf4sgfjefphbaepmyqrslimx011t4MaReoXJ',
    'SjhaFdqfL2oaacSeqicek2mjaQg2rnwtw2iqqqrpwn22wtqmwwkmgjawjprwwoYiVglbQ',
    'laaYpghulrrXhWtbsVUWalhoqsRUSTdbVhXodPTSlUlRSOXSeWcneggggilkghcdZkqkS',
    'KljfYqrkUkrYrlTlrVioPlimRhRWSdUejhUckSchVegYZfRwnqZdbbbebdbfefZgXlrjR',
    'PnnlghhTmuqQcnKvxamia0uxk0SdZXSZiUZsUXZiPXjVYTbglvknddgZhijikhVeXgolS',
    'UlptMpp4PrrmvqQonjgqYvrqltTbbZMXkfRqjZhfSZmbYaVniohnihinjihmfkOhYkqfN',
    'lspgznlzww2ZaUtkYRiolatR29VcUTZWbkfukYYQaXdOQTiceWYrgiimiojojpNfZlgfN',
    'NmmjcsnsNpqUvkQt4PjlUypnjnUbWYXRekQnqTgcUmoYaYapjshvdbgdgfejZkTWbntlR',
    'dhkeLolgermYkgaruSuhbiuhldYcYgObaUSilXaSZhlURaYZnknepgolgfokkfNkZojgN',
    'LsknOvjdYvshlvV11snidvs1hpKhhcQkmdTgdcbgOjjXeQahkpmjsqqsmqnvpsUcbvseO',
    't0kY0ij6r6voWMlmxnYUt0svrvaYUUYXSedjhRTLPUnWRPvboZrWoqqtqttxl6clennoW',
    'RgclZdlZdciYlaRWgebcTbriaccgacRcdgUlUlilVRgZNcQrgcgdcTgYdaargridZlrrP',
    'enikLqwlWnfeqgbqfjfqnwZlkiXiWbIibaWiiYiZbedcWbkwWwljjlnwwnjqwwNjXkknL',
    'X5rsTppsPs5omsNysyjqliv5rjQhZVMbhjOtkRfjPardVTYhgvZgnkelmpoty5RhclqiP',
    'Oln4OxixSlprpsN44pgpU4suTkNbfbNhrnSsjVYfSSqlWVbnprloogkjnxo4puVicqoqT',
    'PxvvUrovjpxqvxJq0sjnYm6vvpSeVRSWRlWpcajZRcsjTPXZltgqilnkvxx6rxShbmqlQ',
    'pVjnqcpokqjgmYmS5Zrfackus5bXSQaYYkdnaVTLXSsNTSTcVknmuljw55zzWwTkdnzkT',
    'OwolZujjXpjbolT5zPklbctwLzSiXdQfebUwhVjgTUjRWTbfiwUtlhiderlulnUjag5iT',
    'hhhmsjWjgsUmafhbhsjbKgjehmTYhfcsjjbssKmZjeZWgjKfegjjmdejjghgfhZmasmZP',
    'VuozKuuiczzhpqZkrwkrXqqzkoShXYMZZqR5dYYaQarUSRYdglX5mpmruqzwu5RkaiwkQ',
    'Z1ayOy1YTsidjlTXjyqOSimyY7YiXgQfcWRseYagTZZfTOYhikblwmmvpuwut1TiZctkO',
    'bylvIytXX3hyt3Zu9QnucvknUuUnacOWoTStnaflWVqVZXcmieYkkknrktp3vyQlbjslP',
    'nommqnhttwqlrMqV2jTfnttqwwYWYXUWYmUlmPUObTrRRNbhqfojSnqrtrmwm2hndoRtX',
    'NlpkPnpeTlkgideppngldsypYdPdbiGeggWfskbdbfpbccklajnijffjddZppyXydpsnT',
    'OsmbUspVJlzhmiXzzOjzssgfzzRiccXaibRgpfgUSemUTggdYdnmcfmikVgppiTmalngR',
    'dffnkjqejqZkdqegxkqlqqkglxadVdTdecTYnbQZaSdYbNghgRVbXWcjihjqhiOVSkdeL',
    'fqkoeohxdhjoZgdxqqmqjxmoqoZxcjXjmkcmfZZXcPjdRObeTWVZxhZfqxqxmxJeUgqeK',
    'bojlSjlcPogeYoTcjljloheleaWobeJeWZUluaWlYYeuXfggTQgVYcVcejuoouYfWouhN',
    'ccdfaesvqhytusfi1tpqvusOuwijllegvztvupruuq11vv1vzhunHPTTSWVWXWccRcdiL',
    'cddTZZxrtjsrqtujvxostrwr0qmmpljlry+tytuytsy0yos3t3utNNOTSTTUVTXaOZfdK',
    'XcdcccqkmktjnlnitsihqutlwuijjiijpsowtrqvtmurqlqkryqpNROOTQUUUTXbOajeJ',
    'aaacbcmnsksrspnlvrlrqvvjuvihhigiv0tnutoqxmnksntnxqxrPQPQOTSTTSZaPbgYK',
    'aabaZcnonmnmkimkrmjlotqloshgingjdql0fnsmpn0vtnr6xtrvPSQSPOTSTTWaTajcJ',
    'ZacaXctitgmnzkuknllprrqnqqkjjijhqnnqunqwukrprqqtotpoPRSSRQNRTPabSafdJ',
    'ZZccZasylirqyiohsinlstymvvkjnhjfypkvlppnsovyqht4qvnnQRRSOQROSTUbUajcJ',
    'bZbbZXprolxsxnpkqpqnxuqpsujjfjiesuosspussrpssmxrus4qPSRRRQRPOSafUYbfJ',
    'aXacbclpkltstloevrjtyqvloriginjiyqyrtipntsstkptssnqpPSRSSORSOQYbVYlcJ',
    'ZbbZacmtnsmrsmtivlnmhlqolnjmjljjvyysvvsv4or4tntyvv4sPRRSSSRSRLXTUamcK',
    'SUOSSRXXSjdUTTUSgSPRYZVlnjfhdfgfjjfsohgfkeugbeimls0uhgimpsrspuQ8g14tV',
    'WVTWWWfcWihWYZYWjXTWbecejgehifjhkkgmgiihklzkghjngnvkTPVUXccfXZoIiperU',
    'SYPUUUTZUifXWYXSlSPTZbYikkigdhfhjkesjkgilfsicdhqnrurYacegfjjjiMxYfw/O',
    'WQUVXTYaTejVXacTlXSUYdVYgighcfhdpmggpeagmdzhcfkeimsrRUUZfjglgeagUMqpS',
    'aaYddbehZjgefaefpfWbjflefkfpbkhcylZpskggknypljppsnikLLNSWYZVbdiSdeVcN',
    'YYXZZYhfZpiZabaanZQXeeglmjacYefSupk7qoiPkhvkeSnplpyyUQTWYadedcZYillMN',
    'UWSVWVZaWlfYVXXUjVMLVdaYkhcdZdddhddomebehYpeYZdlimpoWZcehjkmllSaabjm/',
)
# fmt: on
"""A row a symbol, a column its successor: quarters of a bit, as a character of _LEVELS."""


def _table() -> bytes:
    """Surprise in quarters of a bit by `before << 8 | after`; other bytes count as a blank."""
    blank = len(_SYMBOLS) - 1
    place = [blank] * 256
    for n, symbol in enumerate(_SYMBOLS.encode()):
        place[symbol] = n
    rows = [bytes(_LEVELS.index(c) for c in row) for row in _ROWS]
    return b"".join(bytes(rows[a][b] for b in place) for a in place)


_TABLE = _table()


def surprise(token: bytes) -> float:
    """Mean bits a character under the model of what people write.

    >>> surprise(b"assertAlmostEqualLists") < 5 < surprise(b"x7Gq0TzLw4RbN9vKpY2c")
    True
    """
    if len(token) < 2:
        return 0.0
    table = _TABLE
    return sum([table[a << 8 | b] for a, b in itertools.pairwise(token)]) / (4 * (len(token) - 1))


MIN_RANDOM = 16
"""Least length of a value that is taken for a machine's by its looks."""
RANDOM_SURPRISE, HEX_SURPRISE = 6.0, 4.6
_HEX = re.compile(rb"(?:[0-9a-f]+|[0-9A-F]+)")
_UUID = re.compile(rb"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGIT, _LOWER, _UPPER = re.compile(rb"[0-9]"), re.compile(rb"[a-z]"), re.compile(rb"[A-Z]")


@lru_cache(1 << 16)
def looks_made(token: bytes) -> str:
    """What kind of machine's random value a token looks like: "mixed", "hex", "uuid", "plain" (one case), or ""."""
    n = len(token)
    if n < MIN_RANDOM or len(set(token)) < 8:
        return ""
    if _HEX.fullmatch(token):
        return "hex" if _DIGIT.search(token) and surprise(token) >= HEX_SURPRISE and not _walks(token) else ""
    if _UUID.fullmatch(token):
        return "uuid" if len(set(token)) >= 10 else ""
    if surprise(token) < RANDOM_SURPRISE - (0.4 if n >= 40 else 0.0) or _walks(token):
        return ""
    kinds = bool(_DIGIT.search(token)) + bool(_LOWER.search(token)) + bool(_UPPER.search(token))
    return "mixed" if kinds == 3 or (kinds == 2 and not _DIGIT.search(token)) else "plain"


def _walks(token: bytes) -> bool:
    """Whether many steps go to the same or the next character (`abcd1234`), or every second does (`A1B2C3D4`)."""
    steps = sum([-1 <= b - a <= 1 for a, b in itertools.pairwise(token)])
    if steps * (2 if _HEX.fullmatch(token) else 3) > len(token):
        return True
    return 2 * sum([-1 <= b - a <= 1 for a, b in zip(token, token[2:], strict=False)]) > len(token)


_BASE64 = re.compile(rb"[A-Za-z0-9+/]{16,}")
_PARTS = re.compile(rb"[A-Za-z0-9_+/-]{16,}")
_FILES = (
    *(b"\x1f\x8b", b"x\x9c", b"x\xda", b"BZh", b"PK\x03\x04", b"\xfd7zXZ"),  # compressed
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF-", b"\x7fELF", b"\0asm", b"OggS", b"wOF2"),
    b"\xac\xed\0\x05",  # an object of Java
)
_TEXT = bytes(range(32, 127)) + b"\t\r\n"


def says_text(token: bytes) -> bool:
    """Whether it is base64 of text or of a file's beginning: no value, but what it holds is searched for in it.

    Of random bytes 37 % would be text.

    >>> says_text(b"aGVsbG8gd29ybGQsIGhlcmUgSSBhbQ=="), says_text(b"qZ7xT0vLw3Kd9RbYpN5sUe2HcJmA8GfX")
    (True, False)
    """
    plain = unquote_to_bytes(token).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    if not _BASE64.fullmatch(plain):
        return False
    for skip in range(4):
        part = plain[skip:]
        part = part[: len(part) - len(part) % 4]
        data = a2b_base64(part)
        if not skip and data.startswith(_FILES):
            return True
        if not skip and _holds_words(data):
            return True
        if len(data.translate(None, _TEXT)) <= 0.05 * len(data):
            return not _mostly_made(data)
    return False


def _holds_words(data: bytes) -> bool:
    """Whether it is UTF-8 beyond ASCII, or UTF-16: of 20 random bytes one in a million.

    Not where it is mostly a random value, or a password as Windows' answer files have it, with that word behind it.
    """
    if len(data) < 20:
        return False
    for charset in ("utf-8", "utf-16-le"):
        try:
            text = codecs.getincrementaldecoder(charset)().decode(data)  # what is cut at the end is no error
        except UnicodeDecodeError:
            continue
        if all(c.isprintable() or c in "\t\r\n" for c in text) and (
            charset == "utf-8" or 3 * sum(ord(c) < 128 for c in text) >= len(text)
        ):
            answer = charset == "utf-16-le" and text.endswith(("Password", "Passwor"))
            if _mostly_made(text.encode()) or answer:
                return False
            return not text.isascii() or charset == "utf-16-le"
    return False


def _mostly_made(text: bytes) -> bool:
    """Whether half of a text are random values themselves (`id:key`, as some services encode their keys)."""
    made = sum([len(part) for part in _PARTS.findall(text) if looks_made(part) == "mixed"])
    return 2 * made >= len(text)


def stands_alone(
    content: bytes, start: int, end: int, first: int, last: int, token: bytes, kind: str
) -> bool:
    """Whether letters and digits are all of a string, or all that a line gives a name: no path, no version.

    So are digests: of hexadecimal digits only those in quotes count, and not 40 of them.
    """
    if not token.isalnum():
        return False
    quote = content[start - 1 : start]
    if quote and quote in b"\"'`" and content[end : end + 1] == quote:
        if kind == "hex":
            return len(token) >= MIN_HEX and len(token) != SHA1_DIGITS
    elif kind == "hex" or content[end:last].strip() or not _GIVEN.fullmatch(content, first, start):
        return False
    return kind == "mixed" or (kind == "plain" and len(token) >= MIN_PLAIN)


MIN_HEX, SHA1_DIGITS, SHA256_DIGITS, MIN_PLAIN = 32, 40, 64, 20
_GIVEN = linear.compile(rb"[ \t-]*(?:export )?[A-Za-z0-9_.-]{1,40}[ \t]*[:=][ \t]*")


MIN_TEXT, TEXT_SURPRISE = 12, 5.2
"""Readable characters in a row, which random bytes show in one of 500 values of 300 bytes. They are distinguished
from random ones by bits a character under the model of what people write."""
_READABLE = re.compile(rb"[ -~]{%d,}" % MIN_TEXT)
_LONG_BASE64 = re.compile(rb"[A-Za-z0-9+/]{40,}")


def holds_text(token: bytes) -> bool:
    """Whether base64 holds readable text somewhere: a serialised object, a certificate, a descriptor.

    >>> import base64
    >>> holds_text(base64.b64encode(bytes([10, 25]) + b"google/protobuf/any.proto" + bytes([18, 15, 200, 255] * 3)))
    True
    """
    plain = token.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    if not _LONG_BASE64.fullmatch(plain):
        return False
    decoded = [a2b_base64(part[: len(part) - len(part) % 4]) for part in (plain[n:] for n in range(4))]
    return any(surprise(run) < TEXT_SURPRISE for text in decoded for run in _READABLE.findall(text))
