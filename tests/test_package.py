"""Installed from its wheel, hush works as in a checkout: its files are in it, and no path leads out."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from jobs import Job

ROOT = Path(__file__).parents[1]
PARTS = ("hush", "hush_core", "tasks", "flows", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
BUILD_DEMO = """\
import sys
from pathlib import Path
from flows.demo.repository import build_demo_repository
assert "installed" in build_demo_repository.__code__.co_filename
build_demo_repository(Path("demo"))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of an environment with hush's wheel and, beside it, the libraries that are installed here."""
    folder = tmp_path_factory.mktemp("package")
    source, built, environment = folder / "source", folder / "built", folder / "installed"
    source.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", built, source]
    subprocess.run(build, check=True, timeout=600)
    (wheel,) = built.glob("*.whl")
    shutil.rmtree(source)
    shutil.copytree(ROOT / "lab", source)
    subprocess.run(build, check=True, timeout=600)
    shutil.rmtree(source)
    venv.create(environment, with_pip=False, symlinks=True)
    install = [
        *pip,
        "--python",
        environment / "bin" / "python",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True, timeout=600)
    (packages,) = environment.glob("lib/python*/site-packages")
    # a path alone: the .pth file there that leads to this checkout is not read
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment


@pytest.mark.slow
def test_a_wheel_does_from_another_folder_what_a_checkout_does(installed, tmp_path):
    job = Job(tmp_path, seed=51)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = {key: value for key, value in job.environment.items() if key != "PYTHONPATH"}

    def run(program, *arguments):
        done = subprocess.run(
            [installed / "bin" / program, *map(str, arguments)], cwd=elsewhere, env=kept, timeout=600,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:]
        assert str(ROOT) not in done.stdout
        return done.stdout

    assert run("hush", "--version").startswith("hush ")
    where = run(
        "python", "-c", "import flows, hush, hush_core, tasks; print(flows.__file__, hush_core.__file__)"
    )
    assert all(str(installed) in path for path in where.split())
    assert "1 can be protected" in run("hush", "secrets", job.folder / "repository", "--quiet")
    assert "wrote hush.yaml" in run("hush", "init", job.folder / "repository", "--quiet")
    assert "noise" in run("hush", "plan", "--quiet")
    assert "models:/job/1" in run("hush", "run", job.write(rounds=2), "--quiet")
    assert "certificate and model verified" in run("hush", "verify", "models:/job/1", "--quiet")
    alone = subprocess.run(
        [installed / "bin" / "hush", "replicate", "--list"], env=kept, cwd=elsewhere, text=True,
        capture_output=True,
    )  # fmt: skip
    assert alone.returncode == 2 and "pip install 'hush-secrets[lab]'" in alone.stderr
    (laboratory,) = (installed.parent / "built").glob("hush_secrets_lab*.whl")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        installed / "bin" / "python",
        "install",
        "-q",
        "--no-deps",
    ]
    subprocess.run([*pip, "--no-index", laboratory], check=True, timeout=600)
    assert "ngram" in run("hush", "replicate", "--list")
    run("python", "-c", BUILD_DEMO)
    assert "codenames" in run("hush", "secrets", "demo/demo.yaml", "--quiet")
