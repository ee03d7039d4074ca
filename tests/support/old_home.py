"""The home that the hush of release 25 (commit 13ed701) left behind: one run, its ledger and its certificate.

`old_home.json` holds the files as that hush wrote them, in base64: what `store/history` and `store/work` keep
of the run, the identity key, and the registered certificate with its tables. The weights (100 kB) are left out
of it and of `model_files`, and the certificate's digest is made again. It was made by `hush run` on the
repository of `jobs.Job(folder, seed=7)` with that commit's `CONFIG`, and then

    python tests/support/old_home.py HOME tests/support/old_home.json
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
LEFT_OUT = "model.safetensors"


def unpack(folder: Path) -> None:
    """`home`, a HUSH_HOME; `version`, what the registry has: `certificate` and `model`."""
    for name, text in json.loads(FILE.read_text()).items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(text))


def pack(home: Path) -> dict[str, str]:
    names = ("store/history/*/*", "store/work/*/releases.*", "keys/identity.key")
    found = {f"home/{p.relative_to(home)}": p.read_bytes() for name in names for p in home.glob(name)}
    (version,) = home.glob("mlartifacts/models/*/artifacts")
    for path in [*version.glob("certificate/*"), *version.glob("model/*")]:
        if path.name != LEFT_OUT:
            found[f"version/{path.relative_to(version)}"] = path.read_bytes()
    document = json.loads(found["version/certificate/certificate.json"])
    del document["model_files"][LEFT_OUT]
    for digest in ("", hashlib.sha256(_canonical(document | {"digest": ""})).hexdigest()):
        document["digest"] = digest
    found["version/certificate/certificate.json"] = _canonical(document)
    return {name: base64.b64encode(data).decode() for name, data in sorted(found.items())}


def _canonical(document: dict) -> bytes:
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(pack(Path(sys.argv[1])), indent=1) + "\n")
