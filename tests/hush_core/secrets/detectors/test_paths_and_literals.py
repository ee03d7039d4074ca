"""Globs in gitignore syntax, and the file of literals."""

import pytest

from hush_core.errors import InputError
from hush_core.secrets.detectors.globs import Globs
from hush_core.secrets.detectors.literals import read_literals


def test_the_last_matching_glob_wins():
    globs = Globs(["lib/**", "!lib/api.py", "*.key", "!/lib/open/"], "w")
    hit = [p for p in ("lib/a.py", "lib/api.py", "x/y.key", "lib/open/z", "other") if globs.match(p)]
    assert hit == ["lib/a.py", "x/y.key"]


@pytest.mark.parametrize(
    ("globs", "matches"),
    [
        (["*.py", "!/src/"], False),
        (["!*.py", "/src/"], True),
        (["/src/", "!*.py"], False),
        (["!src/**", "*.py", "src/"], True),
        (["src"], True),
        (["/a.py"], False),
        (["a.py"], True),
        (["src/*"], True),
        (["sr?/[a-c].py"], True),
    ],
)
def test_order_alone_decides(globs, matches):
    """Pathspec's GitIgnoreSpec lets a pattern of files outrank a later one of folders; a missed file."""
    assert Globs(globs, "w").match("src/a.py") is matches


def test_odd_characters_do_not_slip_through():
    assert Globs(["trading/eu/**"], "w").match("trading/eu/a\ufffdb")


@pytest.mark.parametrize("glob", ["", "/", "!", "# comment", "   "])
def test_a_glob_that_can_match_nothing_is_refused(glob):
    with pytest.raises(InputError, match="matches nothing"):
        Globs(["ok", glob], "secrets.x.globs")


def test_literals_are_stripped_unique_and_numbered(tmp_path):
    file = tmp_path / "names.txt"
    file.write_bytes("\ufeffProject Falcon\r\n\n  caf\u00e9 \nProject Falcon\n#hash\n".encode())
    assert read_literals(file) == [(1, b"Project Falcon"), (3, "caf\u00e9".encode()), (5, b"#hash")]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"good one\nxy\n", b"canary-\xff\n", None])
def test_bad_literal_files_are_refused_without_their_content(tmp_path, content):
    file = tmp_path / "names.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_literals(file)
    assert "canary" not in str(error.value) and "xy" not in str(error.value).replace(str(tmp_path), "")
