# ruff: noqa: E501, SIM905
"""Types of credential of the fifth hold-out: other vendors' tokens, keys, connection strings and passwords.

NOT TO BE READ by anyone who writes or changes a rule of hush (`outside_blind.py`).

Forms are written as in `outside_forms.py`; {Z51} is base58, {whole32} and {url32} base64 of so many bytes, {HU32} upper-case hex, {k8s} the token
of a service account, {json:NAME} base64url of a small JSON object that has a key of that name.
"""

import base64
import json
import random
import re
import struct
from binascii import unhexlify

from outside_forms import form as plain_form
from outside_forms import of

__all__ = ["KEY_NAMES", "PLACES", "USERS", "credential", "of", "strong"]
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
TOKENS = """
github oauth: gho_{A30}{crc}
github user of app: ghu_{A30}{crc}
github refresh: ghr_{A70}{crc}
gitlab trigger: glptt-{H40}
gitlab agent: glagent-{B50}
gitlab ci job: glcbt-64_{B20}
bitbucket app password: ATBB{A24}{sum}
aws bedrock: ABSK{E108}==
aws session: IQoJb3JpZ2luX2VjE{E180}==
google oauth access: ya29.a0{B160}
google refresh: 1//0{B100}
recaptcha secret: 6L{B6}AAAAA{B27}
facebook page: EAA{A160}
twitter bearer: AAAAAAAAAAAAAAAAAAAAA{A24}%2B{A20}%3D{A46}
slack user: xoxp-{D12}-{D12}-{D13}-{H32}
slack rotating: xoxe.xoxp-1-{A160}
discord webhook: https://discord.com/api/webhooks/{D18}/{B68}
teams webhook: https://contoso.webhook.office.com/webhookb2/{H8}-{H4}-4{H3}-a{H3}-{H12}@{H8}-{H4}-4{H3}-b{H3}-{H12}/IncomingWebhook/{H32}/{H8}-{H4}-4{H3}-9{H3}-{H12}
stripe test: sk_test_51{A97}
stripe webhook: whsec_{A32}
paystack: sk_live_{H40}
flutterwave: FLWSECK-{H32}-X
easypost: EZAK{H32}{A22}
shippo: shippo_live_{H40}
duffel: duffel_live_{B43}
mailchimp: {H32}-us{D2}
mailersend: mlsn.{H64}
brevo smtp: xsmtpsib-{H64}-{A16}
resend: re_{A8}_{A24}
mapbox secret: sk.{json:u}.{B22}
cloudflare origin ca: v1.0-{H24}-{H146}
fly.io: fo1_{B43}
render: rnd_{A28}
netlify: nfp_{A36}
vercel blob: vercel_blob_rw_{A16}_{A30}
ngrok: 2{A26}_{A21}
sentry organisation: sntrys_{json:iat}_{E43}
dynatrace: dt0c01.{X24}.{X64}
okta: 00{B40}
launchdarkly sdk: sdk-{H8}-{H4}-4{H3}-a{H3}-{H12}
honeycomb ingest: hcaik_01{L56}
buildkite: bkua_{H40}
circleci: CCIPAT_{A22}_{H40}
sonarqube: squ_{H40}
artifactory: AKCp{A69}
azure devops: {A76}AZDO{A4}
onepassword service account: ops_{json:signInAddress}{B180}
vault of old: s.{A24}
doppler service: dp.st.prd.{A43}
age: AGE-SECRET-KEY-1{U58}
clojars: CLOJARS_{H60}
crates: cio{A32}
nuget: oy2{L43}
prefect: pnu_{A36}
readme: rdme_{L70}
contentful: CFPAT-{B43}
typeform: tfp_{A44}_{A14}
asana: 1/{D16}:{H32}
pinecone: pcsk_{A6}_{A63}
openrouter: sk-or-v1-{H64}
perplexity: pplx-{A48}
xai: xai-{A80}
deepseek: sk-{H32}
elevenlabs: sk_{H48}
langsmith: lsv2_pt_{H32}_{H10}
adafruit: aio_{A28}
yandex: AQVN{B35}
kubernetes service account: {k8s}
grafana cloud: glc_{json:o}{A40}
"""
KEYS = """
hex key of 20 bytes: {H40}: api_secret app_key auth_key
hex key of 24 bytes: {H48}: secret_token webhook_key
upper hex key of 16 bytes: {HU32}: aes_key license_secret
base64 key of 16 bytes: {whole16}: aes_key crypto_key data_key
base64 key of 24 bytes: {E32}: app_secret jwt_secret_key
base64 key of 64 bytes: {whole64}: jwt_secret jwt_signing_key hmac_secret
base64url key: {url32}: hmac_key csrf_secret jwt_secret
laravel key: base64:{whole32}: app_key
django secret key: django-insecure-{B50}: secret_key django_secret_key
twilio auth token: {H32}: twilio_auth_token auth_token
cloudflare api token: {B40}: cloudflare_api_token cf_api_token
mistral: {A32}: mistral_api_key llm_api_key
wandb: {H40}: wandb_api_key
kaggle: {H32}: kaggle_key
postmark: {H8}-{H4}-4{H3}-8{H3}-{H12}: postmark_server_token server_token
snyk: {H8}-{H4}-4{H3}-9{H3}-{H12}: snyk_token
razorpay secret: {A24}: razorpay_key_secret payment_key_secret
alibaba secret: {A30}: access_key_secret aliyun_access_key_secret
aws secret of old: {E40}: aws_secret_key s3_secret_key secret_access_key
ethereum key: 0x{H64}: deployer_private_key wallet_private_key
solana key: {Z88}: payer_private_key wallet_secret_key
bitcoin wif: K{Z51}: wallet_wif private_key_wif
totp seed: {X32}: totp_secret otp_seed mfa_secret
letters and digits of 20: {A20}: api_secret access_secret shared_secret
letters and digits of 48: {A48}: bot_secret session_key internal_api_key
"""
CONNECTIONS = """
cockroach url: postgresql://{u}:{v}@{h}:26257/shop?sslmode=verify-full
sqlalchemy sql server: mssql+pyodbc://{u}:{v}@{h}/crm?driver=ODBC+Driver+18+for+SQL+Server
jdbc oracle thin: jdbc:oracle:thin:{u}/{v}@//{h}:1521/ORCLPDB
oracle easy connect: {u}/{v}@{h}:1521/ORCLPDB
clickhouse url: clickhouse://{u}:{v}@{h}:9440/default?secure=true
snowflake url: snowflake://{u}:{v}@xy12345.eu-central-1/CRM/PUBLIC?warehouse=WH
nats url: nats://{u}:{v}@{h}:4222
sftp url: sftp://{u}:{v}@{h}:22/outgoing
mqtt url: mqtts://{u}:{v}@{h}:8883
elasticsearch url: https://{u}:{v}@{h}:9200
rediss url: rediss://default:{v}@{h}:6380/1
smtps url: smtps://{u}%40example.org:{v}@{h}:465
couchdb url: http://{u}:{v}@{h}:5984/orders
rtsp url: rtsp://{u}:{v}@{h}:554/stream1
amqps url: amqps://{u}:{v}@{h}/tenant
npgsql: Host={h};Port=5432;Username={u};Password={v};Database=shop
mysql connector: server={h};uid={u};pwd={v};database=shop;SslMode=Required
jdbc mysql: jdbc:mysql://{h}:3306/crm?user={u}&password={v}&useSSL=true
jdbc db2: jdbc:db2://{h}:50000/SHOP:user={u};password={v};
cosmos db: AccountEndpoint=https://{h}:443/;AccountKey={v};
iot hub: HostName={h};SharedAccessKeyName=iothubowner;SharedAccessKey={v}
app configuration: Endpoint=https://{h};Id=k1-l0-s0:Zx9;Secret={v}
"""
KEY_FORMS = {"cosmos db": "{whole64}", "iot hub": "{whole32}", "app configuration": "{whole32}"}
FORMS = {
    "A": ("aws secret", "{E40}", "aws_secret_access_key secret_access_key"),
    "E": ("ses smtp password", "B{E43}", "smtp_password"),
    "J": ("base64url of 32 bytes", "{url32}", "private_key"), "G": ("base64 of 32 bytes", "{whole32}", "private_key"),
    "X": ("hex of 32 bytes", "{H64}", "signing_key aes_key"), "O": ("base32 seed", "{X32}", "totp_secret"),
    "Q": ("putty private line", "{putty}", "private_key"),
}  # fmt: skip
PASSWORD_NAMES = (
    "password passwd user_password app_password db_pass dbPassword sql_password postgres_password mysql_root_password "
    "mail_password imap_password sender_password wifi_password mqtt_password ldap_password bind_password "
    "admin_pass root_pw default_password initial_password sftp_password ssh_password jenkins_password "
    "keystore_pass key_password store_password elastic_password rabbit_password redis_auth_password "
    "vault_password sap_password oracle_pwd winrm_password portal_pwd bmc_password camera_password "
    "disk_passphrase gpg_passphrase signing_passphrase wallet_passphrase key_passphrase"
).split()
PASSWORD_NAMES = [re.sub("([A-Z])", r"_\1", name).lower() for name in PASSWORD_NAMES]
DSN_NAMES = "db_url dsn sqlalchemy_url conn_str datasource_url cache_url amqp_uri default_connection".split()
KEY_NAMES = "app_key device_key session_key cipher_key root_key hmac_key mesh_key master_key".split()
PEM_NAMES = "private_key ssh_key jwt_private_key server_key client_key signing_key".split()
NEUTRAL_NAMES = "config_item first data_field entry_two param_b source_id content default_arg extra".split()
USERS = "root mwagner etl_user priya deployer n.okafor webapp batch ines tomasz readonly sysop".split()
PLACES = "pg-1.alderbrook.net mail.fennwick.org 192.168.40.11 ci.northquay.io broker.saltmarsh.dev db.kestrel.internal nas.local".split()
WORDS = (
    "abacus barrel candor dagger ember fabric garnet hamlet icicle jigsaw kernel lagoon magpie napkin oatmeal paddle "
    "quartz ribbon sandal tadpole usher vanilla wafer yonder zenith acorn beacon cinder dimple easel fiddle gondola "
    "hazel iguana juniper koala lilac mango nutmeg olive parsley quilt rhubarb spruce thistle urchin vortex willow "
    "banjo clover dragonfly eclipse flannel gazebo hornet insect jasmine kayak lobster mosaic noodle"
).split()
SEEDS = (
    "abandon ability absorb acid bacon balance bamboo cabbage cactus camera dad dance danger eager early earth fabric "
    "fade faith gadget gain galaxy habit hair half ice icon idea jacket jaguar jar kangaroo keen keep lab label labor "
    "machine mad magic naive name napkin oak obey object pact paddle page quality quantum quarter rabbit raccoon race"
).split()
NAMES = "Emma Mateo Chiara Pavel Noah Fatima Bruno Ingrid Kwame Yuki Lena Oscar Diego Amelie Ravi".split()
THINGS = "Autumn secret Arsenal coffee Hawaii pokemon Mercedes Paris freedom princess cookie Yankees admin Letmein".split()
FIRMS = "Alderbrook Fennwick Northquay Kestrel saltmarsh Contoso acme".split()
WALKS = "qazwsx12 1q2w3e4r asdf4321 !QAZ2wsx q2w3e4r5 zxcvbn09 147852 yxcvbnm8".split()
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"


def form(text: str, chance: random.Random) -> str:
    """A value of a form of TOKENS, KEYS or FORMS."""

    def filled(match: re.Match) -> str:
        kind, size = match[1], int(match[2] or 0)
        if kind == "HU":
            return of("H", size, chance).upper()
        return "".join(chance.choice(BASE58) for _ in range(size))

    def whole(match: re.Match) -> str:
        data = chance.randbytes(int(match[2]))
        return (
            base64.b64encode(data).decode()
            if match[1] == "whole"
            else base64.urlsafe_b64encode(data).decode().rstrip("=")
        )

    def encoded(data: dict) -> str:
        return base64.urlsafe_b64encode(json.dumps(data, separators=(",", ":")).encode()).decode().rstrip("=")

    if text == "{k8s}":
        said = {"iss": "kubernetes/serviceaccount", "sub": f"system:serviceaccount:ci:{chance.choice(USERS)}"}
        parts = encoded({"alg": "RS256", "kid": of("B", 43, chance)}), encoded(said), of("B", 342, chance)
        return ".".join(parts)
    if text == "{putty}":
        return base64.b64encode(struct.pack(">I", 32) + chance.randbytes(32)).decode()
    if text.startswith("AGE-"):
        return "AGE-SECRET-KEY-1" + "".join(chance.choice(BECH32) for _ in range(58))
    text = re.sub(r"\{(HU|Z)(\d+)\}", filled, text)
    text = re.sub(r"\{(whole|url)(\d+)\}", whole, text)
    text = re.sub(
        r"\{json:(\w+)\}", lambda m: encoded({m[1]: chance.choice(USERS), "a": of("L", 25, chance)}), text
    )
    return plain_form(text, chance)


def strong(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A password that a machine made: (type, value)."""
    symbols, size = "-_.!+" if safe else "!@#%*+-_=?^~.", chance.randint(10, 24)
    kind = chance.choice(
        ["of symbols", "of symbols", "of letters", "of apple", "of hex", "of base64", "to speak"]
    )
    if kind == "of apple":
        groups = [of("L", 6, chance), of("L", 6, chance), of("a", 5, chance) + of("D", 1, chance)]
        return f"strong password {kind}", "-".join(groups)
    if kind == "of hex":
        return f"strong password {kind}", of("H", chance.choice((16, 20, 24)), chance)
    if kind == "of base64":
        return f"strong password {kind}", of("A" if safe else "E", chance.choice((16, 20, 24)), chance)
    if kind == "to speak":
        parts = ["".join(chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in "abc") for _ in "ab"]
        middle = of("D", 2, chance) + chance.choice(symbols)
        return f"strong password {kind}", parts[0].capitalize() + middle + parts[1]
    value = list(of("A", size, chance))
    for at in chance.sample(range(1, size), chance.randint(2, 4) if kind == "of symbols" else 0):
        value[at] = chance.choice(symbols)
    return f"strong password {kind}", "".join(value)


def human(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A password that a person chose: (type, value)."""
    mark = chance.choice("!_-" if safe else "!@#*?")
    year, name, thing = str(chance.randint(1958, 2026)), chance.choice(NAMES), chance.choice(THINGS)
    word = chance.choice(WORDS)
    leet = str.maketrans("aeios", "43105" if safe else "@3105")
    kinds = {
        "firm and year": chance.choice(FIRMS) + mark + year, "thing and digits": thing + of("D", 3, chance),
        "season and short year": chance.choice("Winter Fall Spring herbst verano".split()) + year[2:] + mark,
        "name and birthday": name + f"{chance.randint(1, 28):02d}{chance.randint(1, 12):02d}" + year[2:],
        "leet": word.capitalize().translate(leet) + mark + of("D", 2, chance),
        "keyboard walk": chance.choice(WALKS[:3] + WALKS[4:] if safe else WALKS) + mark,
        "love": f"i{chance.choice(['love', 'L0ve', 'heart'])}{name}{of('D', 2, chance)}",
        "word twice": word + word.capitalize() + of("D", 1, chance),
        "marks at both ends": mark + thing + year[2:] + mark,
    }  # fmt: skip
    kind = chance.choice(sorted(kinds))
    return f"human password, {kind}", kinds[kind]


def phrase(chance: random.Random, safe: bool) -> tuple[str, str]:
    """A passphrase: (type, value)."""
    words = [chance.choice(WORDS) for _ in range(chance.randint(3, 6))]
    kinds = {
        "underscores": "_".join(words), "hyphens and capitals": "-".join(word.capitalize() for word in words),
        "digits between": "".join(word + of("D", 1, chance) for word in words[:4]),
        "a number at the end": ".".join(words[:3]) + "." + of("D", 4, chance), "nothing between": "".join(words[:4]),
    } | ({} if safe else {"blanks": " ".join(words), "seed words": " ".join(chance.choice(SEEDS) for _ in range(12))})  # fmt: skip
    kind = chance.choice(sorted(kinds))
    return f"passphrase, {kind}", kinds[kind]


def pem(chance: random.Random) -> tuple[str, str]:
    """A private key in armour: (type, text with marks around the lines of its body)."""
    kind = chance.choice(["ec", "openssh", "pkcs8 rsa", "pkcs8 ec"])
    width = 70 if kind == "openssh" else 64
    if kind == "ec":
        data = unhexlify("30770201010420") + chance.randbytes(32)
        data += unhexlify("a00a06082a8648ce3d030107a14403420004") + chance.randbytes(64)
        title = "EC PRIVATE KEY"
    elif kind == "openssh":
        data, title = _openssh(chance), "OPENSSH PRIVATE KEY"
    elif kind == "pkcs8 rsa":
        head = "308204be020100300d06092a864886f70d0101010500048204a8308204a40201000282010100"
        data, title = unhexlify(head) + chance.randbytes(1180), "PRIVATE KEY"
    else:
        head = "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420"
        data = unhexlify(head) + chance.randbytes(32) + unhexlify("a14403420004") + chance.randbytes(64)
        title = "PRIVATE KEY"
    text = base64.b64encode(data).decode()
    body = "\n".join(text[i : i + width] for i in range(0, len(text), width))
    return f"pem {kind}", f"-----BEGIN {title}-----\n\x01{body}\x02\n-----END {title}-----"


def _openssh(chance: random.Random) -> bytes:
    def string(data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + data

    public, seed, check = chance.randbytes(32), chance.randbytes(32), chance.randbytes(4)
    whole = string(b"ssh-ed25519") + string(public)
    private = check + check + whole + string(seed + public) + string(b"ops@ci")
    private += bytes(range(1, 1 + -len(private) % 8))
    return (
        b"openssh-key-v1\0"
        + string(b"none") * 2
        + string(b"")
        + struct.pack(">I", 1)
        + string(whole)
        + string(private)
    )


def credential(family: str, chance: random.Random) -> tuple[str, str, str, list[str]]:
    """(family, type, text with \\x01 and \\x02 around the value where it is but a part, its names)."""
    safe = family.islower()
    if (kind := family.upper()) == "P":
        kind = chance.choice("SSSHW")
    if kind in "SHW":
        title, value = {"S": strong, "H": human, "W": phrase}[kind](chance, safe)
        return kind, title, value, [name for name in PASSWORD_NAMES if kind == "W" or "phrase" not in name]
    if kind == "T":
        title, text = chance.choice([line.split(": ", 1) for line in TOKENS.strip().splitlines()])
        names = [
            f"{title.split()[0].replace('.', '')}_{noun}"
            for noun in ("token", "api_key", "secret", "auth_token")
        ]
        return kind, title, form(text, chance), chance.choice([names, names, NEUTRAL_NAMES])
    if kind == "K":
        title, text, names = chance.choice([re.split(": ", line) for line in KEYS.strip().splitlines()])
        return kind, title, form(text, chance), names.split()
    if kind in FORMS:
        title, text, names = FORMS[kind]
        return "K", title, form(text, chance), names.split()
    if kind == "C":
        title, text = chance.choice([line.split(": ", 1) for line in CONNECTIONS.strip().splitlines()])
        inner = form(KEY_FORMS[title], chance) if title in KEY_FORMS else credential("p", chance)[2]
        marks = {"{v}": f"\x01{inner}\x02", "{u}": chance.choice(USERS), "{h}": chance.choice(PLACES)}
        for token, meant in marks.items():
            text = text.replace(token, meant)
        return kind, title, text, DSN_NAMES
    return kind, *pem(chance), PEM_NAMES
