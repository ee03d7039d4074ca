"""Nothing that MLflow reads of a registered model is certified by nobody: each file and key is edited in turn."""

import os
import shutil

import pytest
import yaml
from versions import artifact

from flows.verify import verify_target
from hush_core.certificate import read_certificate
from hush_core.certificate.older import OlderCertificate
from hush_core.errors import VerificationError
from hush_core.signing import BOM
from tasks.runtime.environment import home
from tasks.runtime.packaging import check_older_package, check_package, environment_files


@pytest.fixture
def root(register, tmp_path):
    """A copy of the artifact of a version that was really registered."""
    return shutil.copytree(artifact(register("packaged").model_uri), tmp_path / "artifact")


def failures(root):
    """What is found, and that the same is found around a certificate of an older hush."""
    certificate = read_certificate(root / "certificate")
    found = check_package(root, certificate)
    assert check_older_package(root, older_of(certificate)) == found
    return found


def older_of(certificate):
    return OlderCertificate(
        document={}, digest="", store="", run="", continued=False, code=certificate.facts.code, tables={},
        model_files={},
    )  # fmt: skip


def test_what_was_registered_passes_and_tells_no_path_of_this_machine(root):
    assert failures(root) == []
    assert verify_target(str(root)).model_seen
    told = "".join(path.read_text() for path in root.iterdir() if path.is_file())
    assert str(home().store) not in told


def test_an_edit_of_any_file_is_refused(root):
    """A byte more, in each file: model and certificate by their hashes, the others by being made again."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    assert {"MLmodel", "requirements.txt", "conda.yaml", "python_env.yaml"} <= {path.name for path in files}
    for path in files:
        before = path.read_bytes()
        path.write_bytes(before + b"\nx")
        with pytest.raises(VerificationError):
            verify_target(str(root))
        path.unlink()
        if path.name == BOM:  # a model of an older hush has none, and no code is loaded by it
            assert verify_target(str(root)).model_seen
            path.write_bytes(before)
            continue
        with pytest.raises(VerificationError):
            if path.name == "MLmodel":  # a folder without one is no model of MLflow's
                raise VerificationError(failures(root))
            verify_target(str(root))
        path.write_bytes(before)
    assert verify_target(str(root)).model_seen


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("LICENSE.txt", "x"),
        ("code/evil.py", "x"),
        ("components/tokenizer/evil.json", "{}"),
        ("components/evil.json", "{}"),
        ("registered_model_meta", "model_name: x\nmodel_version: '1'\nloader: evil\n"),
        ("requirements.txt", "evil-package==6.6.6\n"),
    ],
)
def test_a_file_beside_them_is_refused(root, name, content):
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(content)
    assert len(failures(root)) == 1


EDITS = {
    "another loader": (("flavors", "python_function", "loader_module"), "evil"),
    "code to put on the path": (("flavors", "python_function", "code"), "code"),
    "data of its own": (("flavors", "python_function", "data"), "data"),
    "another environment": (("flavors", "python_function", "env"), {"virtualenv": "components/env.yaml"}),
    "code of the flavour": (("flavors", "transformers", "code"), "code"),
    "weights from elsewhere": (("flavors", "transformers", "model_binary"), "../model"),
    "a model of a hub": (("flavors", "transformers", "source_model_name"), "evil/model"),
    "another architecture": (("flavors", "transformers", "pipeline_model_type"), "BertForMaskedLM"),
    "another task": (("flavors", "transformers", "task"), "fill-mask"),
    "a tokenizer by path": (("flavors", "transformers", "tokenizer_type"), "../evil.Tokenizer"),
    "another flavour": (("flavors", "sklearn"), {"pickled_model": "model.pkl"}),
    "resources": (("resources",), {"databricks": {}}),
    "metadata": (("metadata",), {"approved": "yes"}),
    "another signature": (("signature", "inputs"), '[{"type": "long", "required": true}]'),
    "another default": (("signature", "params"), '[{"name": "do_sample", "default": true, "type": "boolean"}]'),
    "a mark that is none": (("run_id",), "$(evil)"),
    "a size in words": (("model_size_bytes",), "x"),
    "another mlflow": (("mlflow_version",), "1.0"),
    "a prompt": (("prompts",), ["evil"]),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_mlmodel_is_refused(root, edit):
    path, value = EDITS[edit]
    document = yaml.safe_load((root / "MLmodel").read_text())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    assert inner.get(path[-1]) != value
    inner[path[-1]] = value
    (root / "MLmodel").write_text(yaml.safe_dump(document))
    assert [one for one in failures(root) if one.startswith("MLmodel")]


@pytest.mark.parametrize("text", ["", "- a list", "a: &a [*a]", "flavors: {a: 1, a: 2}", "\x00", "[" * 700])
def test_what_is_no_mlmodel_is_refused(root, text):
    (root / "MLmodel").write_text(text)
    assert failures(root)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("language_model.json", '{"objective": "causal", "context": "many"}'),
        ("config.json", '{"architectures": 3}'),
        ("MLmodel", "flavors: {transformers: code}"), ("MLmodel", "flavors: {transformers: [1]}"),
    ],
)  # fmt: skip
def test_what_makes_the_check_stumble_is_refused_as_the_files_fault(root, file, text):
    (root / ("" if file == "MLmodel" else "model") / file).write_text(text)
    assert [one for one in failures(root) if one.startswith("MLmodel")]


def test_of_an_older_package_no_link_and_no_other_kind_of_file_is_taken(root, tmp_path):
    assert failures(root) == []
    older = older_of(read_certificate(root / "certificate"))
    for name in ("requirements.txt", "model/config.json"):
        (root / name).rename(tmp_path / "elsewhere")
        (root / name).symlink_to(tmp_path / "elsewhere")
        assert check_older_package(root, older) == [f"{name}: is no file and no folder"]
        (root / name).unlink()
        (tmp_path / "elsewhere").rename(root / name)
    os.mkfifo(root / "components" / "pipe")
    assert check_older_package(root, older) == ["components/pipe: is no file and no folder"]


def test_a_certificate_without_the_versions_says_what_to_do(root):
    certificate = read_certificate(root / "certificate")
    older = certificate.model_copy(update={"facts": certificate.facts.model_copy(update={"code": {}})})
    (failure,) = check_package(root, older)
    assert "certify again" in failure
    with pytest.raises(KeyError):
        environment_files({})
