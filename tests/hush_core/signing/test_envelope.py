"""A statement is opened as it was signed, by a trusted key, for its own kind; anything else is refused."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from in_toto_attestation.v1 import statement as in_toto
from signing_keys import write_pair

from hush_core.errors import InputError, VerificationError
from hush_core.signing import open_statement, read_signing_key, read_trust, sign_statement

SUBJECTS = {"model/a": "0" * 64, "model/b": "1" * 64}
KIND = "urn:hush:test:1"


@pytest.fixture
def acme(tmp_path):
    private, trust = write_pair(tmp_path, "acme")
    return read_signing_key(private), read_trust(trust)


def signed(key, predicate=None):
    return sign_statement(key, SUBJECTS, KIND, predicate or {"count": 2**53 + 1})


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda c: c.name)
def test_what_was_signed_is_read_and_by_whom(tmp_path, curve):
    private, trust = write_pair(tmp_path, "acme", curve)
    statement, signer = open_statement(signed(read_signing_key(private)), "x", read_trust(trust), KIND)
    assert signer.name == "acme" and statement["predicate"] == {"count": 2**53 + 1}
    assert {one["name"]: one["digest"]["sha256"] for one in statement["subject"]} == SUBJECTS


def test_it_is_an_in_toto_statement(acme):
    """By the framework's own classes, which know nothing of hush."""
    payload = json.loads(base64.b64decode(json.loads(signed(acme[0], {"x": "y"}))["payload"]))
    subjects = [in_toto.ResourceDescriptor(name=s["name"], digest=s["digest"]).pb for s in payload["subject"]]
    read = in_toto.Statement(subjects, payload["predicateType"], payload["predicate"])
    read.validate()
    assert payload["_type"] == read.pb.type


def edited(text, change):
    envelope = json.loads(text)
    payload = json.loads(base64.b64decode(envelope["payload"]))
    change(envelope, payload)
    if isinstance(payload, dict) and envelope.get("payload") is not None:
        envelope["payload"] = base64.b64encode(json.dumps(payload, sort_keys=True).encode()).decode()
    return json.dumps(envelope)


@pytest.mark.parametrize(
    "change",
    [
        lambda e, p: p["predicate"].update(count=1),
        lambda e, p: p["subject"].pop(),
        lambda e, p: p.update(predicateType="urn:hush:other:1"),
        lambda e, p: e.update(payloadType="application/json"),
        lambda e, p: e["signatures"][0].update(sig=base64.b64encode(b"0" * 70).decode()),
        lambda e, p: e.update(signatures=[]),
        lambda e, p: e["signatures"][0].update(keyid="0" * 64),
        lambda e, p: e.pop("payload"),
    ],
)
def test_an_edit_is_refused(acme, change):
    key, trust = acme
    with pytest.raises(VerificationError):
        open_statement(edited(signed(key), change), "x", trust, KIND)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"payload": 1}', "0" * 64])
def test_what_is_no_envelope_is_refused(acme, text):
    with pytest.raises(VerificationError):
        open_statement(text, "x", acme[1], KIND)


def test_another_kind_and_another_key_are_refused(acme, tmp_path):
    key, trust = acme
    with pytest.raises(VerificationError, match="another kind"):
        open_statement(signed(key), "x", trust, "urn:hush:other:1")
    stranger = read_signing_key(write_pair(tmp_path, "stranger")[0])
    with pytest.raises(VerificationError, match="not one of those that are trusted"):
        open_statement(signed(stranger), "x", trust, KIND)
    claimed = edited(signed(stranger), lambda e, p: e["signatures"][0].update(keyid=key.fingerprint))
    with pytest.raises(VerificationError, match="did not sign it so"):
        open_statement(claimed, "x", trust, KIND)


def test_keys_that_cannot_be_used_are_told(tmp_path):
    private, trust = write_pair(tmp_path, "acme")
    with pytest.raises(InputError, match="is a private key"):
        read_trust(private)
    with pytest.raises(InputError, match="holds no private key"):
        read_signing_key(trust / "acme.pem")
    with pytest.raises(InputError, match=r"holds no NAME\.pem"):
        read_trust(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read_signing_key(tmp_path / "nowhere")
    for curve in (ec.SECP256K1(),):
        other, its = write_pair(tmp_path, "other", curve)
        with pytest.raises(InputError, match="is no key on"):
            read_signing_key(other)
        with pytest.raises(InputError, match="is no key on"):
            read_trust(its)
    assert "PRIVATE" not in repr(read_signing_key(private))
