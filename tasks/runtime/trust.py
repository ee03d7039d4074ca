"""Where the organisation's keys come from: the environment or a file of HUSH_HOME, never a parameter or a config.

The home's own key (`identity.key`, HMAC) is another thing: it names secrets and signs for this home alone, so
only who can read it can check it. The organisation's key signs for everybody who holds its public half. Where
there is one, it signs what leaves the home (models, certificates, decisions); the home's key then signs audits
alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from hush_core.errors import InputError
from hush_core.signing.keys import SigningKey, TrustRoot, read_signing_key, read_trust, trust_in
from tasks.runtime.environment import home

SIGNING_KEY, TRUST = "HUSH_SIGNING_KEY", "HUSH_TRUST"


def trust_root() -> TrustRoot | None:
    """Whose signatures count here: HUSH_TRUST, or `keys/trust` of the home (a file or a folder of public keys), or
    the public half of the signing key; None without any of these. Raises InputError: what is named is not there, or
    is no trust root."""
    path = _named(TRUST, "trust", "trust.pem")
    if path is not None:
        return read_trust(path)
    key = _key()
    return trust_in(key) if key else None


def signing_key() -> SigningKey | None:
    """The organisation's private key, for who signs: HUSH_SIGNING_KEY, or `keys/signing.pem` of the home; None
    where there is neither a key nor a trust root. Raises InputError: it cannot be used; or there is a trust root
    that would not take its signature."""
    key, trust = _key(), trust_root()
    if trust is None:
        return None
    if key is None:
        what = f"names no key, and only what one of {trust.where} signed counts here"
        hint = "let it name the file of the organisation's private key, on the machines that train and review"
        raise InputError(SIGNING_KEY, what, hint)
    if trust.find(key.fingerprint) is None:
        hint = "add its public half there"
        raise InputError(str(key.path), f"is not one of the keys that {trust.where} trusts", hint)
    return key


def _key() -> SigningKey | None:
    path = _named(SIGNING_KEY, "signing.pem")
    return read_signing_key(path) if path else None


def _named(variable: str, *files: str) -> Path | None:
    """The file that the environment names, existing or not; else the first existing file of the home. A link exists
    even if its target does not: an unmounted share must not read as "nobody is trusted". Raises InputError: the
    variable is empty, or the home's keys are missing or unreadable."""
    given = os.environ.get(variable)
    if given is not None:
        if not given.strip():
            hint = "name a file, or unset it for that of HUSH_HOME/keys"
            raise InputError(variable, "is set and names nothing", hint)
        return Path(given).expanduser()
    keys = home().keys
    if keys.is_symlink() and not keys.exists():
        raise InputError(str(keys), "is a link to nothing that is there", "mount its share, or remove it")
    for path in (keys / name for name in files):
        try:
            path.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            hint = "let this account read HUSH_HOME/keys"
            raise InputError(str(path), f"cannot be looked at: {error.strerror}", hint) from None
        return path
    return None
