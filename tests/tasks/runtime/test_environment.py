"""HUSH_HOME, its keys, and what is respected; in fresh processes, as settings are read at import."""

import stat
import subprocess
import sys

import pytest
from fresh_process import environment, run

from hush_core.errors import InputError
from tasks.runtime.environment import Home, retry_pauses


def test_folders_are_private_and_settings_are_read(tmp_path):
    code = (
        "from tasks.runtime.environment import prepare_environment; prepare_environment(); import os;"
        "from prefect.settings import get_current_settings as g; s = g();"
        "print(os.environ['MLFLOW_TRACKING_URI'], os.environ['DO_NOT_TRACK']);"
        "print(s.home, s.server.ephemeral.startup_timeout_seconds, s.server.analytics_enabled)"
    )
    done = run(code, tmp_path / "home")
    assert done.stdout.split() == [
        f"sqlite:///{tmp_path / 'home/mlflow.db'}", "true", str(tmp_path / "home/prefect"), "120", "False",
    ]  # fmt: skip
    for name in ("", "keys", "store"):
        assert stat.S_IMODE((tmp_path / "home" / name).stat().st_mode) == 0o700


def test_what_the_user_set_is_respected(tmp_path):
    code = (
        "from tasks.runtime.environment import prepare_environment; prepare_environment(); import os;"
        "print(os.environ['MLFLOW_TRACKING_URI'], os.environ['PREFECT_API_URL'])"
    )
    given = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9", "PREFECT_API_URL": "http://127.0.0.1:8/api"}
    assert run(code, tmp_path / "h", **given).stdout.split() == list(given.values())


def test_too_late_is_refused(tmp_path):
    done = run(
        "import prefect; from tasks.runtime.environment import prepare_environment as p; p()", tmp_path / "h"
    )
    assert done.returncode == 1
    assert "before prepare_environment" in done.stderr


def test_identity_key_is_made_once_even_by_many(tmp_path):
    code = "from tasks.runtime.environment import home; print(home().create().identity_key().hex())"
    given = environment(tmp_path / "h")
    many = [subprocess.Popen([sys.executable, "-c", code], env=given, stdout=-1) for _ in range(6)]
    keys = {child.communicate(timeout=600)[0] for child in many}
    assert len(keys) == 1 and len(keys.pop().strip()) == 64
    assert stat.S_IMODE((tmp_path / "h/keys/identity.key").stat().st_mode) == 0o600
    assert [p.name for p in (tmp_path / "h/keys").iterdir()] == ["identity.key"]


@pytest.mark.parametrize(
    ("given", "taken"),
    [("5", True), (",".join("1" * 50), True), (",".join("1" * 51), False), ("soon", False), ("-1", False)],
)
def test_pauses_are_what_prefect_takes_for_a_step(monkeypatch, given, taken):
    from prefect import task

    monkeypatch.setenv("HUSH_TRACKER_RETRIES", given)
    if taken:
        pauses = retry_pauses()
        task(lambda: None, name="x", retries=len(pauses), retry_delay_seconds=pauses)
    else:
        with pytest.raises(InputError, match="HUSH_TRACKER_RETRIES"):
            retry_pauses()


def test_damaged_key_is_refused_without_showing_it(tmp_path):
    place = Home(tmp_path / "h").create()
    (place.keys / "identity.key").write_bytes(b"short-and-secret")
    with pytest.raises(InputError) as caught:
        place.identity_key()
    assert "short-and-secret" not in str(caught.value)
