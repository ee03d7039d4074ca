"""Passwords in sentences of other languages, with and without blanks, and in quotes of any script."""

# ruff: noqa: E501  (tables: one row a form)

import pytest

from hush_core.secrets.detectors.credential_rules import own_findings
from hush_core.secrets.priors import PASSWORD_BITS, guess_bits

VALUES = ("J7kq2!mWz9Lr4", "Kb8xTq4Lm2", "sommer2024", "pillow-tunnel-anchor-velvet")
SENTENCES = [
    "Das Passwort für den Server lautet {}.", "Das Kennwort ist „{}“, bitte ändern.", "Verwende {} als Passwort.", "Melde dich mit dem Passwort {} an.",
    "Le mot de passe du serveur est {}.", "Mot de passe : « {} »", "Utilisez {} comme mot de passe.", "La contraseña del servidor es {}.", "La clave es «{}»",
    "A senha do banco é {}", "La parola d'ordine è {}", "Het wachtwoord is {}", "Lösenordet är {}", "Adgangskoden er {}", "kodeord: {}", "Salasana on {}",
    "Hasło do bazy to {}", "hasłem jest {}", "Heslo je {}", "A jelszó: {}", "Şifre: {}", "Parola este {}", "Пароль от сервера: {}", "Войдите с паролем {}",
    "Пароль для базы данных «{}»", "Пароль до бази: {}", "Ο κωδικός πρόσβασης είναι {}", "密码是{}。", "密码：{}", "数据库密码为“{}”，请勿外传", "密碼「{}」", "请使用密码{}登录",
    "パスワードは「{}」です", "パスワードは{}です。", "パスワードに{}を使う", "合言葉：{}", "비밀번호는 {}입니다", '암호는 "{}"', "كلمة المرور: {}", "הסיסמה היא {}", "पासवर्ड: {}",
    "รหัสผ่านคือ {}", "Mật khẩu là {}", "Kata sandi: {}", "رمز عبور: {}", 'contraseñaServidor = "{}"', "MOT_DE_PASSE={}", "| Benutzer | Passwort |\n|---|---|\n| ada | {} |",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_password_is_found_in_a_sentence_and_labelled_whole(sentence):
    for value in VALUES:
        text = f"import os\n{sentence.format(value)}\nz = 1\n".encode()
        at = text.rindex(value.encode())
        found = [(rule, a, b) for rule, a, b in own_findings(text, []) if a <= at and at + len(value) <= b]
        assert found, value
        assert all(guess_bits(rule, text[a:b]) <= PASSWORD_BITS for rule, a, b in found)
        assert all(b - a <= len(value) + 1 for _, a, b in found), "text of the sentence belongs to the value"


@pytest.mark.parametrize(
    "line",
    [
        "Passwort: mindestens 8 Zeichen", "パスワード：SHA256", "密码: ant.design", "Mot de passe oublié&thinsp;?", '"password": "Kennwort",',
        "Пароль должен быть не короче 8 символов", "密码长度必须为8-64位", "contraseña: {contrasena1}", "La contraseña se guarda en config.py2", "Das Passwort steht in v1.2.3",
        "clave: https://example.org/a1", "mot de passe: %(password1)s",
    ],
)  # fmt: skip
def test_what_a_sentence_says_of_passwords_is_none(line):
    assert list(own_findings(f"import os\n{line}\nz = 1\n".encode(), [])) == []


@pytest.mark.parametrize("line", ["PASSWORD=senha2024", "password: clave-7731", "password = Wachtwoord"])
def test_a_word_for_a_password_in_another_language_may_be_chosen_as_one(line):
    assert own_findings(f"# settings\n{line}\nport = 1\nhost = x\n".encode(), []) != []
