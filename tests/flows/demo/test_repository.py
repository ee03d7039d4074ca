"""The demo's repository: real, the same each time, and extraction finds every planted value."""

from __future__ import annotations

import ast
import hashlib
import hmac
import os
import subprocess
from pathlib import Path

import pytest
from kingfisher_sdk import Scanner

from flows.demo.repository import TEMPLATE, Demo, build_demo_repository
from hush_core.auditing.made_up import encoded_copies, make_codenames, make_credentials
from hush_core.config import load_config
from hush_core.errors import InputError
from hush_core.secrets import extract

KEY = b"a key of the tests, 32 bytes long"


def git(demo: Demo, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(demo.repository), *arguments]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=600
    ).stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Demo:
    return build_demo_repository(tmp_path_factory.mktemp("demo"), full=True, private_bytes=900_000)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Demo:
    return build_demo_repository(tmp_path_factory.mktemp("small"))


@pytest.mark.slow
def test_every_credential_is_in_its_providers_format():
    scanner = Scanner()
    for credential in make_credentials(seed=11):
        line = f'{credential.variable} = "{credential.value.decode()}"\n'
        if credential.companion:
            line = f'{credential.companion[0]} = "{credential.companion[1]}"\n' + line
        assert credential.value.decode() in [f.secret for f in scanner.scan(line)], credential.name


def test_the_seed_decides_the_values():
    values = {seed: [c.value for c in make_credentials(seed)] for seed in (1, 2)}
    assert values[1] == [c.value for c in make_credentials(1)]
    assert set(values[1]).isdisjoint(values[2])
    assert set(make_codenames(1)).isdisjoint(make_codenames(2))


def test_no_value_is_shown_or_stands_in_the_source(demo):
    root = Path(__file__).resolve().parents[3]
    files = [*(root / "flows").glob("*.py"), *(root / "examples").glob("*.yaml")]
    source = b"".join(path.read_bytes() for path in files)
    shown = repr(demo) + repr(make_credentials(7))
    for value in demo.planted.values():
        assert value not in source
        assert value.decode() not in shown


def test_equal_input_gives_equal_commits_and_a_rebuild_replaces(small, tmp_path):
    first = build_demo_repository(tmp_path)
    assert first.commit == small.commit
    assert first.planted == small.planted
    other = build_demo_repository(tmp_path, seed=8)
    assert other.commit != small.commit
    assert git(other, "rev-parse", "HEAD").strip() == other.commit
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "codenames.txt", "demo.yaml", "letters.jsonl", "repository",
    ]  # fmt: skip


@pytest.mark.slow
def test_settings_of_the_user_do_not_matter(small, tmp_path, monkeypatch):
    config = tmp_path / "gitconfig"
    config.write_text("[core]\n autocrlf = true\n[init]\n defaultBranch = x\n[user]\n name = Someone\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert build_demo_repository(tmp_path / "demo").commit == small.commit


def test_what_is_no_demo_is_never_touched(tmp_path):
    mine = tmp_path / "repository" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("ten years of work")
    with pytest.raises(InputError, match="no demo of ours"):
        build_demo_repository(tmp_path)
    assert mine.read_text() == "ten years of work"


def test_history_has_several_people_a_merge_and_a_co_author(demo):
    people = set(git(demo, "log", "--format=%ae").split())
    assert len(people) >= 4
    assert len({p.partition("@")[2] for p in people}) >= 3
    assert len(git(demo, "rev-list", "--merges", "main").split()) == 1
    assert "Co-authored-by: " in git(demo, "log", "--format=%b")
    assert git(demo, "status", "--porcelain") == ""
    assert "broken" not in git(demo, "fsck", "--strict")


def test_size_and_layout(demo):
    sizes = {
        path: int(size)
        for _, _, _, size, path in (
            r.split(None, 4) for r in git(demo, "ls-tree", "-rl", "main").splitlines()
        )
    }
    public = sum(size for path, size in sizes.items() if path.startswith("third_party/"))
    own = sum(sizes.values()) - public
    assert public >= 3_000_000
    assert 600_000 <= own <= 1_000_000
    owners = git(demo, "show", "main:CODEOWNERS")
    assert len({word for word in owners.split() if word.startswith("@")}) >= 3


def test_modules_stay_valid_python(demo):
    private = [p for p in demo.repository.rglob("*.py") if "third_party" not in p.parts]
    assert len(private) > 50
    for path in private:
        ast.parse(path.read_bytes())


def test_each_credential_stands_in_many_files_and_some_only_encoded(demo):
    private = [p for p in demo.repository.rglob("*") if p.is_file() and ".git" not in p.parts]
    texts = [p.read_bytes() for p in private if "third_party" not in p.parts]
    for credential in make_credentials(7):
        assert 6 <= sum(credential.value in text for text in texts) <= 54
    copies = [text for c in make_credentials(7) for text in encoded_copies(c).values()]
    assert sum(any(copy.encode() in text for text in texts) for copy in copies) >= 8


def test_extraction_finds_everything_that_was_planted(small):
    found = extract(load_config(small.config), KEY)
    marks = {name.rpartition(":")[2] for name in found.secrets["name"]}
    for name, value in small.planted.items():
        body = value.split(b"-----")[2].strip() if value.startswith(b"-----BEGIN") else value
        assert hmac.new(KEY, body, hashlib.sha256).hexdigest()[:12] in marks, name
    kinds = {"path", "codeowners", "contributors", "unit", "credentials", "literals"}
    assert set(found.secrets["kind"]) == kinds
    assert found.secrets.filter(found.secrets["kind"] == "unit").height > 1000
    reasons = set(found.edges["reason"])
    assert {"propagated:base64", "propagated:hex"} <= reasons
    for secret_id in found.secrets["secret_id"]:
        assert found.edges.filter(found.edges["secret_id"] == secret_id).height > 0


def test_full_takes_the_values_that_the_config_has_for_it(small, demo):
    assert small.config.read_bytes() == TEMPLATE.read_bytes()
    less, more = load_config(small.config), load_config(demo.config)
    assert (less.chunk_bytes, more.chunk_bytes) == (128, 256)
    assert (more.model.width, more.pretrain.steps, more.untagged.steps) == (128, 800, 1000)
    assert more.audit.alternatives == 300 > less.audit.alternatives
    assert less.secrets[:4] == more.secrets[:4] and less.train == more.train
