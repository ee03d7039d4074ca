"""Texts of a translated program are no passwords; what may be one there, and a list of passphrases, are found."""

import pytest

from hush_core.secrets.detectors import credentials
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.detectors.rejected import noted

SAID = {
    "home": "Začátek",
    "sign_in": "Přihlásit se",
    "password": "Heslo",
    "new_password": "Nové heslo",
    "forgot_password": "Zapomenuté heslo?",
    "retype": "Zadejte heslo znovu.",
    "settings": "Nastavení účtu",
    "cancel_button": "Zrušit",
    "email": "E-mailová adresa",
    "password_cancel": "Zrušit",
}
FORMS = {
    "INI": ("[common]\n", "{0}={1}\n"),
    "JSON": ("{{\n", '  "{0}": "{1}",\n'),
    "YAML": ("cs:\n", "  {0}: {1}\n"),
    "properties": ("", "login.{0} = {1}\n"),
    "PHP": ("<?php\nreturn [\n", "    '{0}' => '{1}',\n"),
    "gettext": ('msgid ""\nmsgstr ""\n\n', 'msgid "{0}"\nmsgstr "{1}"\n\n'),
    "Fluent": ("# Licence\n\n", "{0} =\n    .label = {1}\n{0}-short = {1}\n"),
}


@pytest.fixture(scope="module")
def scanner():
    return CredentialScanner()


def _catalogue(form: str, said: dict[str, str]) -> bytes:
    head, line = FORMS[form]
    return (head.format() + "".join(line.format(*pair) for pair in said.items())).encode()


@pytest.mark.parametrize("form", FORMS)
def test_translations_are_no_passwords(scanner, form):
    assert scanner.scan(_catalogue(form, SAID)) == []


@pytest.mark.parametrize("form", [form for form in FORMS if form != "gettext"])
@pytest.mark.parametrize(
    "value", ["Tr0ub4dor&3x", "pillow-tunnel-anchor-velvet", "kEtTlEmOoN7", "qzvxkwjbfhtgnmrc"]
)
def test_what_is_no_text_is_found_among_translations(scanner, form, value):
    found = scanner.scan(_catalogue(form, SAID | {"smtp_password": value}))
    assert value.encode() in {one.value for one in found}


def test_a_list_of_passphrases_is_no_catalogue(scanner):
    phrases = {
        f"{where}_password": f"{where} winter is nearly over"
        for where in ("mail", "shop", "wiki", "git", "lab", "vpn")
    }
    assert len(scanner.scan(_catalogue("INI", phrases | {"host": "Main Office", "room": "Third Floor"}))) >= 6


def test_settings_with_a_few_texts_are_no_catalogue(scanner):
    text = b"app_name=My Shop\ntitle=Buy more here\nport=5432\nhost=db1\nuser=ann\nmode=prod\npassword=kettlemoon\n"
    assert {one.value for one in scanner.scan(text)} == {b"kettlemoon"}


def test_messages_in_a_program_are_no_catalogue(scanner):
    program = (
        b"import os\n\nMESSAGES = {\n"
        + _catalogue("JSON", SAID)
        + b"}\ndb_password = 'winter is nearly over'\n"
    )
    assert b"winter is nearly over" in {one.value for one in scanner.scan(program)}


def test_why_says_so():
    with noted() as taken:
        CredentialScanner().scan(_catalogue("INI", SAID))
    assert any("translated" in one.reason for one in taken)


def test_a_version_whose_first_lines_make_it_a_catalogue_is_looked_at_as_a_whole(tmp_path):
    """The lines of the texts do not change; what they are depends on lines far above."""
    rest = b"".join(b"p%d=Foo bar\n" % n for n in range(200)) + b'smtp_password="winter is nearly over"\n'
    settings = b"".join(b"s%d=%d\n" % (n, n * n) for n in range(60)) + rest
    catalogue = b"".join(b"t%d=Some words here\n" % n for n in range(60)) + rest
    look = credentials._Look(tmp_path)
    for first, second in ((settings, catalogue), (catalogue, settings)):
        whole = [sorted(next(look.follow([text], [None]))) for text in (first, second)]
        assert [sorted(found) for found in look.follow([first, second], [None, 0])] == whole
    assert look.scanner.scan(settings) and not look.scanner.scan(catalogue)
