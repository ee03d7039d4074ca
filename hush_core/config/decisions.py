"""What a person decided about values that the rules find: one line each, in a file beside the config.

    a7b3ade17ded placeholder 2026-11-26 the example in the manual

Values are named by the 12 keyed digits of `hush secrets`, so the file holds no value and is valid in one home. Of
two lines for one value the later counts. What is a placeholder or public is no secret, in whatever file it is.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hush_core.errors import InputError
from hush_core.files import sync

VERDICTS = ("credential", "placeholder", "public", "unsure")
NO_SECRETS = ("placeholder", "public")
SUFFIX = ".decisions"
_LINE = re.compile(rf"([0-9a-f]{{12}}) ({'|'.join(VERDICTS)}) (\d{{4}}-\d\d-\d\d) (\S.*)")
MOST_CHARACTERS = 1 << 22


@dataclass(frozen=True)
class ValueDecision:
    """One line. digits: the value's; day: as 2026-11-26.

    >>> str(ValueDecision("a7b3ade17ded", "public", "2026-11-26", "printed on  the\\nlabel"))
    'a7b3ade17ded public 2026-11-26 printed on the label'
    """

    digits: str
    verdict: str
    day: str
    reason: str

    def __str__(self) -> str:
        return f"{self.digits} {self.verdict} {self.day} {' '.join(self.reason.split())}"


def decisions_file(config: Path) -> Path:
    """Beside the config: `job.decisions` for job.yaml; of a folder that of its hush.yaml."""
    return config / f"hush{SUFFIX}" if config.is_dir() else config.with_suffix(SUFFIX)


def read_decisions(file: Path) -> dict[str, ValueDecision]:
    """The decisions by digits; none if there is no file.

    Raises:
        InputError: a line has another form; names the line, and shows none of it.
    """
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read(MOST_CHARACTERS)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise InputError(str(file), what, "make it a file that `hush secrets --review` can write") from None
    decisions: dict[str, ValueDecision] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            hint = f"write 12 digits, one of {', '.join(VERDICTS)}, a date, and a reason"
            raise InputError(f"{file}:{number}", "is not a decision", hint)
        decisions[match[1]] = ValueDecision(*match.groups())
    return decisions


def write_decision(file: Path, decision: ValueDecision) -> None:
    """Append one line, also behind a last line that an editor left without its end; on the disk on return.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        with open(file, "ab+") as opened:
            if opened.tell():
                opened.seek(-1, os.SEEK_END)
            ended = opened.read(1) in (b"", b"\n")
            opened.write(f"{'' if ended else chr(10)}{decision}\n".encode())
        sync(file)
    except OSError as error:
        hint = "make the config's folder writable"
        raise InputError(str(file), error.strerror or "cannot be written", hint) from None
