"""A release's notes are its section of the changelog, and the workflow refuses a tag that is not the version."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PYPROJECT = '[project]\nname = "x"\nversion = "1.2.0"\n'
CHANGELOG = """\
# Changes

## Unreleased

- not yet out

## 1.2.0 (2026-11-24)

- one
### Fixed
- two

## 1.1.0

## 1.12.0

- another
"""


def told(folder, tag, *, version="1.2.0"):
    (folder / "deploy").mkdir(exist_ok=True)
    (folder / "deploy" / "release.py").write_bytes((ROOT / "deploy" / "release.py").read_bytes())
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    (folder / "pyproject.toml").write_text(PYPROJECT.replace("1.2.0", version))
    command = [sys.executable, folder / "deploy" / "release.py", tag]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd="/")


def test_the_notes_are_the_versions_own_section(tmp_path):
    done = told(tmp_path, "v1.2.0")
    assert (done.returncode, done.stdout) == (0, "- one\n### Fixed\n- two\n")


@pytest.mark.parametrize(
    ("tag", "version", "says"),
    [
        ("v1.2.1", "1.2.0", "v1.2.1 does not name version 1.2.0"),
        ("1.2.0", "1.2.0", "does not name"),
        ("v1.2", "1.2", "no heading `## 1.2 "),
        ("v1.1.0", "1.1.0", "says nothing"),
        ("v1-12.0", "1-12.0", "no heading"),
    ],
)
def test_a_tag_without_its_version_or_section_is_refused(tmp_path, tag, version, says):
    done = told(tmp_path, tag, version=version)
    assert done.returncode == 1 and done.stdout == "" and says in done.stderr and done.stderr.count("\n") == 1


def test_the_changelog_and_the_workflow_are_as_the_script_reads_them():
    import tomllib

    changelog = (ROOT / "CHANGELOG.md").read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = [line for line in changelog.splitlines() if line.startswith("## ")]
    assert headings[0] in ("## Unreleased", f"## {version}") or headings[0].startswith(f"## {version} (")
    laboratory = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert laboratory["project"]["version"] == version
    assert laboratory["project"]["dependencies"] == [f"hush-secrets=={version}"]
    assert extras["lab"] == [f"hush-secrets-lab=={version}"]
    rooms = {f"lab.{path.parent.name}" for path in (ROOT / "lab").glob("*/__init__.py")}
    assert set(laboratory["tool"]["setuptools"]["packages"]) == rooms | {"lab"}
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    runs = [step.get("run", "") for step in jobs["build"]["steps"]]
    places = [next(n for n, run in enumerate(runs) if word in run) for word in
              ("deploy/release.py", "make lint", "make test", "python -m build")]  # fmt: skip
    assert places == sorted(places) and jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}, "no token is kept for the registry"
