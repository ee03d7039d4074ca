"""Credentials of known value for the demo, in their providers' published formats, made from a seed.

>>> [credential.name for credential in make_credentials(seed=7)][:2]
['github-token', 'aws-secret-key']

None of them was ever issued by anyone, and none is written in this file. A generator makes them at run time, with
the checksums that scanners verify, so finding them is no easier than finding real ones.
"""

import base64
import random
import string
import zlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BASE64URL = string.ascii_letters + string.digits + "-_"
_BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Credential:
    """One planted credential.

    `variable` is the name it is assigned to, `copies` the number of files that hold it in the clear,
    `companion` a line that goes with it (the account that a key belongs to; no secret).
    """

    name: str
    variable: str
    copies: int
    value: bytes = field(repr=False)
    companion: tuple[str, str] | None = field(default=None, repr=False)


def make_credentials(seed: int) -> list[Credential]:
    """Nine credentials, the same for the same seed; each depends on the seed and its own name only.

    The numbers of copies spread over what repositories show: a few to fifty files that share one token.
    """

    def draw(name: str, alphabet: str, length: int) -> str:
        return "".join(random.Random(f"hush demo {seed} {name}").choices(alphabet, k=length))

    account = draw("aws account", _BASE32, 16)
    slack = (draw(f"slack {part}", string.ascii_uppercase + string.digits, 8) for part in "TB")
    team, hook = slack
    openai = draw("openai", _BASE62, 40)
    return [
        Credential("github-token", "GITHUB_TOKEN", 52, _checked("ghp_", draw("github", _BASE62, 30))),
        Credential(
            "aws-secret-key",
            "AWS_SECRET_ACCESS_KEY",
            44,
            draw("aws", _BASE62 + "/+", 40).encode(),
            ("AWS_ACCESS_KEY_ID", f"AKIA{account}"),
        ),
        Credential("stripe-key", "STRIPE_API_KEY", 36, f"sk_live_{draw('stripe', _BASE62, 24)}".encode()),
        Credential(
            "slack-webhook",
            "SLACK_WEBHOOK_URL",
            24,
            f"https://hooks.slack.com/services/T{team}/B{hook}/{draw('slack', _BASE62, 24)}".encode(),
        ),
        Credential("gitlab-token", "GITLAB_TOKEN", 14, f"glpat-{draw('gitlab', _BASE64URL, 20)}".encode()),
        Credential("npm-token", "NPM_TOKEN", 12, _checked("npm_", draw("npm", _BASE62, 30))),
        Credential(
            "sendgrid-key",
            "SENDGRID_API_KEY",
            10,
            f"SG.{draw('sendgrid id', _BASE64URL, 22)}.{draw('sendgrid', _BASE64URL, 43)}".encode(),
        ),
        Credential("openai-key", "OPENAI_API_KEY", 8, f"sk-{openai[:20]}T3BlbkFJ{openai[20:]}".encode()),
        Credential("signing-key", "SIGNING_KEY", 6, _private_key(draw("key", _BASE62, 32).encode())),
    ]


def make_codenames(seed: int, count: int = 3) -> list[str]:
    """Two invented words each: about 40 bits, well above the 20 that the demo's config declares."""
    syllables = [c + v for c in "bdfghjklmnprstvz" for v in "aeiou"]
    chance = random.Random(f"hush demo {seed} codenames")
    return [
        " ".join("".join(chance.choices(syllables, k=3)).capitalize() for _ in range(2)) for _ in range(count)
    ]


def _checked(prefix: str, body: str) -> bytes:
    """GitHub's and npm's format: six base-62 digits of CRC-32 close the token."""
    crc, digits = zlib.crc32(body.encode()), ""
    while crc:
        crc, digit = divmod(crc, 62)
        digits = _BASE62[digit] + digits
    return f"{prefix}{body}{digits.rjust(6, '0')}".encode()


def _private_key(raw: bytes) -> bytes:
    """An Ed25519 key as a PEM block (PKCS #8), without the last line break."""
    key = Ed25519PrivateKey.from_private_bytes(raw)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).rstrip()


def encoded_copies(credential: Credential) -> dict[str, str]:
    """The credential as it stands where no rule looks for it: base64, hex and a JSON string's inside."""
    value = credential.value
    escaped = value.decode().replace("/", "\\/").replace("\n", "\\n")
    return {"base64": base64.b64encode(value).decode(), "hex": value.hex(), "json": escaped}
