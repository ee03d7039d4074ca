"""Load a registered model for use: verified, approved by a review and signed by who is trusted, or refused.

MLflow's own loaders hand out whatever carries an alias. This one looks first, and loads the very copy that it
verified. Nothing but the registry is asked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hush_core.errors import InputError, VerificationError
from tasks.runtime.environment import home, settings

if TYPE_CHECKING:
    from hush_core.certificate import Verification


@dataclass(frozen=True)
class LoadedModel:
    """A model that may be used.

    Attributes:
        network: the PyTorch model of transformers, on the CPU, in evaluation mode.
        tokenizer: its tokenizer.
        uri: the version that it is, `models:/NAME/VERSION`, whatever alias it was asked for by.
        approval: who approved it, when, and who signed that.
        verification: what `hush verify` found, with the certificate and every bound.
    """

    network: Any
    tokenizer: Any
    uri: str
    approval: str
    verification: Verification


def load(model_uri: str, *, trust: str | Path | None = None) -> LoadedModel:
    """Load `models:/NAME/VERSION` or `models:/NAME@ALIAS`.

    Args:
        trust: a public key of the organisation, or a folder of them; by default HUSH_TRUST, or that of HUSH_HOME.
            Without any, only the home that reviewed a model can load it.

    Guarantee: certificate and files verify as `hush verify` does it. A trusted key signed them, and the approval of
    this version with this certificate. No audit in the registry or in this home refuted it. Anyone who may write to
    the registry can restore the tags of an earlier approval after a rejection, unless the registry is closed
    (docs/certificates.md).

    Raises:
        VerificationError: one of these does not hold; nothing is loaded.
        InputError: there is no such version, no registry is named, or the keys cannot be read.
    """
    _prepare()
    from flows.registered import certificate_digest, verify_registered
    from hush_core.signing import read_trust
    from hush_core.training import load_model
    from tasks.runtime.approvals import check_approval, check_last
    from tasks.runtime.trust import trust_root
    from tasks.runtime.versions import CHAMPION, DIGEST, find_version

    trusted = read_trust(Path(trust)) if trust is not None else trust_root()
    entry = find_version(model_uri)
    uri = f"models:/{entry.name}/{entry.version}"  # an alias may move meanwhile
    with tempfile.TemporaryDirectory() as folder:
        verification, _ = verify_registered(uri, Path(folder), trust=trusted)
        if verification.refuted:
            raise VerificationError([f"{uri}: {verification.audit}"])
        if trusted is None and verification.certificate.facts.store != home().fingerprint("identity"):
            why = f"{uri}: is of another HUSH_HOME, and no trust root says whose review counts (HUSH_TRUST)"
            raise VerificationError([why])
        if certificate_digest(Path(folder)) != entry.tags.get(DIGEST):
            raise VerificationError([f"{uri}: changed while it was loaded"])  # what was approved is another
        approval = check_approval(entry, trusted)
        if model_uri.endswith(f"@{CHAMPION}"):
            check_last(entry, trusted)
        model = load_model(Path(folder) / "artifact" / "model")
    return LoadedModel(model.network.eval(), model.tokenizer, uri, approval, verification)


def _prepare() -> None:
    """The environment of the tracker; that of the orchestrator where nobody has imported it, whom it is no
    matter of."""
    missing = {name: value for name, value in settings(home()).items() if not os.environ.get(name)}
    database = home().mlflow_database
    if missing.get("MLFLOW_TRACKING_URI") == f"sqlite:///{database}" and not database.is_file():
        hint = "set it to your MLflow server"
        raise InputError("MLFLOW_TRACKING_URI", f"names no registry, and {database} is not one", hint)
    if "prefect" in sys.modules:
        missing = {name: value for name, value in missing.items() if not name.startswith("PREFECT_")}
    os.environ.update(missing)
