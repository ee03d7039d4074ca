"""Paths as git has them (bytes), as people read them, and as globs match them; each distinct one once.

The language of a file is that of its name's end; descriptive only, nothing promised depends on it.
"""

from __future__ import annotations

from pathlib import PurePosixPath


def printable_path(raw: bytes) -> str:
    r"""A path as printable Unicode, one-to-one: odd bytes, controls and backslashes become \xNN escapes.

    >>> printable_path(b"caf\xe9\n.py"), printable_path("é.py".encode())
    ('caf\\xe9\\x0a.py', 'é.py')
    """
    text = raw.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(
        c
        if c.isprintable() and c != "\\"
        else "".join(f"\\x{b:02x}" for b in c.encode("utf-8", "surrogateescape"))
        for c in text
    )


def match_path(raw: bytes) -> str:
    """A path as globs see it: bytes that are no UTF-8 and control characters are as U+FFFD.

    `*` and `?` match them so; a raw line break would not be matched by `**` and the file slip through.
    """
    text = raw.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" or c < " " else c for c in text)


class Paths:
    """The distinct paths of a corpus, numbered from 0 as they come.

    Attributes:
        raw, shown, matched, language: lists by number.
    """

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.shown: list[str] = []
        self.matched: list[str] = []
        self.language: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def add(self, raw: bytes) -> int:
        """The number of a path, which is kept if it is new."""
        number = self._numbers.setdefault(raw, len(self.raw))
        if number == len(self.raw):
            self.raw.append(raw)
            self.shown.append(printable_path(raw))
            self.matched.append(match_path(raw))
            self.language.append(language_of(self.shown[-1]))
        return number

    def number(self, raw: bytes) -> int | None:
        """The number of a path, None where no file is there."""
        return self._numbers.get(raw)

    def __len__(self) -> int:
        return len(self.raw)


_BY_SUFFIX = {
    suffix: language
    for language, suffixes in {
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hh .hpp",
        "csharp": ".cs",
        "css": ".css .scss .less",
        "go": ".go",
        "html": ".html .htm",
        "java": ".java",
        "javascript": ".js .jsx .mjs .cjs",
        "json": ".json",
        "kotlin": ".kt .kts",
        "markdown": ".md .markdown",
        "notebook": ".ipynb",
        "php": ".php",
        "python": ".py .pyi .pyx",
        "ruby": ".rb",
        "rust": ".rs",
        "scala": ".scala",
        "shell": ".sh .bash .zsh",
        "sql": ".sql",
        "swift": ".swift",
        "terraform": ".tf .tfvars",
        "text": ".txt .rst",
        "toml": ".toml",
        "typescript": ".ts .tsx",
        "xml": ".xml",
        "yaml": ".yaml .yml",
    }.items()
    for suffix in suffixes.split()
}
_BY_NAME = {"dockerfile": "docker", "makefile": "make", "gnumakefile": "make", "codeowners": "text"}


def language_of(path: str) -> str:
    """A lower-case language name, or "other"."""
    name = PurePosixPath(path).name.lower()
    return _BY_NAME.get(name) or _BY_SUFFIX.get(PurePosixPath(name).suffix, "other")
