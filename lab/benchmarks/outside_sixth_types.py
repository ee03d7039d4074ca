# ruff: noqa: E501, SIM905
"""Types of credential of the sixth hold-out: tokens, keys, connection strings, passwords and passphrases.

NOT TO BE READ by anyone who writes or changes a rule of hush (`outside_blind.py`).

Written from the vendors' public descriptions of their tokens by a reviewer who had read no rule. A form's {A30} is 30
random symbols of the alphabet A (`ALPHABETS`), {crc} the checksum that GitHub and npm append, {uuid} a random UUID,
{b64:32} and {url:32} base64 of so many bytes, {json:NAME} base64url of a small JSON object.

Families: P strong passwords with symbols, S strong passwords of letters, digits and -_.!, r generated ones, p passwords
that people choose, L those of other languages, W passphrases without blanks, V passphrases with blanks, T tokens with a
prefix (g of git hosts, a of Azure, y of PyPI, e of Sentry, h of Slack), U tokens without, K keys as values (k one of 32
bytes, Y one of AWS, X one of OpenVPN), M keys in several lines, R long values that are wrapped (H hex, j tokens), D
values in two pieces, C connections (c of ADO.NET, d of Go, s of SQLAlchemy), B bytes.
"""

import base64
import json
import random
import re
import uuid
import zlib
from collections.abc import Callable
from functools import partial

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

ALPHABETS = {
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "a": "abcdefghijklmnopqrstuvwxyz0123456789", "C": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "E": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    "H": "0123456789abcdef", "X": "0123456789ABCDEF", "D": "0123456789", "G": "abcdefghijklmnopqrstuvwxyz",
    "F": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "N": "abcdefghijklmnopqrstuvwxyz234567",
    "O": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "Z": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "Q": "qpzry9x8gf2tvdw0s3jn54khce6mua7l", "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}  # fmt: skip
TOKENS = """
github classic: ghp_{A30}{crc} ¦ github fine grained: github_pat_11{C20}_{A59} ¦ github installation: ghs_{A30}{crc} ¦ gitlab personal: glpat-{B20}
gitlab routable: glpat-{B27}.01.0z{a7} ¦ gitlab runner: glrt-t1_{B20} ¦ gitlab deploy: gldt-{B20} ¦ slack bot: xoxb-{D12}-{D13}-{A24}
slack app level: xapp-1-A{C10}-{D13}-{H64} ¦ stripe live: sk_live_51{A97}
stripe restricted: rk_live_51{A97} ¦ sendgrid: SG.{B22}.{B43} ¦ google api: AIzaSy{B33} ¦ google client secret: GOCSPX-{B28}
npm automation: npm_{A30}{crc} ¦ pypi upload: pypi-AgEIcHlwaS5vcmcC{B160} ¦ rubygems: rubygems_{H48} ¦ crates: cio{A32} ¦ nuget: oy2{N43}
docker hub: dckr_pat_{B27} ¦ digitalocean: dop_v1_{H64} ¦ heroku: HRKU-AA{B58} ¦ newrelic: NRAK-{C27} ¦ grafana service account: glsa_{A32}_{H8}
vault service: hvs.CAESI{B86} ¦ vault batch: hvb.AAAAAQ{B140} ¦ terraform cloud: {A14}.atlasv1.{B67} ¦ openai project: sk-proj-{B74}T3BlbkFJ{B74}
anthropic: sk-ant-api03-{B93}AA ¦ huggingface: hf_{F34} ¦ databricks: dapi{H32}-2 ¦ linear: lin_api_{A40} ¦ notion: ntn_{D11}{A35}
airtable: pat{A14}.{H64} ¦ figma: figd_{B40} ¦ postman: PMAK-{H24}-{H34} ¦ shopify admin: shpat_{H32} ¦ shopify app: shpss_{H32} ¦ square: EAAAl{B59}
mailgun: key-{H32} ¦ telegram bot: {D10}:AA{B33} ¦ discord bot: MT{A24}.G{B5}.{B38} ¦ azure client secret: {A3}8Q~{B34} ¦ azure devops: {A76}AZDO{A4}
sonarqube: sqp_{H40} ¦ circleci: CCIPAT_{Z22}_{H40} ¦ artifactory: AKCp8{Z68} ¦ atlassian: ATATT3xFfGF0{B171}={X8} ¦ dropbox: sl.B{B130}
dynatrace: dt0c01.{C24}.{C64} ¦ planetscale: pscale_tkn_{B43} ¦ supabase: sbp_{H40} ¦ doppler: dp.st.prd.{A43} ¦ pulumi: pul-{H40}
replicate: r8_{A37} ¦ groq: gsk_{A52} ¦ langsmith: lsv2_pt_{H32}_{H10} ¦ tailscale: tskey-auth-{A12}CNTRL-{A32} ¦ age identity: AGE-SECRET-KEY-1{q58}
contentful: CFPAT-{B43} ¦ asana: 2/{D16}/{D16}:{H32} ¦ wakatime: waka_{uuid} ¦ nostr: nsec1{Q58} ¦ jwt session: {json:alg}.{json:sub}.{B43}
buildkite: bkua_{H40} ¦ sentry user: sntryu_{H64}
"""
PLAIN = """
aws secret access key: {E40} ¦ twilio auth token: {H32} ¦ twilio api secret: {A32} ¦ datadog api: {H32} ¦ datadog application: {H40}
cloudflare api: {B40} ¦ okta api: 00{B40} ¦ algolia admin: {H32} ¦ fastly: {B32} ¦ trello: {H64} ¦ spotify client secret: {H32}
oauth client secret: {A48} ¦ keycloak client secret: {A32} ¦ snyk: {uuid} ¦ heroku platform: {uuid} ¦ alibaba: {A30} ¦ jenkins api: 11{H32}
opaque session: {B64} ¦ basecamp: {H40}
"""
KEYS = """
key of 32 bytes: {b64:32} ¦ key of 32 bytes, url-safe: {url:32} ¦ key of 32 bytes, hex: {H64} ¦ key of 16 bytes, hex: {H32}
key of 24 bytes: {b64:24} ¦ key of 64 bytes: {b64:64} ¦ key of 64 bytes, hex: {H128} ¦ secret of 50 letters: {A50} ¦ azure storage account: {b64:64}
fernet: {b64:32} ¦ upper-case hex: {X64} ¦ base32 seed: {O32}
"""
GENERATED = """
hex: {H32} ¦ letters and digits: {A24} ¦ url-safe: {B32} ¦ long: {A40} ¦ base64: {b64:24}
"""
WRAPS = (("base64 of 96 bytes", "{b64:96}", 64), ("base64 of 128 bytes", "{b64:128}", 76), ("hex of 64 bytes", "{H128}", 32),
         ("hex of 128 bytes", "{H256}", 64), ("jwt", "{json:alg}.{json:claims}.{B86}", 60),
         ("atlassian, long", "ATATT3xFfGF0{B171}={X8}", 72), ("openai, long", "sk-proj-{B74}T3BlbkFJ{B74}", 60))  # fmt: skip
PASSWORD_NAMES = """db_password smtp_password admin_password ldap_bind_password redis_password root_pw ftp_pass
keystore_password service_password mysql_pwd proxy_password broker_pass backup_password wifi_passphrase mail_pass
login_passwd default_password truststore_pass password passphrase""".split()
TOKEN_NAMES = (
    "api_token access_token auth_token api_key service_token bot_token deploy_token bearer_token".split()
)
PLAIN_NAMES = "client_secret api_secret auth_token secret_access_key api_key shared_secret access_key app_secret".split()
SECRET_NAMES = """secret_key jwt_secret signing_key encryption_key cookie_secret session_secret hmac_secret
master_key app_key csrf_secret webhook_secret token_salt""".split()
CONNECTION_NAMES = "database_url connection_string dsn db_uri broker_url".split()
KEY_NAMES = "aes_key hmac_key device_key master_key session_key root_key signing_key network_key".split()
USERS = "svc_backup deploy mkeller app_rw replicator jbond admin postmaster t.lindqvist etl_user root orders_api".split()
PLACES = """pg-main.norvik.io 10.12.4.31 mail.halden-logistik.de db02.corp.lan broker.tessera.dev 192.168.40.12
ldap01.brightwater.org redis.int.quillon.net ftp.marlowe-print.co.uk edge-3.vantera.cloud""".split()
WORDS = """orbit copper lantern meadow velvet harbor puzzle tundra cactus saddle ribbon walnut glacier marble pepper anchor
violin thunder basket canyon mirror dolphin pumpkin garlic rocket sunset carpet ladder button falcon timber window jungle
oxygen salmon turtle biscuit hammer magnet parrot quartz raven spider tractor umbrella vulcan whisper yogurt zipper acorn
bronze cinder daisy ember fossil grapes hollow island jigsaw kettle lemon mango nectar olive pirate quiver rustic silver
trumpet unicorn vessel winter amber breeze clover drizzle engine feather gravel hazel igloo jasmine koala lilac mosaic""".split()
CHOSEN = """Summer Winter Welcome Monkey Dragon Liverpool Arsenal Charlie Jessica Phoenix Hunter Ranger Matrix Gandalf
Berlin Toronto Sydney Chicago Mustang Porsche Ferrari Pikachu Starwars Batman Chelsea Barcelona Acme Contoso Norvik Intranet
Printer Office Company Secure Admin Oracle Jenkins Grafana Postgres Backup""".split()
FOREIGN = """Sommer Schnecke Fussball Geheim Schatzi Hallo Bienvenue Soleil Doudou Chouchou Marseille Secreto Mariposa
Estrella Futbol Contrasena Flamengo Saudade Amizade Brasil Segredo Juventus Napoli Amore Ciao Polska Kochanie Kasia Haslo
privet parol nastya zenit moskva woaini mima zhongguo sakura himitsu arigato saranghae bimil Galatasaray Istanbul sifre
Feyenoord Welkom Geheim Slavia Heslo Ahoj Sommar Hemligt Kissa Salasana Jelszo Budapest Parola Bucuresti matkhau""".split()
STRONG = "!#%*+-.=?@^_~"


def of(kind: str, count: int, chance: random.Random) -> str:
    return "".join(chance.choices(ALPHABETS.get(kind, ALPHABETS["A"]), k=count))


def _part(name: str, before: str, chance: random.Random) -> str:
    if name == "crc":
        value, out = zlib.crc32(before.rsplit("_", 1)[-1].encode()), ""
        digits = ALPHABETS["D"] + ALPHABETS["A"][:52]
        for _ in range(6):
            value, digit = divmod(value, 62)
            out = digits[digit] + out
        return out
    if name == "uuid":
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    kind, _, rest = name.partition(":")
    if kind == "b64":
        return base64.b64encode(chance.randbytes(int(rest))).decode()
    if kind == "url":
        return base64.urlsafe_b64encode(chance.randbytes(int(rest))).decode().rstrip("=")
    if kind == "json":
        said = {"sub": of("D", 10, chance), "iat": 1700000000 + chance.randrange(10**7)}
        said |= {"scope": "orders:read orders:write", "aud": "depot"} if rest == "claims" else {}
        said = {"alg": "HS256", "typ": "JWT"} if rest == "alg" else said
        text = json.dumps(said, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return of(name[0], int(name[1:]), chance)


def form(text: str, chance: random.Random) -> str:
    out = ""
    for piece in re.split(r"(\{[^}]*\})", text):
        out += _part(piece[1:-1], out, chance) if piece.startswith("{") else piece
    return out


def _rows(table: str) -> list[tuple[str, str]]:
    return [
        (title, text) for row in re.split(r"\n| ¦ ", table.strip()) for title, text in [row.split(": ", 1)]
    ]


def strong(chance: random.Random, plain: bool) -> tuple[str, str]:
    """(title, a password of 12 to 18 symbols); `plain` leaves out symbols that shells and URLs read."""
    count, symbols = chance.randint(12, 18), "-_.!" if plain else STRONG
    letters = [*of("A", count - 5, chance), *of("D", 2, chance), *chance.choices(symbols, k=2)]
    chance.shuffle(letters)
    while letters[-1] == ".":
        chance.shuffle(letters)
    return f"strong password, {'plain' if plain else 'symbols'}", of("F", 1, chance) + "".join(letters)


def chosen(words: list[str], chance: random.Random) -> tuple[str, str]:
    word, year = chance.choice(words), str(chance.randint(1968, 2025))
    other = chance.choice(words)
    made = (
        ("word and year", word + chance.choice("!@#") + year), ("word, year, mark", word + year + chance.choice("!*+")),
        ("leet", word.translate(str.maketrans("aeios", "@31o$")) + year[-2:] + chance.choice("!?#")),
        ("two words", word + other + chance.choice(("1", "7!", "99", "_", "123!")) ), ("digits last", word.lower() + of("D", 4, chance)),
        ("walk on the keyboard", chance.choice(("1qaz", "zaq1", "qwe123", "Qwerty", "asdf")) + chance.choice(("2wsx", "@WSX", "!xsw2", "#edc")) + of("D", 2, chance)),
        ("name and date", word + "_" + f"{chance.randint(1, 28):02d}{chance.randint(1, 12):02d}{year}"),
    )  # fmt: skip
    how, value = chance.choice(made)
    return f"chosen: {how}", value


def passphrase(chance: random.Random, blanks: bool) -> tuple[str, str]:
    words = chance.sample(WORDS, chance.randint(4, 6))
    if blanks:
        return "passphrase with blanks", " ".join(words)
    how = chance.choice(("-", ".", "_", "camel", "-digit"))
    if how == "camel":
        return "passphrase, capitals", "".join(map(str.capitalize, words))
    if how == "-digit":
        return "passphrase with a number", "-".join(words) + "-" + of("D", 2, chance)
    return f"passphrase, {how}", how.join(words)


def _prime(chance: random.Random) -> int:
    while True:
        number = chance.getrandbits(1024) | 3 << 1022 | 1
        if (
            number % 65537 != 1
            and all(number % small for small in range(3, 2000, 2))
            and pow(2, number - 1, number) == 1
        ):
            return number


def _pem(chance: random.Random) -> tuple[str, str]:
    """A private key that is one: its public half fits."""
    kind = chance.choice(("EC PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "RSA PRIVATE KEY"))
    if kind == "OPENSSH PRIVATE KEY":
        key, check = chance.randbytes(32), chance.randbytes(4)
        public = ed25519.Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()
        blob, comment = _ssh(b"ssh-ed25519") + _ssh(public), chance.choice(USERS).encode() + b"@build"
        private = check * 2 + blob + _ssh(key + public) + _ssh(comment)
        private += bytes(range(1, 9 - len(private) % 8)) if len(private) % 8 else b""
        data = b"openssh-key-v1\0" + _ssh(b"none") * 2 + _ssh(b"") + b"\0\0\0\1" + _ssh(blob) + _ssh(private)
        text = base64.b64encode(data).decode()
        body = "\n".join(text[i : i + 70] for i in range(0, len(text), 70))
        return kind.lower(), f"-----BEGIN {kind}-----\n\x01{body}\x02\n-----END {kind}-----"
    if kind.startswith("RSA"):
        p, q = _prime(chance), _prime(chance)
        d, inverse = pow(65537, -1, (p - 1) * (q - 1)), pow(q, -1, p)
        public = rsa.RSAPublicNumbers(65537, p * q)
        key = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), inverse, public).private_key()
    else:
        key = ec.derive_private_key(chance.getrandbits(250) + 1, ec.SECP256R1())
    form_ = PrivateFormat.PKCS8 if kind == "PRIVATE KEY" else PrivateFormat.TraditionalOpenSSL
    lines = key.private_bytes(Encoding.PEM, form_, NoEncryption()).decode().strip().split("\n")
    return kind.lower(), "\n".join([lines[0], "\x01" + "\n".join(lines[1:-1]) + "\x02", lines[-1]])


def _ssh(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


CONNECTIONS = """
postgres: postgres://{u}:{p}@{h}:5432/orders
postgresql, asyncpg: postgresql+asyncpg://{u}:{p}@{h}/billing?ssl=require
mysql: mysql://{u}:{p}@{h}:3306/shop
mysql, pymysql: mysql+pymysql://{u}:{p}@{h}/crm?charset=utf8mb4
mongodb srv: mongodb+srv://{u}:{p}@cluster0.q7xkd.mongodb.net/prod?retryWrites=true
redis: redis://:{p}@{h}:6379/0 ¦ rediss with user: rediss://default:{p}@{h}:6380/1
amqp: amqp://{u}:{p}@{h}:5672/%2Fjobs
smtp: smtp://{u}:{p}@{h}:587 ¦ ftp: ftp://{u}:{p}@{h}/incoming
https of git: https://{u}:{p}@{h}/infra/charts.git
sql server: Server=tcp:{h},1433;Initial Catalog=Sales;User ID={u};Password={p};Encrypt=True;
npgsql: Host={h};Port=5432;Database=ledger;Username={u};Password={p};Maximum Pool Size=20 ¦ mysql connector: server={h};uid={u};pwd={p};database=erp
jdbc sql server: jdbc:sqlserver://{h}:1433;databaseName=hr;user={u};password={p};trustServerCertificate=true
jdbc mysql: jdbc:mysql://{h}:3306/stock?user={u}&password={p}
jdbc oracle thin: jdbc:oracle:thin:{u}/{p}@{h}:1521:XE
libpq: host={h} dbname=metrics user={u} password={p} sslmode=require
go mysql: {u}:{p}@tcp({h}:3306)/accounts?parseTime=true ¦ clickhouse: clickhouse://{u}:{p}@{h}:9000/events
azure storage: DefaultEndpointsProtocol=https;AccountName=norvikprod;AccountKey={k};EndpointSuffix=core.windows.net
azure service bus: Endpoint=sb://tessera-prod.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={K}
"""


def _connection(only: str, chance: random.Random) -> tuple[str, str]:
    title, text = chance.choice([row for row in _rows(CONNECTIONS) if re.search(only, row[0])])
    value = (strong(chance, True), chosen(CHOSEN, chance), passphrase(chance, False))[chance.randrange(3)][1]
    if "://" in text:
        value = re.sub(r"[#@?%*^+=~$]", lambda m: f"%{ord(m[0]):02X}", value)
    filled = {"{u}": chance.choice(USERS), "{h}": chance.choice(PLACES), "{p}": f"\x01{value}\x02",
              "{k}": "\x01" + form("{b64:64}", chance) + "\x02", "{K}": "\x01" + form("{b64:32}", chance) + "\x02"}  # fmt: skip
    for token, meant in filled.items():
        text = text.replace(token, meant)
    return f"connection: {title}", text


def _picked(table: str, only: str, what: str) -> Callable[[random.Random], tuple[str, str]]:
    """A maker of one of `table`'s forms whose title has `only` in it."""

    def made(chance: random.Random) -> tuple[str, str]:
        title, text = chance.choice([row for row in _rows(table) if re.search(only, row[0])])
        return what + title, form(text, chance)

    return made


def _wrapped(only: str, chance: random.Random) -> tuple[str, str]:
    title, text, width = chance.choice([row for row in WRAPS if re.search(only, row[0])])
    value = form(text, chance)
    return f"wrapped {title}", "\n".join(value[i : i + width] for i in range(0, len(value), width))


def _halves(chance: random.Random) -> tuple[str, str]:
    title, value = _picked(PLAIN + KEYS.lstrip(), "", "halves of ")(chance)
    return title, value[: len(value) // 2] + "\n" + value[len(value) // 2 :]


MAKERS: dict[str, tuple[Callable[[random.Random], tuple[str, str]], list[str]]] = {
    "P": (partial(strong, plain=False), PASSWORD_NAMES), "S": (partial(strong, plain=True), PASSWORD_NAMES),
    "r": (_picked(GENERATED, "", "generated password: "), PASSWORD_NAMES),
    "p": (partial(chosen, CHOSEN), PASSWORD_NAMES), "L": (partial(chosen, FOREIGN), PASSWORD_NAMES),
    "W": (partial(passphrase, blanks=False), PASSWORD_NAMES), "V": (partial(passphrase, blanks=True), PASSWORD_NAMES),
    "T": (_picked(TOKENS, "", ""), TOKEN_NAMES), "U": (_picked(PLAIN, "", ""), PLAIN_NAMES),
    "g": (_picked(TOKENS, "^github|^gitlab (per|dep)", ""), TOKEN_NAMES), "a": (_picked(TOKENS, "^azure cl", ""), PLAIN_NAMES),
    "y": (_picked(TOKENS, "^pypi", ""), TOKEN_NAMES), "e": (_picked(TOKENS, "^sentry", ""), TOKEN_NAMES),
    "h": (_picked("slack webhook: https://hooks.slack.com/services/T{C10}/B{C10}/{A24}", "", ""), ["slack_url"]),
    "K": (_picked(KEYS, "", ""), SECRET_NAMES), "k": (_picked(KEYS, "of 32 bytes$", ""), SECRET_NAMES),
    "Y": (_picked(PLAIN, "^aws", ""), ["aws_secret_access_key"]), "M": (_pem, ["private_key", "signing_key", "deploy_key"]),
    "X": (lambda chance: ("openvpn static key", "\n".join(of("H", 32, chance) for _ in range(16))), ["static_key"]),
    "R": (partial(_wrapped, "^base|^hex"), SECRET_NAMES), "H": (partial(_wrapped, "^hex"), SECRET_NAMES),
    "j": (partial(_wrapped, "jwt|long"), TOKEN_NAMES), "D": (_halves, [*PLAIN_NAMES, *SECRET_NAMES]),
    "C": (partial(_connection, ""), CONNECTION_NAMES), "c": (partial(_connection, "sql server$|^npgsql|connector"), CONNECTION_NAMES),
    "d": (partial(_connection, "^postgres$|^libpq|^go|^click"), CONNECTION_NAMES), "s": (partial(_connection, ", "), CONNECTION_NAMES),
}  # fmt: skip


def credential(family: str, chance: random.Random) -> tuple[str, str, str, list[str]]:
    """(family, type, value, names) of a credential; marks where only a part of the value is secret."""
    make, names = MAKERS[family]
    title, value = make(chance)
    vendor = title.split()[0].rstrip(",")
    more = {"T": [f"{vendor}_token"], "U": [f"{vendor}_secret", f"{vendor}_api_key"]}.get(family, [])
    return family, title, value, [*more, *names]
