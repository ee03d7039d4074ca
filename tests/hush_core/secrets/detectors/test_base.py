"""A detector out of another package: found by its entry point, validated by its own model, run by the engine."""

import importlib
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from extracting import KEY
from extracting import job as job_of
from waiting import PATIENCE

from hush_core.errors import InputError
from hush_core.secrets import detector_versions, detectors, extract, extraction
from hush_core.secrets.check import check_sources
from hush_core.secrets.detectors import base as detector
from hush_core.secrets.detectors import registry
from hush_core.secrets.detectors.base import Labels
from hush_core.secrets.detectors.registry import detector_of
from hush_core.secrets.propagation.value_search import SearchTerm


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """The example of detector.py's own docstring, installed."""
    lines = [line[4:] for line in detector.__doc__.splitlines() if line.startswith("    ") or not line]
    source = "\n".join(lines)
    code, _, packaging = source.partition("# pyproject.toml")
    assert '[project.entry-points."hush.detectors"]\nacme_marker = "acme_hush:DETECTOR"' in packaging
    site = tmp_path / "site"
    info = site / "acme-1.dist-info"
    info.mkdir(parents=True)
    (site / "acme_hush.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[hush.detectors]\nacme_marker = acme_hush:DETECTOR\nbroken = acme_gone:X\npath = acme_hush:DETECTOR\n"
    )
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("acme_hush", None)


def job(repo, **secret):
    return job_of([repo], [{"id": "x", **secret}], chunk_bytes=16)


def test_the_documented_example_works(acme, make_repo):
    repo = make_repo()
    repo.commit({"a": b"x" * 30 + b"MARK" + b"y" * 30, "b": b"nothing\n", "c": b"x" * 30 + b"MARK!"})
    config = job(repo, kind="acme_marker", text="MARK")
    result = extract(config, KEY)
    rows = result.edges.join(result.examples, on="example_id").select("path", "start", "reason").rows()
    assert set(rows) == {("a", 28, "acme_marker"), ("c", 28, "acme_marker")}
    assert result.secrets["kind"].to_list() == ["acme_marker"]
    assert config.model_dump(mode="json")["secrets"][0]["text"] == "MARK"
    assert re.fullmatch(r"[0-9a-f]{16}, acme_marker 1", detector_versions({"acme_marker", "path"}))


def test_what_a_detector_prepares_runs_beside_and_its_failure_is_the_detectors_to_tell(
    acme, make_repo, monkeypatch, tmp_path
):
    repo = make_repo()
    repo.commit({"a": b"x" * 30 + b"MARK"})
    config, plain = job(repo, kind="acme_marker", text="MARK"), detector_of("acme_marker")
    began, threads, folders = threading.Event(), [], []

    def prepare(cache):
        threads.append(threading.current_thread())
        folders.append(cache)
        began.set()
        raise RuntimeError("no rules")

    def detect(corpus, entry, context):
        assert began.wait(PATIENCE)
        return plain.detect(corpus, entry, context)

    monkeypatch.setitem(registry.OWN, "acme_marker", replace(plain, detect=detect, prepare=prepare))
    assert extract(config, KEY, cache=tmp_path / "kept").edges.height == 1
    assert len(threads) == 1 and threads[0] is not threading.main_thread()
    assert folders == [tmp_path / "kept"]


def test_a_stranger_is_told_what_each_file_of_the_rules_for_credentials_is_for():
    files = Path(detector.__file__).parent.glob("credential_*.py")
    told = set(re.findall(r"`(\w+)`", detectors.__doc__))
    assert {file.stem.removeprefix("credential_") for file in files} <= told


def test_its_own_check_refuses_before_a_text_is_read(acme, make_repo, monkeypatch):
    def check(config, entry):
        raise InputError(f"secrets.{entry.id}.text", f"is of {len(config.repos)} repository", "name another")

    config, plain = job(make_repo(), kind="acme_marker", text="MARK"), detector_of("acme_marker")
    monkeypatch.setitem(registry.OWN, "acme_marker", replace(plain, check=check))
    with pytest.raises(InputError, match=r"secrets\.x\.text: is of 1 repository"):
        check_sources(config)


def test_its_own_model_judges_the_entry_and_shows_no_value(acme, make_repo):
    repo = make_repo()
    with pytest.raises(InputError, match=r"secrets\.x\.text") as error:
        job(repo, kind="acme_marker", text=["canary"])
    assert "canary" not in str(error.value)
    with pytest.raises(InputError, match=r"unknown key secrets\.x\.more"):
        job(repo, kind="acme_marker", text="t", more=1)


def test_kinds_are_named_and_broken_packages_refused(acme, make_repo):
    repo = make_repo()
    with pytest.raises(InputError, match="unknown kind") as error:
        job(repo, kind="nothing")
    assert "path, codeowners" in error.value.hint and "acme_marker" in error.value.hint
    with pytest.raises(InputError, match="cannot be loaded"):
        job(repo, kind="broken")
    entry = job(repo, kind="path", globs=["a"]).secrets[0]
    assert type(entry).__name__ == "PathSecret", "ours cannot be taken"


def test_spreaders_see_what_was_found_and_their_values_are_sought(make_repo, monkeypatch):
    repo = make_repo()
    repo.commit(
        {"core.py": b"def risk(): ...\n", "user.py": b"import core\n", "far.py": b"x = 'risk_model'\n"}
    )
    seen = []

    def importers(corpus, config, found, labels, context):
        (core,) = labels.files_of(0).tolist()
        seen.append((found[0].name, corpus.file(core).path))
        user = [i for i in range(len(corpus)) if b"import core" in corpus.contents[corpus.blob[i]]]
        yield 0, Labels(files=user, search_terms=(SearchTerm(b"risk_model"),), reason="propagated:import")

    monkeypatch.setattr(extraction, "PROPAGATORS", (importers,))
    result = extract(job(repo, kind="path", globs=["core.py"]), KEY)
    rows = result.edges.join(result.examples, on="example_id").select("path", "reason").rows()
    assert set(rows) == {("core.py", "path"), ("user.py", "propagated:import"), ("far.py", "propagated:raw")}
    assert seen == [("x", "core.py")]
    assert result.coverage["secrets"]["x"]["propagated"] == 2
