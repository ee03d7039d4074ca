"""CODEOWNERS: last match wins, sections add up, every file that any host reads counts."""

from __future__ import annotations

import pytest

from hush_core.errors import InputError
from hush_core.secrets.detectors import codeowners
from hush_core.secrets.detectors.codeowners import MAX_COMPARISONS, Codeowners, owned


def owners(text: str, path: str) -> set[str]:
    return set(Codeowners(text.encode()).owners(path))


def test_the_last_match_wins():
    text = "* @acme/all\n/src/ @acme/Risk @joe # note @not\n/src/open/ @acme/web\n/src/free/\n"
    assert owners(text, "README") == {"@acme/all"}
    assert owners(text, "src/a/b.py") == {"@acme/risk", "@joe"}
    assert owners(text, "src/open/x.py") == {"@acme/web"}
    assert owners(text, "src/free/x.py") == set()  # a pattern without owners takes ownership away
    assert owners(text, "lib/src/a.py") == {"@acme/all"}


def test_a_later_folder_outranks_an_earlier_suffix():
    assert owners("*.py @py\n/src/ @risk\n", "src/a.py") == {"@risk"}
    assert owners("/src/ @risk\n*.py @py\n", "src/a.py") == {"@py"}


def test_star_at_the_end_is_not_recursive():
    text = "* @all\ndocs/* @writers\n"
    assert owners(text, "docs/a.md") == {"@writers"}
    assert owners(text, "docs/deep/a.md") == {"@all"}


def test_what_lies_directly_in_a_folder_of_that_name():
    """GitHub: `docs/*` matches `docs/getting-started.md`, not `docs/build-app/troubleshooting.md`."""
    text = "* @all\n**/python/* @py\n/* @top\n"
    assert owners(text, "python/a/python/x.h") == {"@py"}
    assert owners(text, "python/x.h") == {"@py"}
    assert owners(text, "a/python/x.h") == {"@py"}
    assert owners(text, "python/a/x.h") == {"@all"}
    assert owners(text, "README") == {"@top"}
    assert owners("a/**/* @deep\n", "a/b/c/d") == {"@deep"}
    assert owners("a/*/* @two\n", "a/b/c/d") == set() and owners("a/*/* @two\n", "a/b/c") == {"@two"}


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


def test_escapes_comments_and_lines_nobody_understands():
    text = "# c @x\n!docs/ @neg\n/with\\ space/ @s\n*.md mail@x.org\n\n\\#odd @hash\n"
    assert owners(text, "with space/a") == {"@s"}
    assert owners(text, "a.md") == {"mail@x.org"}
    assert owners(text, "docs/a") == set()
    assert owners(text, "#odd") == {"@hash"}


def test_sections_each_have_a_last_match_and_defaults():
    text = "*.py @base\n[Risk][2] @acme/risk\n/eu/\n/us/ @acme/us\n^[Docs] @docs\n*.md\n[risk]\n/asia/\n"
    assert owners(text, "eu/a.py") == {"@base", "@acme/risk"}
    assert owners(text, "us/a.md") == {"@acme/us", "@docs"}
    assert owners(text, "asia/x") == {"@acme/risk"}


def test_any_file_may_own_and_case_does_not_matter():
    files = [Codeowners(b"* @acme/web\n"), Codeowners(b"/eu/ @Acme/Risk\n")]
    assert owned(files, ["@ACME/risk"], "eu/a")
    assert owned(files, ["acme/risk"], "eu/a")
    assert not owned(files, ["@acme/ris"], "eu/a")
    assert not owned(files, ["@acme/risk"], "us/a")
    assert not owned([], ["@acme/risk"], "eu/a")
