# ruff: noqa: E501, SIM905
"""Types of credential of the fourth hold-out: public token formats, keys, connection strings, passwords people choose.

Rules were tuned on it on 2026-11-27: it is no hold-out since.

In a form {A36} is 36 letters and digits, {B} base64url, {E} base64, {H} hex, {U} upper case and digits, {L} lower case
and digits, {D} digits, {X} base32, {a} letters, {crc} GitHub's checksum of the letters before it, {sum} a CRC-32 in hex.
"""

import base64
import json
import random
import re
import zlib
from binascii import unhexlify

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SETS = {"D": "0123456789", "H": "0123456789abcdef", "L": "0123456789" + LETTERS, "X": LETTERS.upper() + "234567",
        "U": "0123456789" + LETTERS.upper(), "A": "0123456789" + LETTERS.upper() + LETTERS}  # fmt: skip
SETS |= {"a": LETTERS + LETTERS.upper(), "B": SETS["A"] + "-_", "E": SETS["A"] + "+/"}
TOKENS = """
github classic: ghp_{A30}{crc}
github app: ghs_{A30}{crc}
github fine-grained: github_pat_{A22}_{A59}
gitlab personal: glpat-{B20}
gitlab runner: glrt-{B20}
npm: npm_{A30}{crc}
pypi: pypi-AgEIcHlwaS5vcmc{B140}
rubygems: rubygems_{H48}
docker hub: dckr_pat_{B27}
slack bot: xoxb-{D12}-{D13}-{A24}
slack app: xapp-1-A{U10}-{D13}-{H64}
slack webhook: https://hooks.slack.com/services/T{U8}/B{U10}/{A24}
discord bot: MT{A24}.G{A5}.{B38}
telegram bot: {D10}:AA{B33}
stripe live: sk_live_{A24}
stripe restricted: rk_live_{A99}
sendgrid: SG.{B22}.{B43}
brevo: xkeysib-{H64}-{A16}
mailgun: key-{H32}
twilio: SK{H32}
google api: AIza{B35}
google oauth secret: GOCSPX-{B28}
openai project: sk-proj-{B74}T3BlbkFJ{B74}
anthropic: sk-ant-api03-{B93}AA
groq: gsk_{A52}
hugging face: hf_{a34}
replicate: r8_{A37}
digitalocean: dop_v1_{H64}
heroku: HRKU-AA{B58}
databricks: dapi{H32}
hashicorp vault: hvs.CAES{B91}
terraform cloud: {A14}.atlasv1.{B67}
pulumi: pul-{H40}
shopify: shpat_{H32}
square: EAAAE{B59}
atlassian: ATATT3xFfGF0{B172}={sum}
linear: lin_api_{A40}
notion: ntn_{D11}{A35}
figma: figd_{B40}
postman: PMAK-{H24}-{H34}
grafana service account: glsa_{A32}_{sum}
new relic: NRAK-{U27}
sentry: sntryu_{H64}
airtable: pat{A14}.{H64}
supabase: sbp_{H40}
tailscale: tskey-auth-k{A11}CNTRL-{A32}
gitlab deploy: gldt-{B20}
nvidia: nvapi-{B64}
doppler: dp.pt.{A43}
planetscale: pscale_tkn_{B43}
jwt: {jwt}
"""
KEYS = """
hex key of 16 bytes: {H32}: api_key secret_key app_secret
hex key of 32 bytes: {H64}: encryption_key signing_secret session_secret
hex key of 64 bytes: {H128}: secret_key_base master_key
base64 key: {E43}=: cookie_secret encryption_key shared_access_key
azure storage key: {E86}==: account_key storage_key azure_storage_key
aws secret: {E40}: aws_secret_access_key secret_access_key
azure client secret: {A3}8Q~{B34}: client_secret azure_client_secret
client secret: {A32}: client_secret oauth_client_secret consumer_secret
client secret uuid: {H8}-{H4}-4{H3}-a{H3}-{H12}: client_secret api_token
jenkins api token: 11{H32}: jenkins_token api_token
datadog: {H40}: dd_app_key datadog_app_key
fernet: {B43}=: fernet_key encryption_key
webhook secret: {L28}: webhook_secret signing_key
long opaque token: {B86}: refresh_token access_token auth_token
"""
CONNECTIONS = """
postgres url: postgresql://{u}:{v}@{h}:5432/shop
mysql url: mysql+pymysql://{u}:{v}@{h}/crm
mongodb url: mongodb+srv://{u}:{v}@{h}/data?retryWrites=true
redis url: redis://:{v}@{h}:6379/0
amqp url: amqp://{u}:{v}@{h}:5672/jobs
smtp url: smtp://{u}:{v}@{h}:587
https with password: https://{u}:{v}@{h}/team/repo.git
jdbc with parameters: jdbc:postgresql://{h}/shop?user={u}&password={v}
ado.net: Server={h};Database=Shop;User Id={u};Password={v};Encrypt=True
odbc: Driver=PostgreSQL;Server={h};Uid={u};Pwd={v};
libpq: host={h} port=5432 user={u} password={v} dbname=shop
azure storage: DefaultEndpointsProtocol=https;AccountName={u};AccountKey={v};EndpointSuffix=core.windows.net
azure service bus: Endpoint=sb://{h}/;SharedAccessKeyName=Root;SharedAccessKey={v}
jdbc sql server: jdbc:sqlserver://{h}:1433;databaseName=shop;user={u};password={v};
"""
KEY_FORMS = {"azure storage": "{E86}==", "azure service bus": "{E43}="}
PASSWORD_NAMES = (
    "password db_password database_password admin_password smtp_password mail_passwd root_password redis_password "
    "ldap_bind_password ftp_passwd keystore_password sudo_password vpn_password mongo_pwd login_password "
    "service_account_password proxy_password grafana_admin_password master_password pg_pass user_pw ssh_passphrase "
    "backup_passphrase private_key_password truststore_password rabbitmq_pass registry_password"
).split()
DSN_NAMES = "database_url dsn connection_string primary_connection broker_url store_uri".split()
KEY_NAMES = "private_key signing_key encryption_key secret_key wallet_secret master_secret aes_key".split()
PEM_NAMES = "private_key tls_key deploy_key signing_key".split()
NEUTRAL_NAMES = "value handle setting_a item ref param data_source primary client_info".split()
USERS = "ada svc_etl marta deploy jkowalski backoffice reporting oleg app_rw chen".split()
PLACES = "db3.harborlane.net mx1.tidewerk.io 10.20.4.17 reports.oakmoor.dev cache-2.internal sql01.lumenfab.net".split()
WORDS = (
    "walnut ferry copper magnet lantern gravel orchid saddle thunder pickle marble canyon drizzle rocket velvet pepper "
    "anchor tunnel pillow meadow biscuit falcon hammer violin glacier pumpkin kettle dolphin cobweb mustard ladder "
    "trumpet cactus blanket harvest mirror penguin whistle turnip compass bridge candle forest goblin igloo jacket "
    "kitten lemon monkey nectar oyster parade quiver raisin sunset tomato umbrella walrus yogurt zipper"
).split()
NAMES = "Maria Lukas Sophie Bella Max Rocky Charlie Daniela Anton Jessica Nico Valentina Simba Olivia Tommy".split()
THINGS = (
    "summer Winter dragon Liverpool juventus Sommer welcome monkey Football sunshine Corvette berlin".split()
)
WALKS = "qwer1234 1qaz2wsx asdfgh12 zaq12wsx qwertz77 q1w2e3r4 poiuy098".split()


def of(kind: str, count: int, chance: random.Random) -> str:
    return "".join(chance.choice(SETS[kind]) for _ in range(count))


def form(text: str, chance: random.Random) -> str:
    """A value of a form of TOKENS or KEYS."""
    out = ""
    for plain, kind, count in re.findall(r"([^{]+)|\{([A-Za-z]+)(\d*)\}", text):
        if kind == "crc":
            number, sum_ = zlib.crc32(out.split("_")[1].encode()), ""
            for _ in range(6):
                number, at = divmod(number, 62)
                sum_ = SETS["A"][at] + sum_
            out += sum_
        elif kind == "jwt":
            body = json.dumps({"sub": of("D", 10, chance), "iat": 1700000000 + chance.randrange(9**8)})
            parts = ('{"alg":"HS256","typ":"JWT"}', body)
            out += ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
            out += "." + of("B", 43, chance)
        elif kind == "sum":
            out += f"{zlib.crc32(out.rstrip('_=').encode()):08x}"
        else:
            out += plain or of(kind, int(count), chance)
    return out


def strong(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A password of a generator: (type, value) of 12 to 18 characters."""
    symbols, size = "-_.!+" if safe else "!@#%*+-_=?^~.", chance.randint(12, 18)
    kind = chance.choice(["with symbols", "with symbols", "letters and digits", "in groups"])
    if kind == "in groups":
        return f"strong password {kind}", "-".join(of("A", 6, chance) for _ in range(3))[:size]
    value = list(of("A", size, chance))
    for at in chance.sample(range(1, size), chance.randint(1, 3) if kind == "with symbols" else 0):
        value[at] = chance.choice(symbols)
    return f"strong password {kind}", "".join(value)


def human(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A password that a person chose: (type, value)."""
    mark = chance.choice("!._-" if safe else "!@#*?._")
    year, word, name = str(chance.randint(1961, 2025)), chance.choice(THINGS), chance.choice(NAMES)
    kinds = {
        "word and year": word + year + mark, "name and digits": name + of("D", 3, chance) + mark,
        "two names": f"{name}{mark}{chance.choice(NAMES)}{of('D', 2, chance)}",
        "leet": chance.choice(WORDS).capitalize().translate(str.maketrans("aeio", "4310")) + of("D", 2, chance) + mark,
        "keyboard walk": chance.choice(WALKS) + mark + of("L", 2, chance),
        "first letters": form("{a5}", chance) + mark + year,
    }  # fmt: skip
    kind = chance.choice(sorted(kinds))
    return f"human password, {kind}", kinds[kind]


def phrase(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A passphrase of three to six words: (type, value)."""
    words = [chance.choice(WORDS) for _ in range(chance.randint(3, 6))]
    kind = chance.choice(
        ["hyphens", "hyphens", "dots", "capitals", "digits", "hyphens" if safe else "blanks"]
    )
    joined = {"hyphens": "-".join(words), "dots": ".".join(words), "blanks": " ".join(words),
              "capitals": "".join(word.capitalize() for word in words),
              "digits": "-".join(words[:4]) + of("D", 2, chance)}  # fmt: skip
    return f"passphrase with {kind}", joined[kind]


def pem(chance: random.Random) -> tuple[str, str]:
    """A private key as PEM: (type, text with marks around the lines of its body)."""
    kind = chance.choice(["ed25519", "x25519", "rsa"])
    if kind == "rsa":
        data, title = unhexlify("308204a40201000282010100") + chance.randbytes(1180), "RSA PRIVATE KEY"
    else:
        oid = "2b6570" if kind == "ed25519" else "2b656e"
        data, title = unhexlify(f"302e02010030050603{oid}04220420") + chance.randbytes(32), "PRIVATE KEY"
    text = base64.b64encode(data).decode()
    body = "\n".join(text[i : i + 64] for i in range(0, len(text), 64))
    return f"pem {kind}", f"-----BEGIN {title}-----\n\x01{body}\x02\n-----END {title}-----"


def listed(table: str) -> list[list[str]]:
    return [line.split(": ", 2 if table is KEYS else 1) for line in table.strip().splitlines()]


def credential(family: str, chance: random.Random) -> tuple[str, str, str, list[str]]:
    """(family, type, text with \\x01 and \\x02 around the value where it is but a part, its names)."""
    safe = family.islower()
    if (kind := family.upper()) == "P":
        kind = chance.choice("SSSHW")
    if kind in "SHW":
        title, value = {"S": strong, "H": human, "W": phrase}[kind](chance, safe)
        return kind, title, value, [name for name in PASSWORD_NAMES if kind == "W" or "phrase" not in name]
    if kind == "T":
        title, text = chance.choice(listed(TOKENS))
        names = [f"{title.split()[0]}_{noun}" for noun in ("token", "api_key", "secret", "key")]
        return kind, title, form(text, chance), chance.choice([names, names, NEUTRAL_NAMES])
    if kind in "KA":
        title, text, names = chance.choice(
            [row for row in listed(KEYS) if kind == "K" or row[0] == "aws secret"]
        )
        return "K", title, form(text, chance), names.split()
    if kind == "C":
        title, text = chance.choice(listed(CONNECTIONS))
        inner = form(KEY_FORMS[title], chance) if title in KEY_FORMS else credential("p", chance)[2]
        for token, filled in (
            ("{v}", f"\x01{inner}\x02"),
            ("{u}", chance.choice(USERS)),
            ("{h}", chance.choice(PLACES)),
        ):
            text = text.replace(token, filled)
        return kind, title, text, DSN_NAMES
    return kind, *pem(chance), PEM_NAMES
