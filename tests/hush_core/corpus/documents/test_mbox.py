"""Mailboxes: what the standard library writes is read back, under its author; what is hostile is counted."""

import mailbox
from email.message import EmailMessage, Message

import pytest

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
