"""The files around a registered model, which decide what a consumer installs and which code loads the model.

MLflow writes them (`MLmodel`, requirements, a copy of the tokenizer) when a version is registered, after the
certificate, so the certificate cannot hold their hashes. So each is made from the certificate and the certified
files alone, and verifying means to make it again and compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hush_core.certificate import Certificate
from hush_core.certificate.older import OlderCertificate
from hush_core.files import file_sha256
from hush_core.signing import BOM, SIGNATURE_FOLDER, bill_of_materials, unsigned_files
from hush_core.strict_yaml import read_yaml

INSTALLED = ("mlflow", "torch", "transformers", "safetensors")
"""What a consumer needs to load the model; `facts.code` of the certificate has their versions, and Python's."""
MLMODEL = "MLmodel"
_TOKENIZER = ("tokenizer", "special_tokens", "added_tokens", "vocab", "merges", "spiece", "sentencepiece")
_FOLDERS = {"model", "components", "certificate", SIGNATURE_FOLDER}
_DOWNLOADED = "registered_model_meta"
"""MLflow adds it to a copy that it downloads: name and version."""
_STRING = [{"type": "string", "required": True}]
_MARKS = {"artifact_path", "model_id", "model_uuid", "run_id", "utc_time_created", "model_size_bytes"}
"""What differs between versions in MLmodel: a number, or one word without blanks except in the time."""
_FIXED = {"is_signature_from_type_hint": False, "type_hint_from_example": False, "prompts": None}
_CLASS = re.compile(r"[A-Za-z0-9]+")


def environment_files(code: Mapping[str, str]) -> dict[str, str]:
    """Name → content of the files that say what to install, from `facts.code` of a certificate. Raises KeyError: it
    does not name all of `INSTALLED`."""
    pinned = [f"{package}=={code[package].partition('+')[0]}" for package in INSTALLED]
    conda = {
        "name": "mlflow-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={code['python']}", "pip", {"pip": pinned}],
    }
    virtual = {
        "python": code["python"],
        "build_dependencies": ["pip", "setuptools", "wheel"],
        "dependencies": ["-r requirements.txt"],
    }
    return {
        "requirements.txt": "\n".join(pinned) + "\n",
        "conda.yaml": yaml.safe_dump(conda, sort_keys=False),
        "python_env.yaml": yaml.safe_dump(virtual, sort_keys=False),
    }


def tokenizer_files(model_dir: Path) -> list[Path]:
    """The certified files that MLflow's loader wants a second time, in `components/tokenizer`."""
    return [file for file in sorted(model_dir.iterdir()) if file.name.startswith(_TOKENIZER)]


def generation(context: int) -> dict[str, Any]:
    """How a causal model is asked by default: half of the context is for what is generated, since without a limit a
    caller runs past the last position."""
    return {"max_new_tokens": max(1, min(64, context // 2)), "do_sample": False}


def check_package(root: Path, certificate: Certificate) -> list[str]:
    """What in a registered artifact is not as the certificate and the certified files make it; one line each.

    `root` holds `MLmodel` and `model/`, whose files are the certificate's (`verify_certificate` checks that).
    """
    code = certificate.facts.code
    return _check_code(code) or _check_around(root, code) + _check_bill(root, certificate)


def check_older_package(root: Path, older: OlderCertificate) -> list[str]:
    """The same of a package whose certificate an older hush wrote, the bill of materials left out: that runs
    nothing. Nothing in it is a link, or another thing than a file or a folder."""
    strange = [
        f"{path.relative_to(root).as_posix()}: is no file and no folder"
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]
    return strange or _check_code(older.code) or _check_around(root, older.code)


def _check_code(code: Mapping[str, str]) -> list[str]:
    if missing := [name for name in (*INSTALLED, "python") if name not in code]:
        return [f"facts.code: does not name {', '.join(missing)}: registered by an older hush; certify again"]
    return []


def _check_around(root: Path, code: Mapping[str, str]) -> list[str]:
    expected = environment_files(code)
    known = {MLMODEL, BOM, _DOWNLOADED, *_FOLDERS, *expected}
    failures = [
        f"{name}: is not part of a model that hush registers"
        for name in sorted({path.name for path in root.iterdir()} - known)
    ]
    failures += [f"{name}: is no signature of hush" for name in unsigned_files(root)]
    for name, content in expected.items():
        if not (root / name).is_file() or (root / name).read_text("utf-8", "replace") != content:
            failures.append(f"{name}: is not what the certificate's facts.code makes it")
    failures += _check_tokenizer(root)
    if (root / _DOWNLOADED).is_file():
        keys = _mapping(root / _DOWNLOADED).keys()
        if keys - {"model_name", "model_version"}:
            failures.append(f"{_DOWNLOADED}: holds more than name and version")
    try:
        return failures + _check_mlmodel(root, code)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # of another form
        return [*failures, f"{MLMODEL}: is not what hush registers, or the model's own settings are missing"]


def _check_bill(root: Path, certificate: Certificate) -> list[str]:
    """A model of an older hush has none."""
    path = root / BOM
    if not path.exists():
        return []
    bill = bill_of_materials(certificate)
    if path.read_text("utf-8", "replace") == bill or _mapping(path) == json.loads(bill):
        return []
    return [f"{BOM}: is not what the certificate makes it"]


def _check_tokenizer(root: Path) -> list[str]:
    own = {f"tokenizer/{file.name}": file for file in tokenizer_files(root / "model")}
    copies = {
        path.relative_to(root / "components").as_posix(): path
        for path in (root / "components").rglob("*")
        if not path.is_dir()
    }
    return [
        f"components/{name}: is not the certified tokenizer"
        for name in sorted(own.keys() | copies.keys())
        if name not in own or name not in copies or file_sha256(copies[name]) != file_sha256(own[name])
    ]


def _check_mlmodel(root: Path, code: Mapping[str, str]) -> list[str]:
    """Every key of MLmodel: fixed by the model's kind, by `facts.code`, or a mark that runs nothing."""
    names = (MLMODEL, "model/config.json", "model/language_model.json")  # the last two are certified
    found, config, kind = (_mapping(root / name) for name in names)
    causal = kind.get("objective") == "causal"
    flavors = {
        "python_function": {
            "env": {"conda": "conda.yaml", "virtualenv": "python_env.yaml"},
            "loader_module": "mlflow.transformers",
            "python_version": code["python"],
        },
        "transformers": {
            "code": None,
            "components": ["tokenizer"],
            "instance_type": "TextGenerationPipeline" if causal else "FillMaskPipeline",
            "model_binary": "model",
            "pipeline_model_type": (config.get("architectures") or [None])[0],
            "task": "text-generation" if causal else "fill-mask",
            "torch_dtype": "torch.float32",
            "transformers_version": code["transformers"],
        },
    }
    there = found.pop("flavors", None)
    there = there if isinstance(there, dict) else {}
    own = dict(there.get("transformers") or {})
    tokenizer = own.pop("tokenizer_type", None)  # the name of a class of transformers: no path, no module
    if not isinstance(tokenizer, str) or not _CLASS.fullmatch(tokenizer):
        own["tokenizer_type"] = tokenizer
    failures = [
        f"{MLMODEL}: flavors.{flavor}.{key} is not what hush registers"
        for flavor, have, want in (
            ("python_function", there.get("python_function"), flavors["python_function"]),
            ("transformers", own, flavors["transformers"]),
        )
        for key in _different(have, want)
    ]
    failures += [f"{MLMODEL}: flavors.{name} is not what hush registers" for name in there.keys() - flavors]
    signature = found.pop("signature", None)
    if not _is_signature(signature, generation(int(kind.get("context", 0))) if causal else None):
        failures.append(f"{MLMODEL}: signature is not what hush registers")
    marks = {key: found.pop(key) for key in sorted(_MARKS & found.keys())}
    failures += [f"{MLMODEL}: {key} is no mark" for key, value in marks.items() if not _is_mark(key, value)]
    expected = _FIXED | {"mlflow_version": code["mlflow"]}
    return failures + [f"{MLMODEL}: {key} is not what hush registers" for key in _different(found, expected)]


def _different(have: Any, want: Mapping[str, Any]) -> list[str]:
    have = have if isinstance(have, dict) else {}
    return sorted(str(key) for key in have.keys() | want.keys() if have.get(key, ...) != want.get(key, ...))


def _is_mark(key: str, value: object) -> bool:
    if key == "model_size_bytes":
        return isinstance(value, int)
    return isinstance(value, str) and re.fullmatch(r"[\w:/. -]{0,1000}", value) is not None


def _is_signature(signature: Any, params: Mapping[str, Any] | None) -> bool:
    if not isinstance(signature, dict) or signature.keys() - {"inputs", "outputs", "params"}:
        return False
    try:
        parts = {key: json.loads(value) if value else None for key, value in signature.items()}
        given = {one["name"]: one["default"] for one in parts.get("params") or []}
    except (ValueError, TypeError, LookupError):
        return False
    return parts.get("inputs") == parts.get("outputs") == _STRING and given == (params or {})


def _mapping(path: Path) -> dict:
    """A small YAML or JSON document; empty if it is neither."""
    try:
        found = read_yaml(path.read_text("utf-8")) if path.is_file() else {}
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
