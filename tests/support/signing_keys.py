"""Keys of two organisations, as files."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def write_pair(folder, name, curve=None):
    """(private file, folder with the public one as NAME.pem)."""
    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(curve or ec.SECP256R1())
    private = folder / f"{name}.key"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    trust = folder / f"{name}-trust"
    trust.mkdir()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (trust / f"{name}.pem").write_bytes(public)
    return private, trust


@pytest.fixture
def pair(tmp_path):
    return lambda name, curve=None: write_pair(tmp_path / "keys", name, curve)
