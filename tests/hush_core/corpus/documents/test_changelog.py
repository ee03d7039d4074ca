"""ChangeLogs: text stands under the address of its one author, or is counted."""

import gzip
import re
from pathlib import Path

import pytest

from hush_core.corpus.documents import read_documents
from hush_core.errors import InputError

DEBIAN = """\
hello (2.0-1) unstable; urgency=medium

  * Ann's words.

  [ Bob  Builder ]
  * Bob's words.

  [ ann Archer ]
  * More of Ann's.

 -- Ann Archer <Ann@Example.org>  Mon, 01 Jan 2024 00:00:00 +0000

hello (1.0-2) unstable; urgency=low

  * Never signed.

hello (1.0-1~bpo1) stable oldstable; urgency=low

  * Carl's words.
 -- Carl <carl@example.org>  Sun, 01 Jan 2023 00:00:00 +0000
  * Nobody's words.

Local variables:
mode: debian-changelog
End:
"""

GNU = """\
2024-01-03  Ann Archer  <ANN@example.org>

\t* file.c (f): Ann's words,
\tin two lines.

\t* other.c: As well.

2024-01-02  Ann Archer  <ann@example.org>
\t    Bob Builder  <bob@example.org>

\t* both.c: Ours.

2024-01-02  Bob Builder  <bob@example.org>

\tBackported from mainline
\t2023-12-31  Carl  <carl@example.org>

\t* file.c: Carl's words.

Tue Jan  2 10:00:00 2001  Old Timer  (old@example.org)

\t* old.c: Old words.
A line that lost its indent.
\t* whose.c: Unknown.

1999-12-31 elguavas

\t* no.c: Address.

1999-12-30  Dora  <dora@example.org>
\t* last.c: Dora's.
"""


def test_debian_entries_belong_to_who_signed_them(table, read):
    documents, skipped = read(table("changelog.Debian.gz", DEBIAN))
    assert documents == {
        "line-1": ("  * Ann's words.\n\n  [ ann Archer ]\n  * More of Ann's.", "ann@example.org"),
        "line-17": ("  * Carl's words.", "carl@example.org"),
    }
    assert skipped == {"other_author": 1, "malformed": 1, "outside": 1}


def test_gnu_entries_belong_to_their_only_author(table, read):
    documents, skipped = read(table("ChangeLog", GNU))
    assert documents == {
        "line-1": (
            "\t* file.c (f): Ann's words,\n\tin two lines.\n\n\t* other.c: As well.",
            "ann@example.org",
        ),
        "line-20": ("\t* old.c: Old words.", "old@example.org"),
        "line-30": ("\t* last.c: Dora's.", "dora@example.org"),
    }
    assert skipped == {"several_units": 2, "outside": 1, "no_unit": 1}


def test_an_address_that_cannot_be_read_is_still_somebody(table, read):
    content = b"2024-01-01  A  <a@x>\n\tB  <\xe9@x>\n\n\t* both\n\n2024-01-01  C  <\xe9@x>\n\n\t* c\n"
    assert read(table("ChangeLog", content)) == ({}, {"several_units": 1, "no_unit": 1})


def test_too_long_or_latin_entries_are_counted(table, read):
    bodies = b"* " + b"x" * 200_000, b"* caf\xe9", b"k"
    content = b"".join(b"2024-01-01  A  <a@x>\n\n\t%b\n\n" % body for body in bodies)
    documents, skipped = read(table("ChangeLog", content), 100_000)
    assert documents == {"line-9": ("\tk", "a@x")}
    assert skipped == {"too_large": 1, "undecodable": 1}


def test_a_file_without_entries_is_refused(table, read):
    with pytest.raises(InputError, match="no ChangeLog entry"):
        read(table("changelog", "Version 2.0\n===========\n\n- words\n"))
    assert read(table("changelog", "")) == ({}, {})


@pytest.mark.slow
def test_every_signed_entry_of_this_machines_packages_is_read_or_counted(read):
    """Against a second, cruder reading: the trailers in the text."""
    files = sorted(Path("/usr/share/doc").glob("*/changelog.Debian.gz"))[:60]
    if not files:
        pytest.skip("no Debian changelogs on this machine")
    for file in files:
        documents, skipped = read(file, format="changelog")
        raw = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        signed = [m.casefold() for m in re.findall(r"(?m)^ -- [^<\n]*<([^>\n]*)>", raw)]
        left_out = {k: n for k, n in skipped.items() if k not in ("other_author", "outside", "malformed")}
        assert len(documents) + sum(left_out.values()) == len(signed), file
        assert {unit for _, unit in documents.values()} <= set(signed)
        assert all(text in raw or skipped["other_author"] for text, _ in documents.values())


def test_entries_come_one_by_one(table):
    documents = read_documents(table("changelog", DEBIAN), max_bytes=99, where="t")
    assert next(documents).name == "line-1" and documents.skipped == {"other_author": 1}
