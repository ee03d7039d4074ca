"""Passwords in sentences of languages other than English: a name, a colon or a verb, and a value in quotes of any script.

Chinese, Japanese and Korean put no blank beside a value, so a value ends where its script does.

>>> texts = ["Das Passwort für den Server lautet „sommer2024“.", "数据库密码为sommer2024，请勿外传", "Utilisez sommer2024 comme mot de passe"]
>>> [text.encode()[start:end] for text in texts for _, start, end in in_sentences(text.encode())]
[b'sommer2024', b'sommer2024', b'sommer2024']
>>> [list(in_sentences(text.encode())) for text in ("Passwort: mindestens 8 Zeichen", "パスワード：SHA256", "senha: get_senha1")]
[[], [], []]
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from hush_core import linear
from hush_core.secrets.detectors.credential_public import (
    is_digest,
    is_identifier,
    is_placeholder,
    says_placeholder,
)
from hush_core.secrets.priors import ASSIGNED_PASSWORD


def _any(words: str) -> bytes:
    """An expression for one of the words; `_` is a blank, a sign or nothing."""
    return b"|".join(re.escape(word).encode().replace(b"_", rb"[ _-]{0,2}") for word in words.split())


LOCAL_NAMES = (
    _any(
        "passwort paßwort pasword passwörter kennwort losungswort zugangscode zugangsdaten zugangsschlüssel wachtwoord wachtzin toegangscode wagwoord "
        "mot_de_passe mots_de_passe code_d'accès phrase_secrète contraseña contraseÑa contrasena contrasenya clave senha palavra_passe palavra_chave "
        "parola parolă parol lösenord losenord adgangskode kodeord passord løsenord salasana tunnussana lykilorð pasahitz "
        "hasło haslo hasła hasłem heslo hesla heslem geslo lozink slaptažod slaptazod parool salasõna jelszó jelszo jelszav şifre Şifre sifre kata_sandi "
        "kata_laluan mật_khẩu Mật_khẩu mat_khau nenosiri fjalëkalim zaporka pasvorto cyfrinair pasfhocal contrasinal codice_segreto codice_di_accesso парол Парол ПАРОЛ лозинк гасло шифра ключ_доступа құпия_сөз нууц_үг სიტყვა პაროლ գաղտնաբառ κωδικ Κωδικ συνθηματικ "
        "密码 密碼 口令 通行码 通行碼 パスワード パスフレーズ 暗証番号 合言葉 비밀번호 비번 암호 패스워드 كلمة_المرور كلمة_السر كلمة_مرور رمز_عبور گذرواژه סיסמ पासवर्ड পাসওয়ার্ড கடவுச்சொல் పాస్‌వర్డ్ పాస్వర్డ్ پاس_ورڈ รหัสผ่าน ລະຫັດຜ່ານ ពាក្យសម្ងាត់ စကားဝှက်"
    )
    + rb"|contrase\xf1a|l\xf6senord|\bmima\b|\bmdp\b|\bmdp_|_mdp\b"
)  # two of them in Latin-1
"""What a password is called in forty languages, by the part that no ending changes."""
_LATIN = rb"[\xc3-\xd4][\x80-\xbf]|\xc2[\xa1-\xaa\xac-\xba\xbc-\xbf]"
"""Letters of two bytes: Latin, Greek, Cyrillic; but not the quotes « and »."""
RUN = rb"(?:[!#$%&*+./0-9:=?@A-Z^_a-z~-]|" + _LATIN + rb")"
"""A character that a value without quotes may hold."""
OPENING = rb"(?:" + _any("“ „ « ‹ 「 『 《 【 （ ＂") + rb")"
QUOTES = _any("“ ” „ ‟ ‘ ’ ‚ « » ‹ › 「 」 『 』 《 》 【 】 （ ） ＂ ＇") + rb"|[\"'`(<*]"
VERBS = _any(
    "lautet lauten luidt ist war sei est sera es será é è is var är er on to je jest brzmi адалах adalah ialah là είναι este bude е является это היא הוא هي هو olarak setzen"
)
_AFTER = (
    _any("是 为 為 设为 設為 设置为 は が を に には 는 은 이 가 을 를 คือ है")
    + rb"|[:=]|\xef\xbc\x9a|\xe2\x80\x94|\xe2\x80\x93|->|\xe2\x86\x92"
)
"""Signs and particles behind which a value may follow without a blank."""
LOCAL_USERS = _any(
    "benutzer nutzer anwender anmeldename usuario usuário utilisateur identifiant utente gebruiker användare bruger bruker käyttäjä uživatel użytkownik "
    "kullanıcı felhasználó utilizator пользовател Пользовател логин Логин 用户 用戶 账号 帳號 ユーザ 사용자 아이디"
)
"""What the column of those is called to whom a password belongs."""
IS_LOCAL = linear.compile(rb"(?i)(?:" + LOCAL_NAMES + rb")")
_LINKS = tuple(
    linear.compile(rb"(?i)(?:" + link + rb")(?:[ \t]|\xe3\x80\x80|" + QUOTES + rb"){0,4}")
    for link in (
        _AFTER + rb"|" + OPENING,
        rb"[ \t](?:" + VERBS + rb")[ \t]",
        rb"\A",
        rb"\A(?:[a-z]|" + _LATIN + rb"){1,8}[ \t]",
    )
)
"""What gives a value to a name before it: a sign or an opening quote, a verb, or nothing but the name's ending."""
_VALUE = linear.compile(RUN + rb"{6,128}")
_AS = linear.compile(
    rb"(?i)(?:\A|[\s])(?:%b){0,3}(%b{6,128})(?:%b){0,3}[ \t]{1,2}(?:%b)[ \t]{1,2}(?:\S{1,16}[ \t]{1,2}){0,2}(?:%b)"
    % (QUOTES, RUN, QUOTES, _any("als comme como come som jako kao как як olarak"), LOCAL_NAMES)
)
"""A value, a word such as `as`, and the name."""
_SAID = linear.compile(rb"(?i)(pass(?:word|wd|phrase|code)|pwd|\bpw\b)|(?:" + LOCAL_NAMES + rb")")
_LAST = linear.compile(
    rb"[`*_\"']{0,3}[ \t]{1,2}[`*\"'(]{0,3}(" + RUN + rb"{6,128})[`*_\"')\].,;]{0,4}[ \t\r]*(?:\n|\Z)"
)
"""A value that ends its line, directly behind a name."""
_NEXT = linear.compile(
    rb"[`*_\"']{0,3}(?:,[ \t]|[ \t]{1,2})(?:[`*\"'(]|[A-Z]<|\[[a-z]\]|<[a-z]{1,6}>){0,3}([A-Za-z0-9][A-Za-z0-9!@#$%&*?_+-]{5,63})(?:[`*_\"'),;<>\[]|\.?(?:[ \t]|\r?\n|\Z))"
)
"""A value in a sentence, directly behind a name."""
REACH, REACH_ENGLISH = 64, 24
"""Bytes from a name to what gives it a value: English names are in code, too."""
_CHOSEN = linear.compile(
    rb"(?:[A-Za-z]|[\xc3-\xd4][\x80-\xbf]){3,}[0-9]{2,}[!@#$%&*?.]{0,2}|(?:[A-Za-z]|[\xc3-\xd4][\x80-\xbf]){2,}[!@#$%&*+_.-]{0,2}[0-9]+[A-Za-z0-9!@#$%&*?_.-]+|[0-9]{2,}[!@#$%&*_.-]?[A-Za-z]{3,}[!@#$%&*?0-9]*"
)
"""Letters with digits behind, between or before them."""
_NONE = linear.compile(
    rb"(?i)(?:sha|md|aes|rsa|utf|iso|base|des|x|tls|ssl|oauth|totp|ipv|h|http|log|ntlm|pbkdf|argon|bcrypt|scrypt|iso-|v|ver|version|windows|win|python|php|mysql|step|level|max|min)[-_.]?[0-9.:-]+\w*"
    rb"|.*(?:passw|senha|clave|://|@[a-z]+\.|\w\.\w+\.\w).*|\W.*|.*\.(?:py|js|ts|md|json|ya?ml|txt|html?|go|rs|java|php|po|png|svg)|[a-z]+(?:_[a-z0-9]+)+|[0-9.:/-]+|[a-z]+[0-9]?|[%$&].*|.*[=].*"
)
"""Algorithms, versions, addresses, files, names in code, numbers and words."""


def in_sentences(
    line: bytes, is_phrase: Callable[[bytes], bool] = lambda value: False
) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of the passwords that a line gives to a name, or names behind them.

    is_phrase: whether a value is a passphrase.
    """
    for name in _SAID.finditer(line):
        given = _given(line, name.end(), REACH, _LINKS) if name[1] is None else _in_english(line, name.end())
        for start, end in given:
            if end := _end(line, start, end, is_phrase):
                yield ASSIGNED_PASSWORD, start, end
                break
    for match in _AS.finditer(line):
        start, end = match.span(1)
        if end := _end(line, start, end, is_phrase):
            yield ASSIGNED_PASSWORD, start, end


def _in_english(line: bytes, at: int) -> Iterator[tuple[int, int]]:
    yield from _given(line, at, REACH_ENGLISH, _LINKS[:2])
    for form in (_LAST, _NEXT):
        if last := form.match(line, at):
            yield last.span(1)


def _given(line: bytes, at: int, reach: int, links: Sequence[linear.Linear]) -> Iterator[tuple[int, int]]:
    """Where values begin and may end, at the places where a name is given one."""
    near = line[at : at + reach]
    for link in links:
        for match in link.finditer(near):
            if value := _VALUE.match(line, at + match.end()):
                yield value.span()


def _end(line: bytes, start: int, end: int, is_phrase: Callable[[bytes], bool]) -> int:
    """Where a password ends that begins at `start`; 0 if it is not one."""
    while end > start and line[end - 1] in b".:=*":
        end -= 1
    value = line[start:end]
    if value[:1] in b"@=?&" and value:
        return 0
    if line[end : end + 1] in (b"(", b"[", b"{", b"\\") or len(value) < 6 or len(set(value)) < 5:
        return 0
    if is_phrase(value):
        return end
    if not _CHOSEN.fullmatch(value) or _NONE.fullmatch(value) or is_identifier(value) or is_digest(value):
        return 0
    return 0 if is_placeholder(value) or says_placeholder(value) else end
