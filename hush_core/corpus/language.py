"""The language of a file, from the end of its name; descriptive only, nothing promised depends on it."""

from __future__ import annotations

from pathlib import PurePosixPath

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
