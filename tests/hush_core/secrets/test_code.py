"""The digest by which scans are kept: of all code that decides what is found."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hush_core.secrets.code import ROOT, sources


def imports_of(path: Path) -> set[Path]:
    """The files of hush_core that a file imports, at its top or deeper."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = [ROOT.parent.joinpath(*name.split(".")) for name in names]
    files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
    return {file for file in files if file.is_file()}


def test_all_that_a_scan_for_credentials_imports_is_in_the_digest():
    found, new = set(), {ROOT / "secrets" / "detectors" / "credentials.py"}
    while new:
        found |= new
        new = {file for path in new for file in imports_of(path)} - found
    parts = {file.relative_to(ROOT).parts[0] for file in found - set(sources())}
    assert parts <= {
        "__init__.py",
        "config",
        "errors.py",
        "files.py",
        "memory.py",
        "progress.py",
        "strict_yaml.py",
    }
    assert len(found & set(sources())) > 60


SCAN = """
import sys
from pathlib import Path
from extracting import CREDENTIALS, KEY, job
from hush_core.secrets import extract
result = extract(job([sys.argv[1]], [CREDENTIALS]), KEY, cache=Path(sys.argv[2]))
print(result.coverage["blobs_scanned"], *(name.split(":")[0] for name in result.secrets["name"]))
"""


def test_a_rule_that_is_new_runs_in_a_home_that_has_scanned_before(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a.txt": b"see zorp-5b1d9e0c47a2f836e19b70d4c8a53f62e7b41d09 for it\n"})
    code = shutil.copytree(ROOT, tmp_path / "code" / "hush_core")
    paths = {"PYTHONPATH": f"{code.parent}{os.pathsep}{ROOT.parent / 'tests' / 'support'}"}

    def scanned() -> str:
        command = [sys.executable, "-c", SCAN, str(repo.path), str(tmp_path / "kept")]
        return subprocess.check_output(command, env=os.environ | paths, cwd=tmp_path, text=True)

    assert [scanned(), scanned()] == ["1\n", "0\n"]
    rules = code / "secrets" / "detectors" / "credential_formats.py"
    row = 'Format("hush.zorp", rb"zorp-[0-9a-f]{40}"),'
    rules.write_text(rules.read_text().replace("\n_EXACT = (\n", f"\n_EXACT = (\n    {row}\n"))
    assert scanned() == "1 creds/hush.zorp\n"
