"""Credentials made at random in the formats that their issuers publish, for `credential_recall.py`.

`FORMATS` states them all. None was ever issued by anyone; they come out of a seeded generator, with the checksums
that the issuers define. Where only an example is published, the part after the prefix is drawn like the example.

>>> value = FORMATS["npm"].make(random.Random(0))
>>> value[:4], len(value)
('npm_', 40)
"""

# ruff: noqa: E501  (FORMATS is a table: one row a type)

from __future__ import annotations

import base64
import json
import random
import string
import textwrap
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
LETTERS = UPPER + LOWER
ALNUM = DIGITS + LETTERS
URLSAFE = ALNUM + "-_"
HEX = DIGITS + "abcdef"
BASE32 = UPPER + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
DJANGO = LOWER + DIGITS + "!@#$%^&*(-_=+)"
HUMAN = ALNUM + "!@#$%^&*"

Make = Callable[[random.Random], str]


@dataclass(frozen=True)
class Format:
    """One type of credential.

    form: as published, where: by whom. names: usual variables, in upper snake case. make: a whole line's value.
    secret: the part of it that must be found (all of it by default). bearer: whether it is sent as a bearer token.
    """

    form: str
    where: str
    names: str
    make: Make
    secret: Callable[[str], str] = lambda value: value
    bearer: bool = False


def draw(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def pattern(form: str, **alphabets: str) -> Make:
    """A maker out of "prefix{alphabet:length}…": {alnum:36} draws 36 characters, {alnum:36-40} 36 to 40."""
    known = {
        "alnum": ALNUM, "url": URLSAFE, "hex": HEX, "letters": LETTERS, "digits": DIGITS, "base64": ALNUM + "+/",
        "lower": LOWER + DIGITS, "upper": UPPER + DIGITS, "base32": BASE32, **alphabets,
    }  # fmt: skip

    def make(rng: random.Random) -> str:
        text = ""
        for literal, field, length, _ in string.Formatter().parse(form):
            text += literal
            if field:
                low, _, high = length.partition("-")
                text += draw(rng, known[field], rng.randint(int(low), int(high or low)))
        return text

    return make


def crc32_base62(prefix: str, body: int) -> Make:
    """GitHub's and npm's tokens: six base-62 digits of the body's CRC-32 close them."""

    def make(rng: random.Random) -> str:
        text = draw(rng, ALNUM, body)
        crc, digits = zlib.crc32(text.encode()), ""
        for _ in range(6):
            crc, digit = divmod(crc, 62)
            digits = (DIGITS + UPPER + LOWER)[digit] + digits
        return prefix + text + digits

    return make


def crc32_hex(prefix: str, body: Make, joint: str) -> Make:
    def make(rng: random.Random) -> str:
        text = prefix + body(rng)
        return f"{text}{joint}{zlib.crc32(text.encode()):08x}"

    return make


def one_of(*makers: Make) -> Make:
    return lambda rng: rng.choice(makers)(rng)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwt(rng: random.Random) -> str:
    claims = {"sub": str(rng.randrange(10**6)), "iat": rng.randrange(10**9, 2 * 10**9)}
    parts = [
        json.dumps({"alg": "HS256", "typ": "JWT"}).encode(),
        json.dumps(claims).encode(),
        rng.randbytes(32),
    ]
    return ".".join(map(encoded, parts))


def pypi(rng: random.Random) -> str:
    """A version 2 macaroon with the location pypi.org, an identifier and one caveat."""
    identifier, caveat = str(uuid.UUID(bytes=rng.randbytes(16), version=4)), b'[2, "permissions"]'
    macaroon = (
        b"\x02\x01\x08pypi.org\x02\x24" + identifier.encode() + b"\x00\x02" + bytes([len(caveat)]) + caveat
    )
    return "pypi-" + encoded(macaroon + b"\x00\x00\x06\x20" + rng.randbytes(32))


def discord(rng: random.Random) -> str:
    return f"{encoded(draw(rng, '123456789', 18).encode())}.{draw(rng, URLSAFE, 6)}.{draw(rng, URLSAFE, 38)}"


def base64_of(size: int) -> Make:
    return lambda rng: base64.b64encode(rng.randbytes(size)).decode()


def pem(label: str, head: bytes, size: int, width: int = 64) -> Make:
    """A block of RFC 7468: the fixed first bytes of such keys, then random ones."""

    def make(rng: random.Random) -> str:
        body = base64.b64encode(head + rng.randbytes(size - len(head))).decode()
        return "\n".join([f"-----BEGIN {label}-----", *textwrap.wrap(body, width), f"-----END {label}-----"])

    return make


def key_body(value: str) -> str:
    """The lines between the armour."""
    lines = value.splitlines()
    return "\n".join(line for line in lines if "-----" not in line)


def service_account(rng: random.Random) -> str:
    key = pem(
        "PRIVATE KEY",
        b"\x30\x82\x04\xbd\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01",
        1217,
    )
    account = {
        "type": "service_account",
        "project_id": "acme-prod",
        "private_key_id": draw(rng, HEX, 40),
        "private_key": key(rng) + "\n",
        "client_email": "deploy@acme-prod.iam.gserviceaccount.com",
        "client_id": draw(rng, DIGITS, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps(account)


def account_key(value: str) -> str:
    """service_account's private key as it stands in its JSON, without the armour."""
    return value.split("-----BEGIN PRIVATE KEY-----\\n")[1].split("\\n-----END")[0]


def between(before: str, after: str) -> Callable[[str], str]:
    return lambda value: value.split(before, 1)[1].split(after)[0]


_PASSWORD = between(":", "@")
RSA, EC = b"\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01\x00", b"\x30\x77\x02\x01\x01\x04\x20"
PKCS8_EC = b"\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
OPENSSH = (
    b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33\0\0\0\x0bssh-ed25519\0\0\0\x20"
)
GITHUB, RFC = "GitHub, token formats", "RFC 7468"

# fmt: off
FORMATS: dict[str, Format] = {
    "aws-access-key-id": Format("AKIA + 16 base32", "AWS IAM, unique identifiers", "AWS_ACCESS_KEY_ID", pattern("AKIA{base32:16}")),
    "aws-secret-key": Format("40 base64", "AWS IAM, access keys", "AWS_SECRET_ACCESS_KEY", pattern("{base64:40}")),
    "github-classic": Format("ghp_ + 30 base62 + CRC-32", GITHUB, "GITHUB_TOKEN GH_TOKEN", crc32_base62("ghp_", 30), bearer=True),
    "github-app": Format("ghs_ + 30 base62 + CRC-32", GITHUB, "GITHUB_TOKEN", crc32_base62("ghs_", 30), bearer=True),
    "github-fine-grained": Format("github_pat_ + 22 + _ + 59 base62", GITHUB, "GITHUB_TOKEN", pattern("github_pat_{alnum:22}_{alnum:59}"), bearer=True),
    "gitlab-pat": Format("glpat- + 20 url-safe", "GitLab, token prefixes", "GITLAB_TOKEN", pattern("glpat-{url:20}"), bearer=True),
    "slack-bot": Format("xoxb- + digits - digits - 24 base62", "Slack, token types", "SLACK_BOT_TOKEN", pattern("xoxb-{digits:12}-{digits:13}-{alnum:24}"), bearer=True),
    "slack-webhook": Format("https://hooks.slack.com/services/T…/B…/24", "Slack, incoming webhooks", "SLACK_WEBHOOK_URL", pattern("https://hooks.slack.com/services/T{upper:8-10}/B{upper:8-10}/{alnum:24}")),
    "discord-webhook": Format("https://discord.com/api/webhooks/id/68 url-safe", "Discord, webhook resource", "DISCORD_WEBHOOK_URL", pattern("https://discord.com/api/webhooks/{digits:18-19}/{url:68}")),
    "discord-bot": Format("base64 id . 6 . 38 url-safe", "Discord, reference", "DISCORD_TOKEN", discord),
    "stripe-secret": Format("sk_live_ + 24 or 99 base62", "Stripe, API keys", "STRIPE_SECRET_KEY STRIPE_API_KEY", one_of(pattern("sk_live_{alnum:24}"), pattern("sk_live_51{alnum:97}")), bearer=True),
    "stripe-restricted": Format("rk_live_ + 24 or 99 base62", "Stripe, API keys", "STRIPE_RESTRICTED_KEY", one_of(pattern("rk_live_{alnum:24}"), pattern("rk_live_51{alnum:97}")), bearer=True),
    "sendgrid": Format("SG. + 22 + . + 43 url-safe", "SendGrid, API keys", "SENDGRID_API_KEY", pattern("SG.{url:22}.{url:43}"), bearer=True),
    "twilio-api-key": Format("SK + 32 hex", "Twilio, SIDs", "TWILIO_API_KEY", pattern("SK{hex:32}")),
    "twilio-auth-token": Format("32 hex", "Twilio, auth tokens", "TWILIO_AUTH_TOKEN", pattern("{hex:32}")),
    "npm": Format("npm_ + 30 base62 + CRC-32", "GitHub blog on npm's tokens", "NPM_TOKEN", crc32_base62("npm_", 30), bearer=True),
    "pypi": Format("pypi- + base64 macaroon", "PyPI help", "PYPI_TOKEN TWINE_PASSWORD", pypi),
    "rubygems": Format("rubygems_ + 48 hex", "RubyGems guides", "GEM_HOST_API_KEY", pattern("rubygems_{hex:48}")),
    "crates-io": Format("cio + 32 base62", "crates.io", "CARGO_REGISTRY_TOKEN", pattern("cio{alnum:32}")),
    "google-api-key": Format("AIza + 35 url-safe", "Google Cloud, API keys", "GOOGLE_API_KEY", pattern("AIza{url:35}")),
    "gcp-service-account": Format("JSON with a PEM private_key", "Google Cloud, service account keys", "GOOGLE_CREDENTIALS", service_account, account_key),
    "azure-storage": Format("connection string, AccountKey of 64 bytes", "Azure Storage, connection strings", "AZURE_STORAGE_CONNECTION_STRING", lambda rng: f"DefaultEndpointsProtocol=https;AccountName=acme{draw(rng, DIGITS, 4)};AccountKey={base64_of(64)(rng)};EndpointSuffix=core.windows.net", between("AccountKey=", ";")),
    "azure-client-secret": Format("3 + digit Q~ + 34 of [A-Za-z0-9._~-]", "Microsoft Purview, Entra client secret", "AZURE_CLIENT_SECRET", pattern("{alnum:3}8Q~{dotted:34}", dotted=URLSAFE + ".~")),
    "openai": Format("sk-proj- + 74 + T3BlbkFJ + 74, or sk- + 20 + T3BlbkFJ + 20", "OpenAI, examples of its API reference", "OPENAI_API_KEY", one_of(pattern("sk-proj-{url:74}T3BlbkFJ{url:74}"), pattern("sk-{alnum:20}T3BlbkFJ{alnum:20}")), bearer=True),
    "anthropic": Format("sk-ant-api03- + 93 url-safe + AA", "Anthropic, API reference", "ANTHROPIC_API_KEY", pattern("sk-ant-api03-{url:93}AA")),
    "hugging-face": Format("hf_ + 34 letters", "Hugging Face, access tokens", "HF_TOKEN", pattern("hf_{letters:34}"), bearer=True),
    "shopify": Format("shpat_ + 32 hex", "Shopify, access token prefixes", "SHOPIFY_ACCESS_TOKEN", pattern("shpat_{hex:32}")),
    "square": Format("EAAA + 60 url-safe", "Square, access tokens", "SQUARE_ACCESS_TOKEN", pattern("EAAA{url:60}"), bearer=True),
    "mailgun": Format("key- + 32 hex", "Mailgun, API keys", "MAILGUN_API_KEY", pattern("key-{hex:32}")),
    "mailchimp": Format("32 hex + -us + data centre", "Mailchimp, API keys", "MAILCHIMP_API_KEY", pattern("{hex:32}-us{digits:1-2}")),
    "digitalocean": Format("dop_v1_ + 64 hex", "DigitalOcean blog on token prefixes", "DIGITALOCEAN_TOKEN", pattern("dop_v1_{hex:64}"), bearer=True),
    "databricks": Format("dapi + 32 hex", "Databricks, access tokens", "DATABRICKS_TOKEN", pattern("dapi{hex:32}"), bearer=True),
    "docker": Format("dckr_pat_ + 27 url-safe", "Docker Hub, access tokens", "DOCKER_TOKEN DOCKERHUB_PASSWORD", pattern("dckr_pat_{url:27}")),
    "telegram": Format("8 to 10 digits : 35 url-safe", "Telegram, Bot API", "TELEGRAM_BOT_TOKEN", pattern("{nonzero:1}{digits:7-9}:AA{url:33}", nonzero="123456789")),
    "jwt": Format("three base64url parts, HS256", "RFC 7519", "AUTH_TOKEN ACCESS_TOKEN", jwt, bearer=True),
    "vault": Format("hvs. + 90 to 100 url-safe", "HashiCorp Vault, tokens", "VAULT_TOKEN", pattern("hvs.{url:90-100}")),
    "terraform-cloud": Format("14 base62 .atlasv1. 67 url-safe", "HashiCorp, API tokens", "TFE_TOKEN", pattern("{alnum:14}.atlasv1.{url:67}"), bearer=True),
    "atlassian": Format("ATATT3xFfGF0 + 171 url-safe + = + 8 hex", "Atlassian, API tokens", "ATLASSIAN_API_TOKEN JIRA_TOKEN", pattern("ATATT3xFfGF0{url:171}={hexup:8}", hexup=DIGITS + "ABCDEF")),
    "linear": Format("lin_api_ + 40 base62", "Linear, developers", "LINEAR_API_KEY", pattern("lin_api_{alnum:40}")),
    "grafana": Format("glsa_ + 32 base62 + _ + CRC-32 in hex", "Grafana, service accounts", "GRAFANA_TOKEN", crc32_hex("glsa_", pattern("{alnum:32}"), "_"), bearer=True),
    "sentry": Format("sntryu_ + 64 hex", "Sentry, auth tokens", "SENTRY_AUTH_TOKEN", pattern("sntryu_{hex:64}"), bearer=True),
    "new-relic": Format("NRAK- + 27 upper alphanumeric", "New Relic, API keys", "NEW_RELIC_API_KEY", pattern("NRAK-{upper:27}")),
    "datadog": Format("32 hex", "Datadog, API keys", "DD_API_KEY DATADOG_API_KEY", pattern("{hex:32}")),
    "postman": Format("PMAK- + 24 hex - 34 hex", "Postman, API keys", "POSTMAN_API_KEY", pattern("PMAK-{hex:24}-{hex:34}")),
    "airtable": Format("pat + 14 base62 . 64 hex", "Airtable, personal access tokens", "AIRTABLE_TOKEN", pattern("pat{alnum:14}.{hex:64}"), bearer=True),
    "notion": Format("ntn_ + 11 digits + 35 base62", "Notion, changelog", "NOTION_TOKEN", pattern("ntn_{digits:11}{alnum:35}"), bearer=True),
    "doppler": Format("dp.pt. + 43 base62", "Doppler, token formats", "DOPPLER_TOKEN", pattern("dp.pt.{alnum:43}"), bearer=True),
    "figma": Format("figd_ + 40 url-safe", "Figma, personal access tokens", "FIGMA_TOKEN", pattern("figd_{url:40}")),
    "pulumi": Format("pul- + 40 hex", "Pulumi, access tokens", "PULUMI_ACCESS_TOKEN", pattern("pul-{hex:40}")),
    "cloudflare": Format("40 url-safe", "Cloudflare, API tokens", "CLOUDFLARE_API_TOKEN CF_API_TOKEN", pattern("{url:40}"), bearer=True),
    "age": Format("AGE-SECRET-KEY-1 + 58 bech32", "age specification", "AGE_KEY SOPS_AGE_KEY", pattern("AGE-SECRET-KEY-1{bech:58}", bech=BECH32)),
    "wireguard": Format("base64 of 32 bytes", "WireGuard, wg(8)", "PRIVATE_KEY WG_PRIVATE_KEY", base64_of(32)),
    "django": Format("50 of a-z0-9!@#$%^&*(-_=+)", "Django, get_random_secret_key", "SECRET_KEY DJANGO_SECRET_KEY", pattern("{django:50}", django=DJANGO)),
    "rsa-key": Format("PKCS #1 in PEM", RFC, "PRIVATE_KEY SIGNING_KEY", pem("RSA PRIVATE KEY", RSA, 1192), key_body),
    "ec-key": Format("SEC 1 in PEM", RFC, "PRIVATE_KEY SIGNING_KEY", pem("EC PRIVATE KEY", EC, 121), key_body),
    "pkcs8-key": Format("PKCS #8 in PEM", RFC, "PRIVATE_KEY TLS_KEY", pem("PRIVATE KEY", PKCS8_EC, 138), key_body),
    "openssh-key": Format("openssh-key-v1", "OpenSSH, PROTOCOL.key", "SSH_PRIVATE_KEY DEPLOY_KEY", pem("OPENSSH PRIVATE KEY", OPENSSH, 290, 70), key_body),
    "database-url": Format("postgresql://user:password@host/name", "RFC 3986", "DATABASE_URL", pattern("postgresql://app:{alnum:16-24}@db.internal:5432/orders"), lambda v: _PASSWORD(v.split("//")[1])),
    "basic-auth-url": Format("https://user:password@host", "RFC 3986", "REGISTRY_URL MIRROR_URL", pattern("https://deploy:{alnum:16-24}@registry.internal/v2"), lambda v: _PASSWORD(v.split("//")[1])),
    "random-password": Format("16 to 24 of A-Za-z0-9!@#$%^&*", "Bitwarden, password generator", "DB_PASSWORD ADMIN_PASSWORD SMTP_PASSWORD", pattern("{human:16-24}", human=HUMAN)),
    "random-hex": Format("64 hex", "OpenSSL, rand -hex 32", "API_KEY CLIENT_SECRET SECRET_KEY", pattern("{hex:64}")),
    "random-url-safe": Format("43 url-safe", "Python, secrets.token_urlsafe", "API_KEY API_TOKEN CLIENT_SECRET", pattern("{url:43}"), bearer=True),
    "random-base64": Format("base64 of 32 bytes", "OpenSSL, rand -base64 32", "SECRET_KEY ENCRYPTION_KEY SESSION_SECRET", base64_of(32)),
}

HELD_OUT: dict[str, Format] = {
    "okta": Format("00 + 40 url-safe", "Okta, API tokens", "OKTA_API_TOKEN", pattern("00{url:40}")),
    "heroku": Format("HRKU-AA + 58 url-safe", "Heroku changelog", "HEROKU_API_KEY", pattern("HRKU-AA{url:58}"), bearer=True),
    "buildkite": Format("bkua_ + 40 hex", "Buildkite, API access tokens", "BUILDKITE_TOKEN", pattern("bkua_{hex:40}"), bearer=True),
    "groq": Format("gsk_ + 52 base62", "Groq, quickstart", "GROQ_API_KEY", pattern("gsk_{alnum:52}"), bearer=True),
    "replicate": Format("r8_ + 37 base62", "Replicate, API tokens", "REPLICATE_API_TOKEN", pattern("r8_{alnum:37}"), bearer=True),
    "resend": Format("re_ + 8 + _ + 24 base62", "Resend, API keys", "RESEND_API_KEY", pattern("re_{alnum:8}_{alnum:24}"), bearer=True),
    "supabase": Format("sbp_ + 40 hex", "Supabase, management API", "SUPABASE_ACCESS_TOKEN", pattern("sbp_{hex:40}"), bearer=True),
    "posthog": Format("phx_ + 43 base62", "PostHog, personal API keys", "POSTHOG_API_KEY", pattern("phx_{alnum:43}"), bearer=True),
    "planetscale": Format("pscale_pw_ + 43 url-safe", "PlanetScale, passwords", "DATABASE_PASSWORD", pattern("pscale_pw_{url:43}")),
    "azure-devops": Format("52 base32 in lower case", "Microsoft Purview, Azure DevOps token", "AZURE_DEVOPS_EXT_PAT", pattern("{low:52}", low=BASE32.lower())),
    "gitea": Format("40 hex", "Gitea, API usage", "GITEA_TOKEN", pattern("{hex:40}")),
    "sonarqube": Format("squ_ + 40 hex", "SonarQube, user tokens", "SONAR_TOKEN", pattern("squ_{hex:40}"), bearer=True),
    "facebook": Format("32 hex", "Meta, app secret", "FACEBOOK_APP_SECRET", pattern("{hex:32}")),
    "jenkins": Format("11 + 32 hex", "Jenkins, API tokens", "JENKINS_API_TOKEN", pattern("11{hex:32}")),
    "mapbox": Format("sk.eyJ1 + claims . 22 url-safe", "Mapbox, tokens", "MAPBOX_TOKEN", lambda rng: f"sk.{encoded(json.dumps({'u': 'acme', 'a': draw(rng, LOWER, 25)}).encode())}.{draw(rng, URLSAFE, 22)}"),
}
"""Types at which nobody looked while the detector was mended (--held-out)."""
# fmt: on
