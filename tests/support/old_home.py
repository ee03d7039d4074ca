"""The home that the hush of release 25 (commit 13ed701) left behind: one run, its ledger and its certificate.

`old_home.json` holds the files as that hush wrote them, in base64: what `store/history` and `store/work` keep
of the run, the identity key, and the registered certificate with its tables. The weights (100 kB) are left out
of it and of `model_files`, and the certificate's digest is made again. It was made by `hush run` on the
repository of `jobs.Job(folder, seed=7)` with that commit's `CONFIG`, and packed by what
the git history of this file has."""

import base64
import json
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


def unpack(folder: Path) -> None:
    """`home`, a HUSH_HOME; `version`, what the registry has: `certificate` and `model`."""
    for name, text in json.loads(FILE.read_text()).items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(text))
