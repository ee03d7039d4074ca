"""How a value may be written down: encoders of the standard library, or written here; none of ours."""

import base64
import binascii
import bz2
import codecs
import gzip
import hashlib
import html
import io
import json
import lzma
import quopri
import textwrap
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

Write = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Form:
    """One way to write text down. least: bytes of the shortest value that is found, 0 where none is; reason: why
    not. alone: what is written is the value without text around it."""

    name: str
    write: Write
    least: int
    reason: str = ""
    alone: bool = False


def b64(t: bytes) -> bytes:
    return base64.b64encode(t)


def per_byte(template: str, joint: str = "") -> Write:
    return lambda t: joint.join(template.format(c) for c in t).encode()


def pieces(t: bytes, joint: bytes, n: int = 3) -> bytes:
    size = -(-len(t) // n)
    return joint.join(t[i : i + size] for i in range(0, len(t), size))


def split(joint: bytes) -> Write:
    return lambda t: pieces(t, joint)


def lines(prefix: str, width: int = 60) -> Callable[[Write], Write]:
    return lambda write: (
        lambda t: ("\n".join(prefix + x for x in textwrap.wrap(write(t).decode(), width))).encode()
    )


def zipped(t: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.txt", t)
    return out.getvalue()


def z85(t: bytes) -> bytes:
    letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    standard = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    return base64.b85encode(t + b"." * (-len(t) % 4)).translate(bytes.maketrans(standard, letters))


def base58(t: bytes) -> bytes:
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, out = int.from_bytes(t, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        out = digits[digit] + out
    return out.encode()


def xxd(t: bytes) -> bytes:
    rows = [t[i : i + 16] for i in range(0, len(t), 16)]
    shown = ("".join(chr(c) if 32 <= c < 127 else "." for c in row) for row in rows)
    return "\n".join(
        f"{i * 16:08x}: {row.hex(' ', 2):39s}  {text}"
        for i, (row, text) in enumerate(zip(rows, shown, strict=True))
    ).encode()


def integer(t: bytes) -> bytes:
    return str(int.from_bytes(t, "big")).encode()


def wide(t: bytes) -> bytes:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t.decode()).encode()


def bold(t: bytes) -> bytes:
    return "".join(chr(0x1D400 + ord(c) - 65) if "A" <= c <= "Z" else c for c in t.decode()).encode()


def mime_words(t: bytes) -> bytes:
    return quopri.encodestring(t, quotetabs=True)


QUOTED = "any quoted text could be one"
FORMS = (
    Form("as it is", lambda t: t, 3),
    Form("JSON string", lambda t: json.dumps(t.decode())[1:-1].encode(), 3),
    Form(
        "JSON string in a JSON string", lambda t: json.dumps(json.dumps(t.decode())[1:-1])[1:-1].encode(), 3
    ),
    Form("JSON with `\\/`", lambda t: json.dumps(t.decode())[1:-1].replace("/", "\\/").encode(), 3),
    Form("`\\x41` for every byte", per_byte("\\x{:02x}"), 3),
    Form("`\\u0041` for every character", per_byte("\\u{:04X}"), 3),
    Form("`\\u{41}` for every character", per_byte("\\u{{{:x}}}"), 3),
    Form("`\\U00000041` for every character", per_byte("\\U{:08x}"), 3),
    Form("octal `\\101` for every byte", per_byte("\\{:03o}"), 3),
    Form("URL, `%41` where needed", lambda t: urllib.parse.quote(t, safe="").encode(), 3),
    Form("URL in small letters", lambda t: urllib.parse.quote(t, safe="").replace("%2F", "%2f").encode(), 3),
    Form("form data, `+` for a blank", lambda t: urllib.parse.quote_plus(t).encode(), 3),
    Form("`%41` for every byte", per_byte("%{:02X}"), 3),
    Form("`%2541`: twice", lambda t: per_byte("%{:02X}")(t).replace(b"%", b"%25"), 3),
    Form("`%u0041` for every character", per_byte("%u{:04X}"), 3),
    Form("HTML, named entities", lambda t: html.escape(t.decode()).encode(), 3),
    Form("HTML, `&#65;`", per_byte("&#{};"), 3),
    Form("HTML, `&#x41;`", per_byte("&#x{:x};"), 3),
    Form("quoted-printable, soft line breaks", mime_words, 8),
    Form("quoted-printable, every byte", per_byte("={:02X}"), 4),
    Form("full-width letters", wide, 3),
    Form("mathematical letters", bold, 3),
    Form("zero-width characters inside", lambda t: pieces(t, "\u200b".encode()), 3, alone=True),
    Form("soft hyphens inside", lambda t: pieces(t, "\u00ad".encode()), 3, alone=True),
    Form("hexadecimal", lambda t: t.hex().encode(), 8),
    Form("hexadecimal, capitals", lambda t: t.hex().upper().encode(), 8),
    Form("hexadecimal over lines", lines("    ")(lambda t: t.hex().encode()), 8),
    Form("hexadecimal, `41:42`", lambda t: t.hex(":").encode(), 8),
    Form("hexadecimal, `41 42`", lambda t: t.hex(" ").encode(), 8),
    Form("hexadecimal, `41-42`", lambda t: t.hex("-").upper().encode(), 8),
    Form("C array, `0x41, 0x42`", per_byte("0x{:02x}", ", "), 8),
    Form(
        "C array over lines", lambda t: textwrap.fill(per_byte("0x{:02x}", ", ")(t).decode(), 60).encode(), 8
    ),
    Form("decimal list, `65, 66`", per_byte("{}", ", "), 8),
    Form("decimal list, `65 66`", per_byte("{}", " "), 8),
    Form("octal list, `101 102`", per_byte("{:03o}", " "), 8),
    Form("binary, `01000001 01000010`", per_byte("{:08b}", " "), 8),
    Form("`chr(65).chr(66)`", per_byte("chr({})", "."), 8),
    Form("`Chr(65) & Chr(66)`", per_byte("Chr({})", " & "), 8),
    Form("base64", b64, 8),
    Form("base64 for URLs", base64.urlsafe_b64encode, 8),
    Form("base64 without padding", lambda t: b64(t).rstrip(b"="), 8),
    Form("base64 over lines", lambda t: base64.encodebytes(t).rstrip(), 8),
    Form("base64 over lines, indented", lines("      ")(b64), 8),
    Form("base64 over lines, `# ` before each", lines("# ")(b64), 8),
    Form("base64 over lines, `// ` before each", lines("// ")(b64), 8),
    Form("base64 over lines, `> ` before each", lines("> ")(b64), 8),
    Form("base64 over lines, `+` before each", lines("+")(b64), 8),
    Form(
        "base64 in joined strings",
        lambda t: ('"' + '" +\n    "'.join(textwrap.wrap(b64(t).decode(), 40)) + '"').encode(),
        8,
    ),
    Form("base64 with `\\n` written out", lambda t: base64.encodebytes(t).rstrip().replace(b"\n", b"\\n"), 8),
    Form("base64 in a URL", lambda t: urllib.parse.quote(b64(t), safe="").encode(), 8),
    Form("base64 of base64", lambda t: b64(b64(t)), 8),
    Form("base64 of JSON", lambda t: b64(json.dumps({"key": t.decode()}).encode()), 8),
    Form("base64 of a URL", lambda t: b64(urllib.parse.quote(t, safe="").encode()), 8),
    Form("base64 of hexadecimal", lambda t: b64(t.hex().encode()), 8),
    Form("base64 of UTF-16", lambda t: b64(t.decode().encode("utf-16-le")), 8),
    Form("hexadecimal of base64", lambda t: b64(t).hex().encode(), 8),
    Form("base64 of base64 of base64", lambda t: b64(b64(b64(t))), 0, "two codes deep and no deeper"),
    Form("base32", base64.b32encode, 10),
    Form("base32, small letters", lambda t: base64.b32encode(t).lower(), 25),
    Form("ASCII85 in `<~ ~>`", lambda t: base64.a85encode(t, adobe=True), 8),
    Form("ASCII85 in quotes", lambda t: b'"' + base64.a85encode(t) + b'"', 0, QUOTED),
    Form("base85 in quotes", lambda t: b'"' + base64.b85encode(t) + b'"', 0, QUOTED),
    Form("Z85 in quotes", lambda t: b'"' + z85(t) + b'"', 0, QUOTED),
    Form("gzip in base64", lambda t: b64(gzip.compress(t, mtime=0)), 12),
    Form("zlib in base64", lambda t: b64(zlib.compress(t)), 32),
    Form("bzip2 in base64", lambda t: b64(bz2.compress(t)), 12),
    Form("xz in base64", lambda t: b64(lzma.compress(t)), 12),
    Form("a zip file in base64", lambda t: b64(zipped(t)), 12),
    Form("gzip in hexadecimal", lambda t: gzip.compress(t, mtime=0).hex().encode(), 12),
    Form("backwards", lambda t: t[::-1], 8, alone=True),
    Form("rot13", lambda t: codecs.encode(t.decode(), "rot13").encode(), 8),
    Form("UTF-16 in a file of bytes", lambda t: t.decode().encode("utf-16-le"), 3),
    Form("UTF-16, the high byte first", lambda t: t.decode().encode("utf-16-be"), 3),
    Form("one decimal integer", integer, 8),
    Form('`"a" "b"`', split(b'" "'), 16, alone=True),
    Form('`"a" + "b"` (JavaScript, Java, Python, Go, C++)', split(b'" + "'), 16, alone=True),
    Form("`'a' . 'b'` (PHP, Perl)", split(b"' . '"), 16, alone=True),
    Form("`'a' ~ 'b'` (Twig, Raku, Jinja)", split(b"' ~ '"), 16, alone=True),
    Form('`"a" & "b"` (Visual Basic)', split(b'" & _\n    "'), 16, alone=True),
    Form('`"a" .. "b"` (Lua)', split(b'" .. "'), 16, alone=True),
    Form('`"a" <> "b"` (Elixir, Haskell)', split(b'" <> "'), 16, alone=True),
    Form('`"a" ++ "b"` (Erlang, Haskell, Zig)', split(b'" ++ "'), 16, alone=True),
    Form("`'a' || 'b'` (SQL)", split(b"' || '"), 16, alone=True),
    Form('`["a", "b"].join("")`', split(b'", "'), 16, alone=True),
    Form("a character a string, `'a', 'b'`", lambda t: b"', '".join(bytes([c]) for c in t), 16, alone=True),
    Form("over lines", split(b"\n    "), 16, alone=True),
    Form("over lines, continued by `\\`", split(b"\\\n"), 16, alone=True),
    Form("over lines, `# ` before each", split(b"\n# "), 16, alone=True),
    Form("over lines, `// ` before each", split(b"\n    // "), 16, alone=True),
    Form("over lines, ` * ` before each", split(b"\n * "), 16, alone=True),
    Form("over lines, `> ` before each", split(b"\n> > "), 16, alone=True),
    Form("over lines, `+` before each", split(b"\n+"), 16, alone=True),
    Form("in two variables", split(b'"\nlast = "'), 0, "names separate the parts", alone=True),
    Form("a hexdump with columns (`xxd`)", xxd, 0, "offsets and text separate the bytes"),
    Form(
        "uuencode",
        lambda t: (
            b"begin 644 a\n"
            + b"".join(binascii.b2a_uu(t[i : i + 45]) for i in range(0, len(t), 45))
            + b"`\nend\n"
        ),
        0,
        "is no longer written",
    ),
    Form("base58", base58, 0, "every byte depends on all others"),
    Form(
        "homoglyphs (Cyrillic а for a)",
        lambda t: t.replace(b"a", "\u0430".encode()).replace(b"e", "\u0435".encode()),
        0,
        "another word to a program",
    ),
    Form("leetspeak, misspellings", lambda t: t.replace(b"e", b"3").replace(b"a", b"4"), 0, "a paraphrase"),
    Form("encrypted or hashed", lambda t: hashlib.sha256(t).hexdigest().encode(), 0, "cannot be undone"),
)
