"""CODEOWNERS: last match wins, sections add up, every file that any host reads counts."""

import pytest

from hush_core.errors import InputError
from hush_core.secrets.detectors import codeowners
from hush_core.secrets.detectors.codeowners import MAX_COMPARISONS, Codeowners, owned

RULES = {
    "the last match wins": (
        "* @acme/all\n/src/ @acme/Risk @joe # note @not\n/src/open/ @acme/web\n/src/free/\n",
        {"README": {"@acme/all"}, "src/a/b.py": {"@acme/risk", "@joe"}, "src/open/x.py": {"@acme/web"},
         "src/free/x.py": set(),  # a pattern without owners takes ownership away
         "lib/src/a.py": {"@acme/all"}},
    ),
    "a later folder outranks an earlier suffix": ("*.py @py\n/src/ @risk\n", {"src/a.py": {"@risk"}}),
    "a later suffix outranks an earlier folder": ("/src/ @risk\n*.py @py\n", {"src/a.py": {"@py"}}),
    "a star at the end is not recursive": (
        "* @all\ndocs/* @writers\n", {"docs/a.md": {"@writers"}, "docs/deep/a.md": {"@all"}},
    ),
    "what lies directly in a folder of that name": (  # as GitHub says of `docs/*`
        "* @all\n**/python/* @py\n/* @top\n",
        {"python/a/python/x.h": {"@py"}, "python/x.h": {"@py"}, "a/python/x.h": {"@py"}, "python/a/x.h": {"@all"},
         "README": {"@top"}},
    ),
    "a folder at any depth": ("a/**/* @deep\n", {"a/b/c/d": {"@deep"}}),
    "two folders down": ("a/*/* @two\n", {"a/b/c/d": set(), "a/b/c": {"@two"}}),
    "a last line that no host understands": ("/src/ @risk\n[\n", {"src/a.py": {"@risk"}, "a.py": set()}),
    "such a line before others": ("[ @x\n/src/ @risk\n", {"src/a.py": {"@risk"}, "a.py": set()}),
    "escapes, comments and lines nobody understands": (
        "# c @x\n!docs/ @neg\n/with\\ space/ @s\n*.md mail@x.org\n\n\\#odd @hash\n",
        {"with space/a": {"@s"}, "a.md": {"mail@x.org"}, "docs/a": set(), "#odd": {"@hash"}},
    ),
    "sections each have a last match and defaults": (
        "*.py @base\n[Risk][2] @acme/risk\n/eu/\n/us/ @acme/us\n^[Docs] @docs\n*.md\n[risk]\n/asia/\n",
        {"eu/a.py": {"@base", "@acme/risk"}, "us/a.md": {"@acme/us", "@docs"}, "asia/x": {"@acme/risk"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_who_owns_what(rule):
    text, wanted = RULES[rule]
    parsed = Codeowners(text.encode())
    assert {path: set(parsed.owners(path)) for path in wanted} == wanted


def test_a_hostile_file_of_many_patterns_is_soon_refused(monkeypatch):
    """65,000 patterns for any path took minutes: each was compiled, and 2e9 comparisons were allowed."""
    assert MAX_COMPARISONS <= 100_000_000
    monkeypatch.setattr(codeowners, "MAX_COMPARISONS", 300_000)
    content = b"".join(b"*x%07d*y @t%d\n" % (i, i % 7) for i in range(16_384))
    parsed = Codeowners(content)
    with pytest.raises(InputError, match="comparisons") as error:
        for n in range(30):
            assert parsed.owners(f"src/{n}/file.py") == set()
    assert "kind: path" in error.value.hint
    assert not any(rule._used for section in parsed._sections for rule, _ in section._rules)


def test_any_file_may_own_and_case_does_not_matter():
    files = [Codeowners(b"* @acme/web\n"), Codeowners(b"/eu/ @Acme/Risk\n")]
    assert owned(files, ["@ACME/risk"], "eu/a")
    assert owned(files, ["acme/risk"], "eu/a")
    assert not owned(files, ["@acme/ris"], "eu/a")
    assert not owned(files, ["@acme/risk"], "us/a")
    assert not owned([], ["@acme/risk"], "eu/a")
