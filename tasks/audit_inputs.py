"""What an audit of a registered model needs of the run that trained it, noted in the private store by certificate.

The texts and the values stay in the home that trained the model, so that is where it can be attacked.
"""

from __future__ import annotations

import json

from pydantic import BaseModel

from hush_core.certificate import read_certificate
from hush_core.errors import InputError
from hush_core.files import private_folder, write_whole
from tasks.models import Model
from tasks.runtime.store import Ref, Store

FOLDER = "auditable"


class AuditInputs(BaseModel, frozen=True):
    """The model before the certified rounds, and the tables that the attacks read."""

    start: Model
    examples: Ref
    occurrences: Ref
    secrets: Ref
    redactions: Ref
    redacted_values: Ref
    redacted: Ref


def note_inputs(store: Store, certificate: Ref, inputs: AuditInputs) -> None:
    """Keep them under the digest of the certificate."""
    digest = read_certificate(store.path(certificate)).digest
    folder = private_folder(store.root / FOLDER)
    write_whole(
        folder / f"{digest}.json", json.dumps(inputs.model_dump(mode="json"), sort_keys=True).encode()
    )


def find_inputs(store: Store, digest: str, uri: str) -> AuditInputs:
    """Those of the certificate with this digest. Raises InputError: this home did not train the model, or has lost
    what an attack needs."""
    note = store.root / FOLDER / f"{digest}.json"
    if not note.is_file():
        raise InputError(
            uri,
            "was not trained in this HUSH_HOME, which has neither its texts nor its secrets' values",
            "audit it in the home that trained it; a model of an older hush has to be trained again",
        )
    inputs = AuditInputs.model_validate_json(note.read_bytes())
    parts = {name: getattr(inputs, name) for name in AuditInputs.model_fields if name != "start"}
    missing = [name for name, ref in {**parts, "start": inputs.start.files}.items() if not store.holds(ref)]
    if missing:
        raise InputError(
            uri,
            f"cannot be attacked: the store of this HUSH_HOME has lost {', '.join(missing)}",
            "run the job again, which makes them again, or restore the store from a backup",
        )
    return inputs
