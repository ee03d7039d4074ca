"""Mailboxes and ChangeLogs: a text stands under its author; what is hostile, or of no one author, is counted."""

import gzip
import mailbox
import re
from email.message import EmailMessage, Message
from pathlib import Path

import pytest

from hush_core.corpus.documents import read_documents
from hush_core.corpus.documents.mime import decode, read_mail
from hush_core.errors import InputError

FROM = b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n"


def _mail(sender: str, subject: str, text: str, **content) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = sender, subject
    mail.set_content(text, **content)
    return mail


def _box(path, *mails: Message):
    box = mailbox.mbox(path)
    for mail in mails:
        box.add(mail)
    box.close()
    return path


def test_written_mails_are_read_back(tmp_path, read):
    mixed = _mail("Ann <ANN@Example.org>", "Straße " * 15, "héllo\nFrom the start\n", cte="base64")
    mixed.add_attachment(b"\x89PNG", maintype="image", subtype="png")
    mixed.add_attachment("attached words", filename="notes.txt")
    both = _mail("bob@example.org", "two forms", "plain ✓", cte="quoted-printable")
    both.add_alternative("<p>html</p>", subtype="html")
    forwarded = _mail("bob@example.org", "fwd", "see below")
    forwarded.add_attachment(_mail("ann@example.org", "inner", "inner words"))
    latin = _mail("Carl <carl@x>", "latin", "naïve", charset="iso-8859-1", cte="8bit")
    path = _box(tmp_path / "a.mbox", mixed, both, forwarded, latin)
    documents, skipped = read(path)
    assert documents == {
        "message-1": (("Straße " * 15).strip() + "\n\nhéllo\nFrom the start", "ann@example.org"),
        "message-2": ("two forms\n\nplain ✓", "bob@example.org"),
        "message-3": ("fwd\n\nsee below", "bob@example.org"),
        "message-4": ("latin\n\nnaïve", "carl@x"),
    }
    assert skipped == {"attachment": 4}
    assert read(path, unit="from") == (documents, skipped)


@pytest.mark.parametrize(
    ("header", "authors"),
    [
        (b"From: Ann <ann@x>", {"ann@x"}),
        (b"From: ann at x.org (Ann A.)", {"ann@x.org"}),
        (b"From: =?utf-8?q?Bob_=3Cbob=40x=3E=2C?= <ann@x>", {"ann@x"}),  # a name that poses as an address
        (b'From: "Bob, bob@x" <ann@x>', {"ann@x"}),
        (b"From: Ann <ann@x>, bob@x", {"ann@x", "bob@x"}),
        (b"From: ann@x\nFrom: bob@x", {"ann@x", "bob@x"}),
        (b"From: Ann\n <ANN@x>", {"ann@x"}),
        (b"From: ", {""}),
        (b"From: " + b"(" * 1900, {""}),
        (b"From: ann@x, " + b"b" * 5000 + b"@x", {""}),
        (b"Subject: none", set()),
    ],
)
def test_authors(header, authors):
    assert read_mail(header + b"\n\ntext\n").authors == authors


def test_mails_without_one_author_are_left_out(table, read):
    heads = [b"Subject: a", b"From: a@x, b@x", b"From: undisclosed", b"From: c@x"]
    path = table("t.mbox", b"".join(FROM + head + b"\n\ntext\n\n" for head in heads))
    assert read(path) == ({"message-4": ("text", "c@x")}, {"no_unit": 2, "several_units": 1})


def test_an_unescaped_from_line_loses_text_and_never_gives_it_to_another(table, read):
    path = table(
        "t.mbox",
        FROM + b"From: a@x\n\nmine\nFrom here on lost\n\n" + FROM + b"From: b@x\n\n>From b\n>>From c\n",
    )
    documents, skipped = read(path)
    assert documents == {"message-1": ("mine", "a@x"), "message-3": ("From b\n>From c", "b@x")}
    assert skipped == {"no_unit": 1}


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("прив".encode("koi8-r"), "KOI8-R", "прив"),
        ("é".encode(), "x-no-such-charset", "é"),
        (b"\xe9", "x-no-such-charset", "é"),
        ("é".encode(), "us-ascii", "é"),
        (b"a" * 50 + b"-", "punycode", "a" * 50 + "-"),
        (b"\\x41", "unicode_escape", "\\x41"),
        (b"uryyb", "rot13", "uryyb"),
        (b"x", "a\0b", "x"),
        (b"\xff", None, "ÿ"),
    ],
)
def test_charsets(content, charset, text):
    assert decode(content, charset) == text


def test_an_unknown_charset_or_transfer_encoding_in_a_mail(table, read):
    def part(head):
        return FROM + b"From: a@x\n" + head + b"\n\n"

    mails = (
        part(b"Content-Type: text/plain; charset=unheard-of") + b"caf\xe9\n\n",
        part(b"Subject: s\nContent-Transfer-Encoding: x-uuencode") + b"begin 644 x\n",
        part(b"Subject: s\nContent-Transfer-Encoding: base64") + b"A\n\n",
        part(b"Subject: =?utf-8?b?!?= =?nope?q?caf=E9?=\nContent-Transfer-Encoding: base64") + b"aGVsbG8\n\n",
        part(b"Content-Type: text/plain; charset=utf-16") + "bin\0".encode("utf-16") + b"\n\n",
    )
    documents, skipped = read(table("t.mbox", b"".join(mails)))
    assert documents["message-1"] == ("café", "a@x")
    assert documents["message-2"] == ("s", "a@x")
    assert documents["message-4"][0].endswith("hello")
    assert skipped == {"attachment": 1, "malformed": 1, "binary": 1}


def _nested(depth: int) -> bytes:
    head = b"From: a@x\n"
    opened = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(depth)
    )
    return head + opened + b"Content-Type: text/plain\n\ndeep\n"


def test_parts_nested_too_deep_or_too_many_are_not_followed():
    assert read_mail(_nested(15)).text == "deep"
    deep = read_mail(_nested(5000))
    assert (deep.text, deep.left_out, deep.malformed) == ("", 1, False)
    wide = b"From: a@x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nword\n" * 100_000
    assert read_mail(wide).malformed


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"From: a@x",
        b"From: a@x\nContent-Type: multipart/mixed\n\nno boundary\n",
        b"From: a@x\nContent-Type: multipart/mixed; boundary=\xc3\xa9\n\n--\xc3\xa9\n\nx\n",
        b"From: a@x\nContent-Type: " + b";" * 200_000 + b"\n\nx\n",
        b"From: a@x\nSubject: " + b"=?a?q?" * 30_000 + b"\n\nx\n",
        b"From: a@x\nContent-Type: text/plain; charset*0*=x'" + b"'" * 100 + b"\n\nx\n",
        b"From: a@x\nContent-Type: text/plain; charset*99999999999=x\n\nx\n",
        b": : :\n\0\n\xff\xfe\n\n" + b"\n" * 1000,
        b"a" * 400_000,
    ],
)
def test_hostile_mails_do_no_harm(raw):
    mail = read_mail(raw)
    assert len(mail.text) <= len(raw) and mail.authors <= {"a@x"}


def test_digests_hold_the_words_of_others(table, read):
    digest = (
        b"From: list@x\nSubject: digest\nContent-Type: multipart/digest; boundary=b\n\n"
        b"--b\n\nFrom: ann@x\nSubject: s\n\nann's words\n--b--\n"
    )
    assert read(table("t.mbox", FROM + digest)) == ({"message-1": ("digest", "list@x")}, {"attachment": 1})


def test_what_is_no_mbox_is_refused_by_line(table, read):
    with pytest.raises(InputError, match=r"t\.mbox: line 3: .*no mbox"):
        read(table("t.mbox", "\n\nDear all\n"))
    assert read(table("t.mbox", "")) == ({}, {})
    assert read(table("t.mbox", b"From " + b"x" * 200_000 + b"\nFrom: a@x\n\nt\n"))[0] == {
        "message-1": ("t", "a@x")
    }


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
