"""What a change of the rules loses is seen, and what it keeps is not."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_a_narrower_scanner_loses_lines_and_the_same_one_loses_none(tmp_path):
    script = tmp_path / "now/lab/benchmarks/credential_lost.py"
    script.parent.mkdir(parents=True)
    shutil.copy(ROOT / "lab/benchmarks/credential_lost.py", script)
    for name in ("before", "now"):
        room = tmp_path / name / "hush_core/secrets/detectors"
        room.mkdir(parents=True)
        kept = "b'ann' not in text and " if name == "now" else ""
        scanner = (
            "class CredentialScanner:\n    def scan(self, text):\n        line = text.split(b'\\n')[1]\n"
        )
        scanner += f"        return [type('', (), {{'value': line}})] if {kept}line else []\n"
        (room / "credentials.py").write_text(scanner)
        for folder in (room, room.parent, room.parent.parent):
            (folder / "__init__.py").touch()

    def compared(before):
        command = [sys.executable, str(script), "--before", str(tmp_path / before), "--count", "300"]
        return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin"})

    lost, kept = compared("before"), compared("now")
    assert lost.returncode == 1 and "ann" in lost.stdout and "now 300" not in lost.stdout
    assert kept.returncode == 0 and "lost: 0" in kept.stdout
