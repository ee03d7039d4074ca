"""Setting up the database cluster of `hush serve --postgres`, with a stand-in for PostgreSQL's own program (with
that: tests/servers/test_faults.py); and what `--background` starts."""

import socket

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.local_servers import _make_cluster
from hush_core.errors import InputError
from tasks.runtime.environment import Home

INITDB = """#!/bin/sh
for argument; do
    case "$argument" in --pwfile=*) cat "${argument#--pwfile=}" > "$2/password";; esac
done
touch "$2/PG_VERSION"
"""


def test_a_cluster_is_made_where_a_kill_amid_an_earlier_one_left_its_password(tmp_path):
    programs, data, home = tmp_path / "bin", tmp_path / "data" / "pg", Home(tmp_path / "home").create()
    programs.mkdir()
    (programs / "initdb").write_text(INITDB)
    (programs / "initdb").chmod(0o755)
    data.parent.mkdir()
    (data.parent / ".pg.password").write_text("left behind")
    _make_cluster(programs, data, home, {})
    assert (data / "password").read_text() == home.password("postgres")
    assert {path.name for path in data.parent.iterdir()} == {"pg", ".pg.password"}, "a password was left"


@pytest.mark.parametrize("server", ["prefect", "mlflow"])
def test_each_server_listens_on_the_port_that_the_command_gives(server, monkeypatch, tmp_path):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("flows.command_line.answer", lambda: None)
    address = {"mlflow": "PREFECT_API_URL", "prefect": "MLFLOW_TRACKING_URI"}[server]
    monkeypatch.setenv(address, "http://127.0.0.1:9/api")  # the other one is named, and not started
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = ["serve", "--with-servers", f"--{server}-port", str(port)]
        error = CliRunner().invoke(app, words).exception
    assert isinstance(error, InputError) and error.where == f"port {port}", error


def test_in_the_background_the_command_is_the_same_with_all_its_options(monkeypatch):
    given = []
    monkeypatch.setattr("flows.serve.serve_in_background", lambda words: given.append(words) or "begun")
    for step in ("prepare", "answer"):
        monkeypatch.setattr(f"flows.command_line.{step}", lambda: None)
    words = ["--cron", "0 3 * * *", "--timezone", "Europe/Berlin", "--with-servers", "--postgres"]
    ports = ["--prefect-port", "4300", "--mlflow-port", "5300"]
    done = CliRunner().invoke(app, ["serve", *words, "--background", *ports, "--metrics", "9464"])
    assert (done.exit_code, done.output, given) == (0, "begun\n", [[*words, *ports, "--metrics", "9464"]])
