"""Each mistake is found, with its mend; where there is none, nothing is said."""

import os
import socket
import time
from datetime import UTC, datetime

import pytest
from local_servers import ROOT
from signing_keys import write_pair

from flows import doctor
from flows.doctor import KNOWN, examine
from tasks.runtime.approvals import Promotion, note_last
from tasks.runtime.environment import Home
from tasks.runtime.webhook import Message


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "_packages", lambda place: ())  # those of the machine that tests
    for name in [name for name in os.environ if name.startswith("HUSH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'home' / 'mlflow.db'}")
    home = Home(tmp_path / "home").create()
    home.identity_key()
    return home


TOLD = {"model": "m", "version": "1", "certificate_sha256": "0", "by": "ada", "decision": "d"}


def test_nothing_is_said_where_nothing_is_wrong(place):
    now = datetime.now(UTC).isoformat(timespec="seconds")
    Message(**TOLD, at=now, moved=True, tries=1, due=time.time() + 7200).keep()
    promoted("0" * 64)
    before = sorted(place.root.rglob("*"))
    assert list(examine(place)) == []
    assert sorted(place.root.rglob("*")) == before


def promoted(signature):
    """A version that this home made champion, by a decision with this signature."""
    Promotion(model="m", version="1", at="2026-11-23T02:00:00+00:00", moved=True).keep()
    note_last("m", "1", signature)


def test_a_champion_by_the_homes_own_key_is_told_where_an_organisation_signs(place, monkeypatch, tmp_path):
    key, trust = write_pair(tmp_path / "pair", "acme")
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(key))
    promoted("0" * 64)
    (found,) = map(str, examine(place))
    assert found.startswith("models:/m/1: is champion by this home's own key alone")
    promoted('{"payload": ""}')
    assert not list(examine(place))


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_each_mistake_is_found_with_its_mend(place, monkeypatch, tmp_path):
    (place.keys / "identity.key").chmod(0o644)
    place.store.chmod(0o755)
    other, _ = write_pair(tmp_path / "pair", "other")
    _, trust = write_pair(tmp_path / "pair", "acme")
    wrong = {
        "HUSH_HOMEE": "/x", "HUSH_CRON": "0 0 30 2 *", "HUSH_TIMEZONE": "Nowhere/Land",
        "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{closed_port()}", "MLFLOW_TRACKING_USERNAME": "hush",
        "HUSH_SIGNING_KEY": str(other), "HUSH_TRUST": str(trust), "HUSH_TRACKER_RETRIES": "soon",
        "HUSH_WEBHOOK_URL": "https://hooks.example.com/x", "HUSH_RUNNER": "tcp://10.0.0.7:8786",
        "HUSH_HOSTS": "here; ssh gpu2", "HUSH_STORE": (tmp_path / "no-mount").as_uri(),
    }  # fmt: skip
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    Message(**TOLD, at="2026-01-01", moved=True, tries=7, due=time.time() + 60).keep()
    config = tmp_path / "job.yaml"
    config.write_text("version: 1\nsecrets: []\nnonsense: 1\n")
    found = [str(one) for one in examine(place, config)]
    expected = (
        "identity.key: is a key, and open to others (044). Hint: chmod 600",
        "is open to others (055)",
        "HUSH_HOMEE: is set, and nothing reads it",
        "HUSH_CRON: is not a schedule",
        "HUSH_TIMEZONE: timezone is not",
        "does not answer",
        "MLFLOW_TRACKING_PASSWORD: is not set",
        "is not one of the keys",
        "webhook.secret): cannot be read",
        "HUSH_TRACKER_RETRIES: is no list of seconds",
        "HUSH_RUNNER: is a scheduler without TLS on another machine",
        "no-mount): does not answer as a storage does (NotADirectoryError)",
        "HUSH_INTERFACE: is not set: the ranks send each other sums that are not noised yet",
        "HUSH_WEBHOOK_URL: has not taken 1 promotion after 7 tries",
        "job.yaml",
    )
    missing = [part for part in expected if not any(part in line for line in found)]
    assert not missing and len(found) == len(expected), found
    assert all("Hint: " in line for line in found)


def test_packages_are_held_against_what_hush_is_made_for(monkeypatch, tmp_path):
    class Told:
        def __init__(self, version, requires=()):
            self.version, self.requires = version, requires

    installed = {"hush-secrets": Told("1", ["torch==2.13.0", "polars==2.1.*", 'x; extra == "bench"', "gone"])}
    installed |= {"torch": Told("2.13.0+cpu"), "polars": Told("2.2.0")}

    def distribution(name):
        if name not in installed:
            raise doctor.PackageNotFoundError
        return installed[name]

    monkeypatch.setattr(doctor, "distribution", distribution)
    found = [str(one) for one in doctor._packages(Home(tmp_path))]
    assert [line.split(":")[0] for line in found] == ["polars", "gone"]


def test_every_variable_that_is_read_is_known():
    import re

    files = [
        *ROOT.glob("flows/**/*.py"),
        *ROOT.glob("tasks/**/*.py"),
        *ROOT.glob("deploy/*"),
        *ROOT.glob("*.yml"),
    ]
    files = [file for file in files if file.is_file() and file.name != "doctor.py"]
    read = {name for file in files for name in re.findall(r"\bHUSH_[A-Z_]+\b", file.read_text())}
    assert read == KNOWN
