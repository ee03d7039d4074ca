"""Passwords that no rule of a syntax covers: near a name, in columns, encoded, in sentences; and what is none."""

# ruff: noqa: E501  (tables: one row a form)

import base64
import gzip
from urllib.parse import quote

import pytest

from hush_core.secrets.detectors import credential_columns
from hush_core.secrets.detectors.credential_rules import own_findings
from hush_core.secrets.priors import PASSWORD_BITS, guess_bits

STRONG, PHRASE = "J7kq2!mWz9Lr4", "pillow-tunnel-anchor-velvet"

WRAPPED = [
    'let password = Some("{}");', 'let password = String::from("{}");', 'password: SecretString::new("{}".into()),',
    'password: str = field(default="{}")', 'char[] password = "{}".toCharArray();', "password: z.string().default('{}')",
    'Password string `env:"PW" envDefault:"{}"`', 'password = bytes("{}", "utf-8")', "password => Digest.hexdigest('{}')",
]  # fmt: skip

APART = [
    "password: >-\n  {}", "Password\n--------\n`{}`", "- Password\n  - {}", "#cloud-config\nchpasswd:\n  list: |\n    ada:{}\n", "Demo account: ada / {}", "Use {} as the password here.",
    '{{"key":"password","value":"{}"}}', "  DbPassword:\n    Type: String\n    Default: {}\n", "password: &pw {}",
    '<Key>Password</Key>\n<Value ProtectInMemory="True">{}</Value>', 'USER, PASSWORD = "ada", "{}"', "- key: password\n  value: {}",
]  # fmt: skip

LANGUAGES = [
    "senha={}", "clave: {}", "contrasena={}", "contraseña: {}", "parola={}", "пароль: {}", "密码: {}", "Ihr Passwort lautet: {}",
    "mot de passe : {}", "wachtwoord = {}", "hasło: {}", "lösenord: {}", "パスワード: {}", "비밀번호: {}", "şifre: {}",
]  # fmt: skip

OPTIONS = ["zip -P {} a.zip f", "xfreerdp /u:ada /p:{} /v:h", "sshpass -p {} ssh h", "rclone --ftp-pass={} x",
           "mongosh --host h -u ada -p '{}'", "ipmitool -H h -U ada -P {} power status", 'run(["sshpass", "-p", "{}", "ssh"])',
           "SELECT pgp_sym_decrypt(card, '{}') FROM t;", "net use Z: \\\\h\\s {} /user:ada", "http --auth ada:{} GET https://h/x"]  # fmt: skip

COLUMNS = [
    "host,user,password,role\nh0,eve,,viewer\nh1,ada,{},admin\n", "name\tpassword\tmail\nada\t{}\ta@b.test\n",
    "COPY users (id, name, password) FROM stdin;\n1\tada\t{}\n\\.\n", '"Title","Username","Password"\n"a","ada","{}"\n',
    "INSERT INTO users (id, name, pwd, role) VALUES (1,'bob','x','y'),\n (2,'ada','{}','y');\n",
    "| user | password | role |\n|---|---|---|\n| ada | {} | admin |\n", "HOST     USER    PASSWORD\nh1       ada     {}\n",
]  # fmt: skip

STRONG_ONLY = [
    "Use ada / {} to sign in", "creds: ada:{}", "temporary password for bob - {}", "tool --auth ada:{} get",
    '$db = new mysqli("localhost", "ada", "{}", "db");', "net use Z: \\\\h\\s {} /user:ada", 'psql "user=ada password={} dbname=x"',
]  # fmt: skip


def labelled(content: str, value: str) -> bool:
    text = content.encode()
    at = text.rindex(value.encode())
    spans = [(start, end) for _, start, end in own_findings(text, [])]
    return any(start <= at and at + len(value) <= end for start, end in spans)


GIVEN = [
    'db_pass <- "winter_is_nearly_over"', "password=tea leaves never lie", "password: await hash('liverpool-fc', 10),",
    '{ "name": "j_password", "value": "my dog eats pears" }', "password: String(env.DB_PW ?? 'NestJS-Katze'),",
    "ssh('h', 'root', password: %q{RedBarnBlueSky})", "пароль = Dynamo-Kyiv1", '# the password is "sheep count themselves asleep"',
    "<user>ada</user><pw>My aunt collects spoons</pw>", 'admin-password: !!str "spiral notebook penguin"',
    r'"password": "\u0062\u006c\u0061\u0075\u0065\u0072"', r"export SSHPASS=$'\x42\x61\x73\x68\x26\x5a\x73'",
    "net use Z: \\\\nas\\f /user:CORP\\scan bright-yellow-canoe /p:no", "const DB_PASSWORD: [u8; 9] = [102, 114, 111, 103, 32, 108, 111, 103, 115];",
    "//nas/media /mnt cifs username=berg,password=Familie77,uid=1000", "const f = ['#user', '#pass'];\nconst v = ['lena', 'insta_Lena01'];",
    "INSERT (name, secret) VALUES (?, ?) [user, password]\n- [broker, pebble.canyon.echo.four]", "log in with the password ubs35zknrpsao05 until then",
    'add_argument("--password",\n    default="Sunny_Otter9")', "service   account   secret\ninflux    ada       EKZpzAp1kJnkqx",
    "docker run -e MYSQL_ROOT_PASSWORD=adg_123456 \\", "export DB_PASSWORD=adg_123457 && ./run", "snmp-server community vXq7Kw2p RO",
    "mysql -u ada -p'copper lantern drifts' shop", 'sftp.connect("db.lan", "ada", "copper orange drifts")', '- name: DB_PASSWORD\n  value: "gravel mango thumb"',
    'let k = SecretString::new("lamp otter fern moss".into());', 'const p = process.env.DB_PASS || "copper lantern yellow north";',
    "user: SUAG35IAY2EF5DOZRV6MUSOFDGJ6O2BQCZHSRPLIK6J3GVCX366BFAYSNA",
]  # fmt: skip

"""Each ends, but for quotes and what follows, in what is found."""

VALUES = [
    "winter_is_nearly_over", "tea leaves never lie", "liverpool-fc", "my dog eats pears", "NestJS-Katze", "RedBarnBlueSky", "Dynamo-Kyiv1",
    "sheep count themselves asleep", "My aunt collects spoons", "spiral notebook penguin", r"\u0062\u006c\u0061\u0075\u0065\u0072",
    r"\x42\x61\x73\x68\x26\x5a\x73", "bright-yellow-canoe", "102, 114, 111, 103, 32, 108, 111, 103, 115", "Familie77", "insta_Lena01",
    "pebble.canyon.echo.four", "ubs35zknrpsao05", "Sunny_Otter9", "EKZpzAp1kJnkqx",
    "adg_123456", "adg_123457", "vXq7Kw2p", "copper lantern drifts", "copper orange drifts", "gravel mango thumb", "lamp otter fern moss",
    "copper lantern yellow north", "SUAG35IAY2EF5DOZRV6MUSOFDGJ6O2BQCZHSRPLIK6J3GVCX366BFAYSNA",
]  # fmt: skip

NOT_GIVEN = [
    '"password": "Please enter it again"', 'password = "user_data"', 'password = "auth.login.title"', 'db_pass <- "render_panel_form"', "resetPassword: 'Neuer Versuch noch heute'",
    'const fields = ["user", "password"];\nconst labels = ["name", "word"];', 'password: t("shown when it expires")', "pass to `func_and_grad`",
    'client.connect("db.lan", "the server is away")', 'login("ada", "please type it again")',
    'open("user", "password")\ncall(["https://h/x", "/tmp/yyy"])', "passwordHint: 'ein langes altes Wort'", "const PASSWORD_TABLE: [u8; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];",
]  # fmt: skip


@pytest.mark.parametrize(("line", "value"), [*zip(GIVEN, VALUES, strict=True)], ids=VALUES)
def test_words_and_bytes_given_to_a_passwords_name_are_found(line, value):
    assert labelled(f"import os\n{line}\nz = 1\n", value)


@pytest.mark.parametrize("line", NOT_GIVEN)
def test_messages_names_and_paths_given_to_it_are_not(line):
    assert not list(own_findings(f"import os\n{line}\nz = 1\n".encode(), []))


@pytest.mark.parametrize("value", [STRONG, PHRASE])
@pytest.mark.parametrize("form", WRAPPED + APART + LANGUAGES + OPTIONS + COLUMNS)
def test_a_password_is_found_in_syntax_that_no_rule_lists(form, value):
    assert labelled(f"import os\n{form.format(value)}\nz = 1\n", value)


def test_each_statement_is_looked_for_once_however_many_lines_are_near_it():
    """Each line looked for those in 2,200 bytes before and behind it: 10 s a MB."""
    line = b"COPY t (a, password) FROM stdin;\n"
    lines = [(at, at + len(line)) for at in range(0, 500 * len(line), len(line))]
    assert [found.span() for found in credential_columns._statements(line * 500, lines)] == lines


def test_a_statement_deep_in_a_file_is_read_from_its_beginning_above_the_passwords_column():
    columns = "INSERT INTO users (\n  id,\n  password\n) VALUES\n(1, '{}'),\n(2, '{}');\n"
    text = "x = 1\n" * 1000 + columns.format(STRONG, PHRASE) + "x = 1\n" * 1000
    assert labelled(text, STRONG) and labelled(text, PHRASE)


@pytest.mark.parametrize("form", STRONG_ONLY)
def test_a_strong_password_is_found_on_the_line_of_a_name(form):
    assert labelled(f"import os\n{form.format(STRONG)}\nz = 1\n", STRONG)


UNUSUAL = ["Ab!kQz.wPtLm", "fern.otter.pepper.moss.lamp", "WalnutFerryCompass", "Nico.Lukas87", "Max016!"]
UNUSUAL += ["fern otter moss lamp"]

"""Passwords without a digit, phrases with a word of code, with capitals or blanks, two names, and a short one."""


@pytest.mark.parametrize("value", UNUSUAL)
@pytest.mark.parametrize(
    "form", ['keystorePassword = "{}"', "user_pw: '{}'", '"mailPassword": "{}",', "connect(db_passwd='{}')"]
)
def test_a_password_of_unusual_looks_is_found_where_its_name_is_plain(form, value):
    assert labelled(f"import os\n{form.format(value)}\nz = 1\n", value)


@pytest.mark.parametrize(
    "form", ['root_password: Some("{}".into()),', 'rootPassword := []byte("{}")', 'pwd = SecretStr("{}")']
)
def test_a_chosen_password_is_found_in_a_constructor_and_names_in_a_getter_are_not(form):
    assert labelled(f"import os\n{form.format('Nico127_')}\nz = 1\n", "Nico127_")
    calls = (
        'os.environ.get("DB_PASS1")',
        'request.form["password2"]',
        'page.locator("input#pwd1")',
        '_("Wrong one2!")',
    )
    for call in calls:
        assert list(own_findings(f"# text\npassword = {call}\n# end\n".encode(), [])) == []


def _hex(text: str) -> str:
    return text.encode().hex()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_word_is_found_where_its_name_is_itself_the_value_of_a_key():
    assert labelled('{"key": "password", "value": "letmein"}\n', "letmein")


def _gzip(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


@pytest.mark.parametrize("encode", [_base64, lambda text: _base64(_base64(text)), _hex, quote, _gzip])
@pytest.mark.parametrize("text", ['{{"user":"ada","password":"{}"}}', "HOST=db&DB_PASSWORD={}&x=1"])
def test_a_password_in_encoded_text_labels_the_whole_run(encode, text):
    run = encode(text.format(STRONG))
    assert labelled(f"import os\nblob = '{run}'\n", run)


@pytest.mark.parametrize(
    "line",
    [
        "password: see ada@example.org or lodash@4.17.21", "the password field of OAuth2Client1 is #L42-L60", "# pwd: /usr/lib64/x86_64!",
        "secret = a1+b2*cc3/dd4()", "password: ${DB_PASSWORD1!}", "password_hash = '$2b$12$abcdefghijk'",
        "password = forms.CharField(widget=Input(attrs=x1))", "reset-password: account-reset-form-page", "class: user-password-form-field",
        "credentials file, see aws/aws-cli#847", 'pattern = "^secret:[a-zA-Z0-9/_+=.@-]+$"', "login (RFC 7617#section-2)",
        "docker run -u root -p 8080:80 -w app1 image", "auth: mkdir -p Nico8732x", "ssh -l ada -p 2222 host1", 'password: "does not match confirmation"',
        '    login(password="ResetPasswordForm", x=1)', "password: new value must differ", "see account: docs / settings", "pwm_channel = 'timer2ch1'",
        "PASSWORD_HASHERS = ['django.contrib.auth.hashers.MD5PasswordHasher']",
    ],
)  # fmt: skip
def test_addresses_code_and_names_near_a_name_are_no_passwords(line):
    assert list(own_findings(f"# text\n{line}\n# end\n".encode(), [])) == []


@pytest.mark.parametrize(
    "table",
    [
        "'point','pass','return'\n'a','row_major','b'\n", "user,password\nada,\nbob,********\n", "id,password_hash\n1,ab12\n",
        "f(user, password)\ng(one, two2words!)\n",
    ],
)  # fmt: skip
def test_lists_digests_and_empty_columns_are_no_passwords(table):
    assert list(own_findings(table.encode(), [])) == []


def test_what_only_encodes_readable_text_is_no_credential():
    for text in ('{"user":"ada","city":"Oslo","age":42}', "the quick brown fox jumps over the lazy dog"):
        assert list(own_findings(f"x = '{_base64(text)}'\n".encode(), [])) == []


def test_found_passwords_claim_no_more_than_a_person_chooses():
    for form in (WRAPPED[0], APART[0], COLUMNS[0]):
        text = form.format(STRONG).encode()
        for rule, start, end in own_findings(text, []):
            assert guess_bits(rule, text[start:end]) <= PASSWORD_BITS


CHOSEN = ("J7kq2!mWz9Lr4", "Kb8xTq4Lm2", "sommer2024", "pillow-tunnel-anchor-velvet")

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
    for value in CHOSEN:
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
