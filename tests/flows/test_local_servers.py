"""Setting up the database cluster of `hush serve --postgres`, with a stand-in for PostgreSQL's own program. (With
that: tests/servers/test_faults.py.)"""

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
