"""The pages: every key of the config, commands that exist and are run, links that lead somewhere, plain words."""

import contextlib
import re
import runpy
import shlex
from pathlib import Path

import pytest
from configuration_page import PAGE as CONFIGURATION
from configuration_page import filled, keys_of, models_in
from words import DIALECT, MOST_WORDS, wrong

from hush_core.config import HushConfig, load_config
from hush_core.config.section import Section

ROOT = Path(__file__).resolve().parents[1]
PAGE = CONFIGURATION.read_text(encoding="utf-8")


def test_the_lists_of_keys_are_what_the_schema_gives():
    assert filled(PAGE) == PAGE, "python tests/support/configuration_page.py"


def test_every_key_is_documented_and_no_other():
    said = re.findall(r"^- `([a-z_.]+)`(?: of `.*?`)? \(", PAGE, re.M)
    keys = {key.name for key in keys_of(HushConfig, "")}
    assert keys == set(said) and len(said) == len(keys) > 100


def test_a_key_without_words_cannot_be_documented():
    class Silent(Section):
        rounds: int = 1

    with pytest.raises(KeyError, match="rounds"):
        list(keys_of(Silent, "train."))
    assert models_in(tuple[Silent, ...] | None) == [Silent]


def test_the_smallest_config_on_the_page_loads(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    path = tmp_path / "job.yaml"
    path.write_text(example)
    assert load_config(path).secrets[0].protect == "auto"


CODE = {"path", "codeowners", "contributors", "credentials", "literals"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("../flows/demo/demo.yaml", {*CODE, "unit"}),
        ("company.yaml", CODE),
        ("documents.yaml", {"unit", "credentials", "literals"}),
        ("finetune.yaml", {"path", "credentials"}),
    ],
)
def test_examples_load(name, kinds):
    config = load_config(ROOT / "examples" / name)
    assert {secret.kind for secret in config.secrets} == kinds


def test_the_chat_example_loads_with_a_model_that_is_there(tmp_path):
    text = (ROOT / "examples" / "chat.yaml").read_text()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "chat_template.jinja").write_text("{{ messages }}")
    (tmp_path / "chat.yaml").write_text(text.replace("/srv/models/chat", "model"))
    config = load_config(tmp_path / "chat.yaml")
    assert [table.chat_template for table in config.tables] == ["{{ messages }}", None]
    assert config.model.lora.use_dora and {s.kind for s in config.secrets} == {"unit", "credentials"}


PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
BOOK = runpy.run_path(str(ROOT / "docs" / "conf.py"))["PAGES"]
LINKED = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "lab" / "docs").glob("*.md"))]


def commands(page):
    """Every command of ours in the page's blocks: words, without comments and what is optional."""
    for block in re.findall(r"```(?:\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        for line in block.splitlines() if "─" not in block else ():  # a drawing
            line = re.sub(r"\[([^\]]*)\](\.\.\.)?", r"\1", line)  # [--secret NAME]...
            with contextlib.suppress(ValueError):  # a line of another language
                words = shlex.split(line, comments=True)
                if words and words[0] in ("hush", "make", ".venv/bin/hush"):
                    yield words


def test_the_pages_have_commands():
    assert sum(1 for page in PAGES for _ in commands(page)) > 25, "the test is blind"


def test_every_variable_that_hush_reads_is_listed_and_no_other():
    from flows.doctor import KNOWN

    assert set(re.findall(r"`(HUSH_[A-Z_]*[A-Z])`", PAGE.partition("## Environment variables")[2])) == KNOWN


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_printed_command_is_one(page):
    """Its name, its options and the kinds of their values; paths and models are the reader's."""
    import typer

    from flows.cli import app

    known = typer.main.get_command(app).commands
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for program, name, *rest in commands(page):
        if program == "make":
            assert name in targets, name
            continue
        assert name in known, name
        known[name].make_context(name, list(rest))  # a UsageError names the option
        if name == "serve" and page.parent.name == "docs":
            assert "--with-servers" in rest, "no server is named, so it would refuse"


ONLY_PARSED = {
    ("replicate", "--full"): "the papers' sizes take hours, and a GPU",
    ("mutants", ""): "takes an hour, and libcst",
}
"""Printed commands that no test runs, and why."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_printed_command_is_run_by_a_test(page):
    """Some test starts the command, or the function below it, with each option that is printed."""
    own = {"test_docs.py", "test_bad_commands.py", "test_bad_configs.py"}  # where they are refused
    tests = [path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name not in own]
    for program, name, *rest in commands(page):
        started = f'"{name}"' if program == "hush" else f"hush {name}"
        started = {"up": '"serve"', "down": '"stop"', "test": "pytest"}.get(name, started)
        for option in [word.partition("=")[0] for word in rest if word.startswith("--")] or [""]:
            if (name, option) in ONLY_PARSED:
                continue
            given = (f'"{option}', f"{option[2:].replace('-', '_')}=") if option else ("",)
            found = [text for text in tests if re.search(rf"{started}|flows\.{name}", text)]
            assert any(one in text for text in found for one in given), (program, name, option)


def test_a_wrong_option_would_be_seen():
    import typer

    from flows.cli import app

    usage_error = typer.BadParameter.__mro__[1]  # typer brings its own click
    known = typer.main.get_command(app).commands
    for words in (["plan", "job.yaml", "--rehearsal"], ["plan", "job.yaml", "--trials", "many"], ["verify"]):
        with pytest.raises(usage_error):
            known[words[0]].make_context(words[0], words[1:])


def slugs(page):
    """The anchors of a page: those that it sets, and its headings as GitHub and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    own = set(re.findall(r'<a id="([^"]+)"', text))
    return own | {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    lost = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in slugs(target)):
            lost.append(link)
    assert not lost


def test_the_book_is_these_pages_and_no_others():
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} == set(BOOK)


def test_one_glossary_has_the_terms_of_the_readme_and_of_the_graph():
    from hush_core.weights.roles import ROLES

    assert [page.name for page in PAGES if re.search(r"^#+ Glossary", page.read_text(), re.M)] == [
        "glossary.md"
    ]
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = ["memorised", "false positive", "held-out loss", "per-example gradient", "redaction", "target"]
    assert [term for term in [*terms, *ROLES] if term.replace("_", " ") not in glossary.lower()] == []


def test_the_book_fits_an_hour():
    texts = {page.stem: page.read_text(encoding="utf-8").split() for page in (ROOT / "docs").glob("*.md")}
    count = {name: sum(1 for word in words if re.search(r"\w", word)) for name, words in texts.items()}
    assert sum(count.values()) <= 40_000, sorted(count.items(), key=lambda one: -one[1])
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize("page", LINKED, ids=lambda p: p.name)
def test_pages_are_written_in_plain_words_and_short_sentences(page):
    assert wrong(page.read_text(encoding="utf-8")) == []


def test_each_word_of_the_dialect_and_a_long_sentence_would_be_seen():
    ours = ["told", "anew", "is none", "mends", "learned by heart", "false lines", "plainly", "foretold", "whoever",
            "hangs on", "finalists", "lies in", "stands", "goes on", "sought"]  # fmt: skip
    for word in ours:
        (found,) = wrong(f"# A page\n\nSomething {word} here.\n")
        assert found.startswith(f"3: '{word}'") and any(instead in found for instead in DIALECT.values())
    long = " ".join(["word"] * (MOST_WORDS + 1))
    for text in (f"{long}.", f"- {long}.", f"| a | {long} |", f"[{long}](page.md)"):
        assert "36 words" in wrong(text)[0]
    assert wrong(f"```\nwhoever {long}\n```\nA `whoever` of code. {long[5:].capitalize()}.\n") == []


def test_the_security_page_names_tests_that_there_are():
    page = (ROOT / "docs" / "security.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or (test and f"def {test}(" not in (ROOT / file).read_text())
    ]
    assert not missing


def headings(page):
    """The anchors of a page: its headings as GitHub names them, and its own."""
    text = page.read_text(encoding="utf-8")
    plain = re.sub(r"```.*?```", "", text, flags=re.S)
    titles = (re.sub(r"[`*]", "", title) for title in re.findall(r"^#+ (.*)$", plain, re.M))
    found = {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}
    return found | set(re.findall(r'<a id="([^"]+)"', text))


LINKED = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "lab" / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", LINKED, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_to_a_heading_find_it(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8"))
    targets = [((page.parent / file if file else page), anchor) for file, anchor in links]
    assert [str(file) for file, _ in targets if not file.exists()] == []
    assert [anchor for file, anchor in targets if anchor and anchor not in headings(file)] == []


def test_every_proposition_that_the_code_cites_has_an_anchor():
    """Also those of mechanisms.md; their numbers stay when a page is written again."""
    kept = {anchor for page in LINKED for anchor in headings(page)}
    own = {"docs/mathematics.md", "docs/mechanisms.md", "mathematics.md"}
    cited = set()
    for room in ("hush_core", "tasks", "flows", "lab"):
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(name in text for name in own):
                cited |= set(re.findall(r"Proposition ([RCM]?\d*)\b", text))
    cited.discard("")
    assert len(cited) > 10
    assert [name for name in sorted(cited) if f"proposition-{name.lower()}" not in kept] == []
