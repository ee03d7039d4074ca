"""Words of our own dialect, and sentences too long to read at once, in pages of documentation.

python tests/support/words.py README.md docs/*.md        # what is wrong, a line each; and words by page
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_WORDS = 35
DIALECT = {
    r"told|tells|tell apart": "recognised, identified, indicates, distinguish",
    r"anew": "again, recomputed, rebuilt",
    r"(?:is|are) (?-i:none)": "is not one",
    r"mend(?:s|ed|ing)?": "fix; in an error, hint",
    r"learn(?:ed|t) by heart|written out": "memorised, extracted",
    r"false lines?": "false positives",
    r"bare(?! (?:or|with|repositor|clone))|plainly|as usual": "without noise, non-private",
    r"foretell\w*|foretold": "predict",
    r"whoever|who holds no key": "anyone can …, without a key …",
    r"(?:lies?|lay) (?:in|at|under|beside)|hangs? on|(?<!as it )(?:stands?|stood)(?! out|-in)": "is in, depends on",
    r"go(?:es|ne|ing)? on|went on": "continues",
    r"sought|seeks?|seeking|whence": "searched, from which",
    r"cast|finalists?|crown(?:s|ed)?|play(?:s|ed)? through": "choose, candidates, best, rehearse",
    r"astray|hitherto|thereof|wherein": "plain English",
}
"""Expression → what an engineer writes (`CONTRIBUTING.md`, "Words")."""
REFUSED = [(re.compile(rf"\b(?:{words})\b", re.I), instead) for words, instead in DIALECT.items()]
ANY = re.compile(rf"\b(?:{'|'.join(DIALECT)})\b", re.I)
SKIPPED = re.compile(r"```.*?```|<!-- table -->.*?<!-- end -->|<!--.*?-->", re.S)
ENDS = re.compile(
    r"(?<=[.!?])[\"'”)\]*_]*\s+(?=[\"'“(\[*_`]*(?:[A-Z0-9√Α-Ωα-ω]|[a-z]\) |[\w, ]+: |hush ))"
    r"|(?<=:\*)\*?\s+|\s+·\s+"
)
"""Where a sentence ends: also before (a) and a label (`rate: …`), behind a heading that runs in (`**So:** …`), and
at · in a list."""


def prose(page: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every paragraph, item of a list, heading and table cell; code and addresses are left out."""
    blank = SKIPPED.sub(lambda found: "\n" * found[0].count("\n"), page)
    text, start = "", 0
    for number, raw in enumerate([*blank.splitlines(), ""], 1):
        if raw.startswith("    ") and not text:
            continue  # code
        line = raw.strip()
        begins = re.match(r"(?:[-*+]|\d+\.|#+|\|) ?|$", line)
        if begins and text:
            yield start, text
            text = ""
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.replace(r"\|", "/").strip("|").split("|"))
        elif line:
            text, start = (
                (f"{text} {line}", start) if text else (line[len(begins[0]) if begins else 0 :], number)
            )


def readable(text: str) -> str:
    """What a reader sees: links by their words, code as one word."""
    text = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", "Code", text)


def wrong(page: str) -> list[str]:
    """What an engineer would not have written, each with its line."""
    found = []
    for line, raw in prose(page):
        text = readable(raw)
        for expression, instead in REFUSED if ANY.search(text) else ():
            found += [f"{line}: {match[0]!r}: write {instead}" for match in expression.finditer(text)]
        for sentence in ENDS.split(text):
            count = len([word for word in sentence.split() if re.search(r"\w", word)])
            if count > MOST_WORDS:
                found.append(f"{line}: a sentence of {count} words: {sentence[:60]}…")
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name).read_text(encoding="utf-8")
        print("\n".join(f"{name}:{one}" for one in wrong(page)) or f"{name}: {len(page.split())} words")
