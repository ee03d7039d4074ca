"""Every bad word on the command line is told before a server is started: one line, status 2, no traceback.

The commands run in this process, each on a home, a config, a key or a folder that is really there; what would start
a server is replaced, and fails the test. `hush explain` has an entry for each.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from bad_inputs import CANARY, GOOD, TABLES, at, files_of, git, write

from flows import cli, command_line, supervision
from flows.explain import explain
from tasks.runtime.environment import Home

ROOT = Path(__file__).parents[2]
JOB = "job.yaml"
CASES = {
    # run
    ("run", "nowhere.yaml"): "nowhere.yaml",
    ("run", "empty"): "Is a directory",
    ("run", "/dev/zero"): "no plain file",
    ("run", JOB, "--rounds", "0"): "--rounds",
    ("run", JOB, "--rounds", "1" + "0" * 30): "--rounds",
    ("run", JOB, "--batch", "-1"): "--batch",
    ("run", JOB, "--learning-rate", "nan"): "--learning-rate",
    ("run", JOB, "--noise", "inf"): "--noise:",
    ("run", JOB, "--method", "magic"): "--method",
    ("run", JOB, "--c", CANARY): "--c",
    ("run", JOB, "--rond", "3"): "no such option",
    ("run",): "run `hush init`",
    ("run", JOB, "again.yaml"): "unexpected extra argument",
    ("run", JOB, "--plan", "nowhere.yaml"): "nowhere.yaml",
    ("run", JOB, "--plan", "names.txt"): "not a mapping",
    ("run", JOB, "--plan", "wrong_plan.yaml"): "learning_rat",
    ("HUSH_HOME=~nobody-at-all/x", "run", JOB): "HUSH_HOME",
    ("HUSH_HOME=names.txt", "run", JOB): "Hint: set HUSH_HOME",
    ("HUSH_HOME=s3://bucket/home", "run", JOB): "HUSH_HOME: is a URL: the ledger of releases needs a folder",
    ("HUSH_LOG_FORMAT=xml", "run", JOB): "neither text nor json",
    ("HUSH_RUNNER=ray", "run", JOB): "HUSH_RUNNER: is no runner",
    ("HUSH_RUNNER=tls://dask.example.com", "run", JOB): "HUSH_RUNNER: is no runner",
    ("HUSH_RUNNER=http://127.0.0.1:8786", "run", JOB): "HUSH_RUNNER: is no runner",
    ("HUSH_RUNNER=tcp://10.0.0.7:8786", "run", JOB): "HUSH_RUNNER: is a scheduler without TLS on another machine",
    ("HUSH_STORE=gs://bucket/x", "run", JOB): "HUSH_STORE: is no storage that hush can use",
    ("HUSH_SIGNING_KEY=nowhere.pem", "run", JOB): "nowhere.pem",
    ("HUSH_SIGNING_KEY=public.pem", "run", JOB): "no private key",
    ("HUSH_TRUST=nowhere", "run", JOB): "nowhere",
    ("HUSH_TRUST=", "run", JOB): "HUSH_TRUST",
    ("PREFECT_API_URL=ftp://nowhere", "run", JOB): "PREFECT_API_URL",
    ("MLFLOW_TRACKING_URI=file:///tmp", "run", JOB): "MLFLOW_TRACKING_URI",
    ("MLFLOW_TRACKING_URI=sqlite:////proc/x.db", "run", JOB): "MLFLOW_TRACKING_URI",
    (f"MLFLOW_TRACKING_URI=http://user:{CANARY}@127.0.0.1:9", "run", JOB): "MLFLOW_TRACKING_URI",
    # plan
    ("plan",): "hush: hush.yaml: is not in this folder. Hint: run `hush init`",
    ("plan", JOB, "--trials", "3"): "--rehearse",
    ("plan", JOB, "--trials", "many"): "--trials",
    ("plan", JOB, "--rehearse", "--trials", "0"): "--trials",
    ("plan", JOB, "--rehearse", "--minutes", "nan"): "--minutes",
    ("plan", JOB, "--rehearse", "--minutes", "-1"): "--minutes",
    ("plan", JOB, "--rehearse", "--examples", "inf"): "--examples",
    ("plan", JOB, "--rehearse", "--examples", "9", "--minutes", "1"): "two budgets",
    ("plan", JOB, "--c", "0"): "(0, 1]",
    ("plan", JOB, "--c", "nan"): "(0, 1]",
    ("plan", JOB, "--c", "1.5"): "(0, 1]",
    ("plan", JOB, "--noise", "1e9"): "[0.05, 1e6]",
    ("plan", JOB, "--noise", "-1"): "[0.05, 1e6]",
    ("plan", JOB, "--c", "0.1", "--noise", "1"): "both",
    ("plan", JOB, "--out", "names.txt"): "--out",
    ("plan", JOB, "--out", "/proc/x"): "--out",
    ("secrets", JOB, "--out", "/proc/x"): "--out",
    # secrets
    ("secrets", JOB, "--baseline", "nowhere"): "--baseline: nowhere: is no file",
    ("secrets", "--why", "short.txt"): "FILE:LINE",
    ("secrets", "--why", "nowhere:1"): "--why",
    ("secrets", "--why", "short.txt:99"): "lines",
    ("secrets", JOB, "--baseline", "/dev/zero"): "--baseline",
    ("secrets", JOB, "--baseline", "short.txt"): "not JSON",
    ("secrets", JOB, "--baseline", "list.json"): "no baseline",
    ("secrets", JOB, "--baseline", "deep.json"): "not JSON",
    ("secrets", JOB, "--baseline", "other.json"): "another version",
    ("secrets", JOB, "--baseline", "foreign.json"): "another identity key",
    ("secrets", JOB, "--out", "names.txt"): "--out",
    ("secrets", JOB, "--secret"): "--secret",
    ("secrets", "empty"): "not in a git repository",
    ("secrets",): "not in a git repository",
    ("secrets", "unborn"): "no commit",
    ("secrets", "broken.yaml"): "broken.txt:1",
    # init
    ("init",): "not in a git repository",
    ("init", "nowhere"): "is no folder",
    ("init", "names.txt"): "is no folder",
    ("init", "empty"): "not in a git repository",
    ("init", "unborn"): "no commit",
    ("init", "repository", "again"): "unexpected extra argument",
    ("secrets", "blame.yaml"): "attribute",
    # compare
    ("compare", JOB, "--mechanisms", "magic"): "no mechanism",
    ("compare", JOB, "--mechanisms", ","): "names none",
    ("compare", JOB, "--mechanisms", "hush/x/y/z"): "says nothing",
    ("compare", JOB, "--mechanisms", "user_wise/0"): "'0' says nothing",
    ("compare", JOB, "--seeds", "0"): "--seeds",
    ("compare", JOB, "--seeds", "-1"): "--seeds",
    ("compare", JOB, "--seeds", "many"): "--seeds",
    ("compare", JOB, "--seeds", "100000000"): "--seeds",
    ("compare", JOB, "--parallel", "0"): "--parallel",
    ("compare", JOB, "--out", "names.txt"): "--out",
    ("compare", "promise.yaml"): "promise",
    # audit
    ("audit",): "give one of the three",
    ("audit", "models:/x/1", "--code"): "give one of the three",
    ("audit", "--code", "--statistics"): "give one of the three",
    ("audit", "models:/x"): "does not name a version",
    ("audit", "models:/a/b/c"): "does not name a version",
    ("audit", "models:/x/-1"): "does not name a version",
    ("audit", "runs:/abc/model"): "does not name a version",
    ("audit", "models:/nowhere/1"): "not in the registry",
    ("audit", "models:/nowhere@champion"): "not in the registry",
    ("audit", "models:/nowhere/1", "--alternatives", "0"): "--alternatives",
    ("audit", "models:/nowhere/1", "--out", "names.txt"): "--out",
    # replicate
    ("replicate",): "give one of the two",
    ("replicate", "ngram", "--list"): "give one of the two",
    ("replicate", "nosuch"): "not known",
    ("replicate", "../ngram"): "not known",
    ("replicate", ""): "not known",
    ("replicate", "ngram", "--data", "empty"): "asks for none",
    ("replicate", "canary_secrecy"): "--data",
    ("replicate", "canary_secrecy", "--data", "nowhere"): "--data",
    ("replicate", "canary_secrecy", "--data", "empty"): "holds 0 files",
    ("replicate", "company", "--data", "empty"): "holds 0 files repository*.bundle",
    ("replicate", "ngram", "--out", "names.txt"): "--out",
    # serve
    ("serve",): "PREFECT_API_URL",
    ("serve", "nowhere.yaml", "--with-servers"): "nowhere.yaml",
    ("serve", JOB, "--cron", "99 99 * * *", "--with-servers"): "--cron",
    ("serve", JOB, "--cron", "daily", "--with-servers"): "--cron",
    ("serve", JOB, "--cron", "", "--with-servers"): "--cron",
    ("serve", JOB, "--cron", "0 0 30 2 *", "--with-servers"): "--cron",
    ("serve", JOB, "--timezone", "Mars/Olympus", "--with-servers"): "--timezone",
    ("serve", JOB, "--timezone", "", "--with-servers"): "--timezone",
    ("serve", JOB, "--timezone", "../../etc/passwd", "--with-servers"): "--timezone",
    ("serve", "--postgres"): "--with-servers",
    ("serve", "--background"): "--with-servers",
    # verify
    ("verify", "nowhere"): "neither a directory nor",
    ("verify", "names.txt"): "neither a directory nor",
    ("verify", ""): "neither a directory nor",
    ("verify", "empty"): "no certificate",
    ("verify", "models:/"): "does not name a version",
    ("verify", "models:/nowhere@champion"): "not in the registry",
    ("verify", "empty", "--delta", "2"): "--delta",
    ("verify", "empty", "--delta", "some"): "--delta",
    ("verify", "empty", "--secret", "x"): "--delta",
    ("verify", "empty", "--key", "nowhere"): "nowhere",
    ("verify", "empty", "--key", "signing.pem"): "signing.pem",
    ("verify", "empty", "--key", "empty"): "empty",
    # review
    ("review",): "missing argument",
    ("review", ""): "does not name a version",
    ("review", "empty"): "does not name a version",
    ("review", "models:/nowhere/one"): "does not name a version",
    ("review", "models:/nowhere/1"): "not in the registry",
    ("review", "models:/nowhere@champion"): "not in the registry",
    ("review", "models:/nowhere/99999999999999999999"): "not in the registry",
    ("review", "models:/nowhere/1", "--decision", "maybe"): "--decision",
    ("review", "models:/nowhere/1", "--decision", "approve", "--reason", "good"): "not in the registry",
    ("review", "models:/nowhere/1", "--jason"): "no such option",
    # backup, restore, and the rest
    ("backup",): "missing argument",
    ("backup", "repository"): "not empty",
    ("backup", "names.txt"): "names.txt",
    ("backup", "names.txt/x"): "names.txt/x",
    ("backup", "loop"): "loop",
    ("backup", "/proc/x"): "/proc/x",
    ("backup", "x" * 300): "File name too long",
    ("backup", "new", "newer"): "unexpected extra argument",
    ("HUSH_HOME=names.txt", "backup", "new"): "HUSH_HOME",
    ("HUSH_HOME=~nobody-at-all/x", "backup", "new"): "HUSH_HOME",
    ("restore", "nowhere"): "manifest.json",
    ("restore", "no_manifest"): "manifest.json",
    ("restore", "repository"): "manifest.json",
    ("runs", "--add", "nowhere"): "neither a directory nor",
    ("runs", "--add", ""): "neither a directory nor",
    ("canaries", "new", "--count", "0"): "--count",
    ("canaries", "new", "--count", "99999999999"): "--count",
    ("canaries", "new", "--count", "1000000", "--length", "4"): "canaries",
    ("canaries", "names.txt"): "names.txt",
    ("demo", "--directory", "names.txt"): "names.txt",
    ("schema", "nosuch"): "nosuch",
    ("explain", "nosuch"): "no entry of these words",
    ("stop", "now"): "unexpected extra argument",
    ("nosuch",): "no such command",
    ("--versoin",): "no such option",
}  # fmt: skip


def made_in(root):
    """Everything that the commands name, in one folder."""
    files_of(SimpleNamespace(mktemp=lambda _: root))
    write(root, GOOD, JOB)
    write(root, at(secrets__ids__file="broken.txt"), "broken.yaml")
    write(root, at(repos__0__mode="history", secrets__people__attribute="blame"), "blame.yaml")
    write(root, {**TABLES, "promise": {"runs": 3}}, "promise.yaml")
    write(root, {"learning_rat": 1}, "wrong_plan.yaml")
    (root / "list.json").write_text("[1]")
    (root / "deep.json").write_text("[" * 100_000)
    (root / "other.json").write_text('{"format": "hush baseline", "version": 99}')
    foreign = {"format": "hush baseline", "version": 1, "key": "0" * 32, "items": []}
    (root / "foreign.json").write_text(json.dumps(foreign))
    (root / "no_manifest").mkdir()
    git(root, "init", "-q", "unborn")
    (root / "no_manifest" / "manifest.json").write_text("[]")
    make = ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "signing.pem"]
    for words in (make, ["ec", "-in", "signing.pem", "-pubout", "-out", "public.pem"]):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=root, timeout=600)
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_in(tmp_path_factory.mktemp("commands"))


def told(folder, words, home):
    """Exit status and output of a command in the folder."""

    def begun(*_, **__):
        raise AssertionError("a server is started")

    if "backup" in words and not words[0].startswith("HUSH_HOME"):
        Home(home).create().identity_key()
    given = dict(word.split("=", 1) for word in words if word.split("=")[0].isupper())
    environment = {"HUSH_HOME": str(home), "MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db", **given}
    output, errors = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ, environment), patch.object(command_line, "serve", begun),
            patch.object(supervision.Children, "start", begun),
            patch.object(sys, "argv", ["hush", *words[len(given):]]),
            contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors),
        ):  # fmt: skip
            try:
                cli.main()
            except SystemExit as end:
                return end.code, output.getvalue(), errors.getvalue()
            return 0, output.getvalue(), errors.getvalue()
    finally:
        os.chdir(before)


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_bad_word_is_one_line_with_the_mend_and_starts_nothing(folder, tmp_path, words):
    status, output, errors = told(folder, words, tmp_path / "home")
    assert (status, output) == (2, ""), errors[-2000:]
    assert errors.startswith("hush: ") and errors.count("\n") == 1 and "Hint: " in errors
    assert CASES[words].lower() in errors.lower() and CANARY not in errors
    assert not list(tmp_path.rglob("*.db*")), "a tracker was made"
    assert explain([errors]), "flows/refusals.toml has no entry"


def test_the_version_is_told_and_hush_alone_says_what_there_is(folder, tmp_path):
    status, output, errors = told(folder, ("--version",), tmp_path)
    assert (status, errors) == (0, "") and output == f"hush {version('hush-secrets')}\n"
    status, output, errors = told(folder, (), tmp_path)
    assert status == 2 and "Commands" in (said := output + errors) and "hush: " not in said
