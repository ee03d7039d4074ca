"""Setting up the database cluster of `hush serve --postgres`, with a stand-in for PostgreSQL's own program (with
that: tests/servers/test_faults.py); and what `--background` starts."""

from typer.testing import CliRunner

from flows.cli import app
from flows.local_servers import _make_cluster
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


def test_in_the_background_the_command_is_the_same_with_all_its_options(monkeypatch):
    given = []
    monkeypatch.setattr("flows.serve.serve_in_background", lambda words: given.append(words) or "begun")
    for step in ("prepare", "answer"):
        monkeypatch.setattr(f"flows.command_line.{step}", lambda: None)
    words = ["--cron", "0 3 * * *", "--timezone", "Europe/Berlin", "--with-servers", "--postgres"]
    done = CliRunner().invoke(app, ["serve", *words, "--background", "--metrics", "9464"])
    assert (done.exit_code, done.output, given) == (0, "begun\n", [[*words, "--metrics", "9464"]])
