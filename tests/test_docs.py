"""docs/configuration.md says every key of the config, its default, and no key that there is not."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import typing
from pathlib import Path
from types import UnionType

import pytest
from pydantic import BaseModel

from hush_core.config import HushConfig, load_config

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def models_in(annotation: object) -> list[type[BaseModel]]:
    """Every model inside an annotation: itself, of a tuple, or of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in (tuple, typing.Union, UnionType, typing.Annotated):
        return [m for part in typing.get_args(annotation) for m in models_in(part)]
    return []


def keys_of(model: type[BaseModel], prefix: str = "") -> dict[str, set[str]]:
    """Dotted key → its defaults as the page writes them (several where kinds of secrets differ)."""
    keys: dict[str, set[str]] = {}
    for name, field in model.model_fields.items():
        inner = models_in(field.annotation)
        if field.is_required():
            default = "required"
        elif inner:
            default = "see below"
        else:
            value = field.get_default(call_default_factory=True)
            value = list(value) if isinstance(value, tuple) else value
            default = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
        keys.setdefault(prefix + name, set()).add(default)
        for one in inner:
            for key, defaults in keys_of(one, f"{prefix}{name}.").items():
                keys.setdefault(key, set()).update(defaults)
    return keys


def documented() -> dict[str, list[str]]:
    """Dotted key → the cells of its row."""
    rows = [
        [c.strip() for c in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| `")
    ]
    assert all(re.fullmatch(r"`[a-z_.]+`", row[0]) for row in rows)
    found = {row[0].strip("`"): row for row in rows}
    assert len(found) == len(rows), "a key is documented twice"
    return found


def test_every_key_is_documented_and_no_other():
    assert set(documented()) == set(keys_of(HushConfig))


def test_documented_defaults_are_the_models_own():
    keys = keys_of(HushConfig)
    wrong = {
        key: (row[-2], keys[key]) for key, row in documented().items() if row[-2].strip("`") not in keys[key]
    }
    assert not wrong


def test_the_smallest_config_on_the_page_loads(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    path = tmp_path / "job.yaml"
    path.write_text(example)
    assert load_config(path).secrets[0].protect == "auto"


CODE = {"path", "codeowners", "contributors", "credentials", "literals"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("demo.yaml", CODE),
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


def commands(page):
    """Every command of ours in the page's blocks: words, without comments and what is optional."""
    for block in re.findall(r"```(?:\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        for line in block.splitlines():
            line = re.sub(r"\[([^\]]*)\](\.\.\.)?", r"\1", line)  # [--secret NAME]...
            with contextlib.suppress(ValueError):  # a line of another language
                words = shlex.split(line, comments=True)
                if words and words[0] in ("hush", "make", ".venv/bin/hush"):
                    yield words


def test_the_pages_have_commands():
    assert sum(1 for page in PAGES for _ in commands(page)) > 25, "the test is blind"


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


@pytest.mark.parametrize(
    "page", sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


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
