"""Does an example that a certificate is of hold a redacted value? Asked by `hush verify` in the home that made it.

A certificate names its examples by a keyed fingerprint. Under `redactions/` the private store notes which objects
that are: the examples, and the keyed fingerprints of what was replaced (`hush_core.secrets.fingerprints`). No value
is needed, and none is in a message.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from hush_core.errors import HushError, VerificationError
from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.shared_store import SharedStoreError
from tasks.runtime.store import Ref, Store

if TYPE_CHECKING:
    from hush_core.certificate import Verification

FOLDER = "redactions"


def note_redaction(store: Store, fingerprint: str, examples: Ref, public: Ref, fingerprints: Ref) -> None:
    """Keep where the examples and the fingerprints of one extraction lie, by the fingerprint of its examples."""
    refs = {"examples": examples, "public": public, "fingerprints": fingerprints}
    note = {name: ref.model_dump() for name, ref in refs.items()}
    file = private_folder(store.root / FOLDER) / f"{fingerprint}.json"
    write_whole(file, json.dumps(note, sort_keys=True).encode())


def check_redaction(verification: Verification) -> Verification:
    """Look for every redacted value in the examples that the certificate is of; what came of it is in `redaction`.

    Nothing to look for where nothing was redacted; "not checked" where this HUSH_HOME did not make the examples, or
    has them no longer. Raises VerificationError: an example holds one. Names the secret and the example, never the
    value."""
    facts, table = verification.certificate.facts, verification.tables["redacted.parquet"]
    if table.is_empty():
        return verification
    from hush_core.secrets.fingerprints import slips

    place = home()
    note = place.store / FOLDER / f"{facts.examples_fingerprint}.json"
    not_checked = "NOT CHECKED whether an example holds a redacted value"
    unseen = replace(verification, redaction=f"{not_checked}: the examples are not in this HUSH_HOME")
    if not note.is_file():
        return unseen
    try:
        store = Store(place.store)
        refs = {name: Ref(**ref) for name, ref in json.loads(note.read_bytes()).items()}
        fingerprints = store.read_frame(refs["fingerprints"], verify=True)
        texts = {kind: store.read_frame(refs[kind], verify=True) for kind in ("examples", "public")}
    except SharedStoreError as error:
        return replace(verification, redaction=f"{not_checked}: {error}")
    except (OSError, ValueError, HushError):
        return unseen
    if place.fingerprint(refs["examples"].sha256) != facts.examples_fingerprint:
        raise VerificationError([f"{note}: names other examples than those that the certificate is of"])
    failures, slow = [], 0
    for kind, frame in texts.items():
        found = slips(frame, fingerprints, place.identity_key())
        slow += found["redacted_id"].null_count()
        found = found.drop_nulls()
        names = found.join(table.select("redacted_id", "name"), on="redacted_id", how="left")
        failures += [
            f"{name or number}: was redacted, and is still in {kind} {example}"
            for number, example, name in names.select("redacted_id", "example_id", "name").iter_rows()
        ]
    if failures:
        raise VerificationError(sorted(failures))
    seen = fingerprints["redacted_id"].n_unique()
    late = f"; the search could not finish in time in {slow} of them, which are NOT CHECKED" if slow else ""
    return replace(
        verification,
        redaction=f"no example holds one of the {seen} of {table.height} redacted values that can be looked for "
        f"({sum(map(len, texts.values()))} examples, by keyed fingerprint){late}",
    )
