"""Models signed by an organisation: what was registered, what others can check of it, and what is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import mlflow
import pytest
from forging import sealed
from signing_keys import write_pair
from versions import decided

from flows import cli
from flows.reports.verification import verdict
from flows.verify import verify_target
from hush_core.certificate import read_certificate
from hush_core.errors import InputError, VerificationError
from hush_core.signing import BOM, read_signing_key, read_trust, sign_package
from tasks.runtime.environment import home
from tasks.runtime.packaging import check_package
from tasks.runtime.trust import signing_key, trust_root
from tasks.runtime.versions import find_version


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """(private key, trust root) of the organisation."""
    return write_pair(tmp_path_factory.mktemp("organisation") / "keys", "acme")


@pytest.fixture
def acme(keys, monkeypatch):
    """The organisation's folder of public keys; the environment names it and the private key."""
    private, trust = keys
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    return trust


def forget_keys(monkeypatch):
    for name in ("HUSH_SIGNING_KEY", "HUSH_TRUST"):
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def downloaded(register, keys, tmp_path_factory):
    """A version that the organisation signed, as a consumer downloads it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HUSH_SIGNING_KEY", str(keys[0]))
        environment.setenv("HUSH_TRUST", str(keys[1]))
        uri = register("signed").model_uri
        return Path(mlflow.artifacts.download_artifacts(uri, dst_path=str(tmp_path_factory.mktemp("copy"))))


@pytest.fixture
def package(downloaded, acme, tmp_path):
    """A copy of it, to be edited."""
    return shutil.copytree(downloaded, tmp_path / "copy")


def stock(folder, public):
    """The exit status of model-signing's own command."""
    command = [sys.executable, "-m", "model_signing", "verify", "key", "--signature"]
    command += [folder / "signature" / "model.sig", "--public_key", public, folder]
    return subprocess.run([*map(str, command)], capture_output=True, timeout=600).returncode


@pytest.mark.slow
def test_stock_model_signing_verifies_the_whole_folder(package, acme, tmp_path):
    public = acme / "acme.pem"
    assert (package / "registered_model_meta").is_file()  # as MLflow leaves a download
    assert stock(package, public) == 0
    assert stock(package, write_pair(tmp_path / "keys", "stranger")[1] / "stranger.pem") != 0
    for name in ("certificate/bounds.parquet", "MLmodel"):
        before = (package / name).read_bytes()
        (package / name).write_bytes(before + b" ")
        assert stock(package, public) != 0, name
        (package / name).write_bytes(before)


def test_hush_says_who_signed(package, acme, monkeypatch):
    assert "signed by acme (key" in verify_target(str(package)).signature
    alone = verify_target(str(package / "certificate"))
    assert alone.signature.startswith("signed by acme") and "model's files NOT checked" in alone.signature
    forget_keys(monkeypatch)
    unknown = verify_target(str(package))
    assert any(line.startswith("WARNING: NOT CHECKED who signed it") for line in verdict(unknown))
    assert "signed by acme" in verify_target(str(package), trust=read_trust(acme / "acme.pem")).signature


def test_the_command_takes_a_key_and_composes_for_one_secret(package, acme, monkeypatch, tmp_path, capsys):
    forget_keys(monkeypatch)
    words = ["--key", acme / "acme.pem", "--delta", "1e-6", "--secret", "first", "--out", tmp_path / "dp"]
    monkeypatch.setattr(sys, "argv", ["hush", "verify", str(package), *map(str, words)])
    cli.main()
    said = " ".join(capsys.readouterr().out.split())
    assert "signed by acme (key" in said and "(ε, δ) at δ = 1e-06" in said
    assert "first" in (tmp_path / "dp" / "privacy.csv").read_text()
    stranger = write_pair(tmp_path / "keys", "stranger")[1] / "stranger.pem"
    monkeypatch.setattr(sys, "argv", ["hush", "verify", str(package), "--key", str(stranger)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1 and "stranger" in capsys.readouterr().err


def test_a_self_made_certificate_is_refused(package, tmp_path):
    """Everything as hush makes it, and verified: but by a key that nobody trusts, or by none."""
    stranger = read_signing_key(write_pair(tmp_path / "keys", "stranger")[0])
    shutil.rmtree(package / "signature")
    with pytest.raises(VerificationError, match="no organisation signed"):
        verify_target(str(package))
    sign_package(package, read_certificate(package / "certificate"), stranger)
    with pytest.raises(VerificationError, match="not one of those that are trusted"):
        verify_target(str(package))
    with pytest.raises(VerificationError, match="not one of those that are trusted"):
        verify_target(str(package / "certificate"))


@pytest.mark.parametrize("part", ["model.sig", "certificate.intoto.json"])
def test_half_a_signature_is_none(package, part, tmp_path):
    stranger = read_signing_key(write_pair(tmp_path / "keys", "stranger")[0])
    other = tmp_path / "other"
    shutil.copytree(package, other)
    shutil.rmtree(other / "signature")
    sign_package(other, read_certificate(other / "certificate"), stranger)
    shutil.copy(other / "signature" / part, package / "signature" / part)
    with pytest.raises(VerificationError, match="not one of those that are trusted"):
        verify_target(str(package))
    (package / "signature" / part).unlink()
    with pytest.raises(VerificationError, match="is missing"):
        verify_target(str(package))


def test_what_lies_beside_the_signatures_is_refused_as_nothing_signs_it(package, monkeypatch, tmp_path):
    """With a trust root, without one, and in the registry's copy."""
    folder = package / "signature"
    (folder / "more").mkdir()
    (folder / "more" / "model.sig").write_text("x")
    (folder / "tokenizer.py").write_text("import os")
    (folder / "link").symlink_to(tmp_path)
    told = check_package(package, read_certificate(package / "certificate"))
    assert {line.partition(":")[0] for line in told} >= {
        f"signature/{n}" for n in ("more", "tokenizer.py", "link")
    }
    with pytest.raises(VerificationError, match="tokenizer.py: is no signature of hush"):
        verify_target(str(package / "certificate"))
    forget_keys(monkeypatch)
    with pytest.raises(VerificationError, match="tokenizer.py: is no signature of hush"):
        verify_target(str(package / "certificate"))


def test_the_signature_of_another_model_is_refused(package, tmp_path):
    """Both are acme's: the attestation is of another certificate."""
    other = tmp_path / "other"
    shutil.copytree(package, other)
    envelope = json.loads((other / "signature" / "certificate.intoto.json").read_text())
    document = json.loads((other / "certificate" / "certificate.json").read_text())
    document["facts"]["name"] = "better"
    (other / "certificate" / "certificate.json").write_bytes(sealed(document))
    shutil.rmtree(other / "signature")
    sign_package(other, read_certificate(other / "certificate"), signing_key())
    assert json.loads((other / "signature" / "certificate.intoto.json").read_text()) != envelope
    shutil.copy(other / "signature" / "certificate.intoto.json", package / "signature")
    with pytest.raises(VerificationError, match="attests another certificate"):
        verify_target(str(package))


def test_the_bill_of_materials_names_model_data_and_code(package):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = (package / BOM).read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    told, certificate = json.loads(text), read_certificate(package / "certificate")
    model = told["metadata"]["component"]
    assert model["type"] == "machine-learning-model" and model["name"] == "tiny"
    hashes = {file["name"]: file["hashes"][0]["content"] for file in model["components"]}
    assert hashes == certificate.model_files
    code = {one["name"]: one["version"] for one in told["components"] if one["type"] == "library"}
    assert code | {"python": certificate.facts.code["python"]} == certificate.facts.code
    assert {"torch", "polars", "sqlalchemy"} <= code.keys()  # what it needs, and what that needs
    data = {one["name"] for one in told["components"] if one["type"] == "data"}
    assert data == {"repo", "examples"}


def test_a_version_is_signed_anew_where_a_key_is_new(register, tmp_path, monkeypatch):
    unsigned = register("signed-later")
    private, _ = write_pair(tmp_path / "keys", "acme")
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    with pytest.raises(VerificationError, match="no organisation signed"):
        verify_target(unsigned.model_uri)
    again = register("signed-later")
    assert again.version == "2" and "signed by acme" in verify_target(again.model_uri).signature
    assert register("signed-later") == again


def test_who_may_not_sign_is_told_before_anything_is_made(tmp_path, monkeypatch):
    assert signing_key() is None and trust_root() is None
    private, trust = write_pair(tmp_path / "keys", "acme")
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    with pytest.raises(InputError, match="names no key"):
        signing_key()
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(write_pair(tmp_path / "keys", "stranger")[0]))
    with pytest.raises(InputError, match="not one of the keys"):
        signing_key()
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    assert signing_key().fingerprint == trust_root().keys[0].fingerprint
    forget_keys(monkeypatch)
    kept = home().keys / "signing.pem"
    shutil.copy(private, kept)
    try:
        assert signing_key().fingerprint == read_signing_key(private).fingerprint
    finally:
        kept.unlink()


@pytest.mark.parametrize("variable", ["HUSH_TRUST", "HUSH_SIGNING_KEY"])
@pytest.mark.parametrize("words", ["", " "])
def test_a_variable_that_is_set_to_nothing_is_refused(package, monkeypatch, variable, words):
    monkeypatch.setenv(variable, words)
    with pytest.raises(InputError, match=f"^{variable}: is set and names nothing"):
        verify_target(str(package)) if variable == "HUSH_TRUST" else signing_key()


@pytest.mark.parametrize("name", ["trust", "trust.pem", "signing.pem"])
def test_a_link_to_a_share_that_is_away_is_refused(package, monkeypatch, tmp_path, name):
    """An unsigned package would pass with a warning while the share with the trust root is unmounted."""
    forget_keys(monkeypatch)
    shutil.rmtree(package / "signature")
    assert verify_target(str(package)).signature.startswith("NOT signed")
    assert any(
        line.startswith("WARNING: NOT signed by an org") for line in verdict(verify_target(str(package)))
    )
    link = home().keys / name
    link.symlink_to(tmp_path / "share" / name)
    try:
        with pytest.raises(InputError, match=f"{name}: No such file"):
            verify_target(str(package))
    finally:
        link.unlink()


def test_keys_on_a_share_that_is_away_are_refused_with_all_that_they_may_trust(
    package, monkeypatch, tmp_path
):
    forget_keys(monkeypatch)
    shutil.rmtree(package / "signature")
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "keys").symlink_to(tmp_path / "share")
    with pytest.raises(InputError, match="home/keys: is a link to nothing that is there"):
        verify_target(str(package))


# decisions


def test_an_approval_is_signed_for_others(register, acme, monkeypatch):
    uri = register("decided").model_uri
    decided(uri)
    monkeypatch.delenv("HUSH_SIGNING_KEY")  # a machine that trusts, and cannot sign
    elsewhere = type(home())(acme.parent / "home").create()
    monkeypatch.setenv("HUSH_HOME", str(elsewhere.root))
    assert "approved by ada" in (said := verify_target("models:/decided@champion").approval)
    assert "signed by acme" in said
    client = mlflow.MlflowClient()
    client.set_model_version_tag("decided", "1", "review_reason", "better")
    with pytest.raises(VerificationError, match="is another decision"):
        verify_target("models:/decided@champion")
    client.set_model_version_tag("decided", "1", "review_reason", "fine")
    kept = find_version(uri).tags["review_signature"]
    client.set_model_version_tag("decided", "1", "review_signature", "0" * 64)
    with pytest.raises(VerificationError, match="no signed envelope"):
        verify_target("models:/decided@champion")
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(acme.parent / "acme.key"))
    register("decided-too")
    for key, value in {**find_version(uri).tags, "review_signature": kept}.items():
        client.set_model_version_tag("decided-too", "1", key, value)
    client.set_registered_model_alias("decided-too", "champion", "1")
    with pytest.raises(VerificationError, match="is another decision"):
        verify_target("models:/decided-too@champion")


def test_an_approval_by_the_homes_key_is_none_where_there_is_a_trust_root(register, acme, monkeypatch):
    private = str(acme.parent / "acme.key")
    uri = register("downgraded").model_uri
    decided(uri)
    forget_keys(monkeypatch)
    decided(uri)
    assert "key of this home" in verify_target("models:/downgraded@champion").approval
    monkeypatch.setenv("HUSH_SIGNING_KEY", private)
    with pytest.raises(VerificationError, match="no signed envelope"):
        verify_target("models:/downgraded@champion")
