"""Cache keys and cached tasks, run by a real Prefect engine against its embedded server."""

import errno
import json
from enum import Enum
from pathlib import Path

import pytest
from prefect import flow
from pydantic import BaseModel

from tasks.models import Model
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.environment import home
from tasks.runtime.shared_store import SharedStore, SharedStoreError
from tasks.runtime.store import Ref, Store, open_store


class One(BaseModel):
    x: int = 1


class Two(BaseModel):
    x: int = 1


class Colour(Enum):
    RED = "red"


class Bundle(BaseModel):
    ref: Ref
    parts: list[Ref]


def test_equal_inputs_share_a_key_and_others_do_not():
    assert content_key("a", 1, {"x": 1, "y": 2}) == content_key("a", 1, {"y": 2, "x": 1})
    keys = [
        content_key("a", 1, 1), content_key("b", 1, 1), content_key("a", 2, 1), content_key("a", 1, 1.0),
        content_key("a", 1, "1"), content_key("a", 1, True), content_key("a", 1, [1]),
        content_key("a", 1, 1, 1),
        content_key("a", 1, b"1"), content_key("a", 1, One()), content_key("a", 1, Two()),
        content_key("a", 1, Colour.RED), content_key("a", 1, "red"), content_key("a", 1, {"x": 1}),
        content_key("a", 1, {1}), content_key("a", 1, None),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("bad", [Path("x"), object(), lambda: 0, {1: 2}])
def test_what_has_no_content_is_refused(bad):
    with pytest.raises(TypeError):
        content_key("a", 1, bad)


def make(name, calls, version=1):
    @cached_task(name=name, version=version, ignore=["note"])
    def step(x: int, note: str = "") -> Bundle:
        calls.append(x)
        store = Store(home().store)
        return Bundle(ref=store.put_json([name, x]), parts=[store.put_bytes(b"part %d" % x)])

    return step


def run(step, *arguments):
    @flow(name="test-caching")
    def once():
        return step(*arguments)

    return once()


def test_a_result_is_reused_by_its_own_task_only(prefect_harness):
    calls, others, newer = [], [], []
    step = make("cache-own", calls)
    first = run(step, 1)
    assert run(step, 1, "another note") == first and calls == [1]
    run(step, 2)
    assert calls == [1, 2]
    assert run(make("cache-other", others), 1) != first and others == [1]  # made by the same factory
    run(make("cache-own", newer, version=2), 1)
    assert newer == [1]


@pytest.mark.parametrize("damage", ["delete", "edit", "record"])
def test_a_dead_reference_is_never_handed_out(prefect_harness, damage):
    calls = []
    step = make(f"cache-{damage}", calls)
    before = {path.name for path in home().results.iterdir()}
    result = run(step, 7)
    part = Store(home().store).path(result.parts[0])
    if damage == "delete":
        part.unlink()
    elif damage == "edit":
        part.write_bytes(b"other")
    else:
        (record,) = (p for p in home().results.iterdir() if p.name not in before)
        record.write_text(record.read_text()[:60])  # a process killed while it wrote
    assert run(step, 7) == result and calls == [7, 7]
    assert Store(home().store).holds(result.parts[0])
    run(step, 7)
    assert calls == [7, 7]


@pytest.mark.parametrize("older", ['"unit"', "models.Model", "tasks.models"])
def test_a_result_of_an_older_hush_is_computed_again(prefect_harness, older):
    """A field, a type or a module that this one does not have."""
    calls = []

    @cached_task(name=f"cache-older-{older}", version=1)
    def step() -> Model:
        calls.append(older)
        return Model(files=open_store().put_bytes(b"model"), bits=None, unit="byte")

    before = set(home().results.iterdir())
    result = run(step)
    (record,) = set(home().results.iterdir()) - before
    quoted = json.dumps(older)[1:-1]
    assert quoted in record.read_text()
    record.write_text(record.read_text().replace(quoted, quoted[:-3] + "o" + quoted[-3:]))
    assert run(step) == result == run(step) and calls == [older, older]


@pytest.mark.parametrize("wrong", ["away", "full"])
def test_a_record_outlives_a_storage_that_is_away_and_a_disk_that_is_full(
    prefect_harness, tmp_path, monkeypatch, wrong
):
    calls, shared = [], tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("HUSH_STORE", shared.as_uri())
    step = make(f"cache-storage-{wrong}", calls)
    result = run(step, 3)
    part = Store(home().store).path(result.parts[0])
    part.unlink()
    with monkeypatch.context() as now:
        if wrong == "away":
            shared.rename(tmp_path / "away")
        else:
            now.setattr(SharedStore, "fetch", full)
        assert run(step, 3) == result and calls == [3]
        with pytest.raises(
            SharedStoreError if wrong == "away" else OSError, match="HUSH_STORE|No space left"
        ):
            Store(home().store).read_bytes(result.parts[0])
    if wrong == "away":
        (tmp_path / "away").rename(shared)
    assert run(step, 3) == result and calls == [3] and part.read_bytes() == b"part 3"


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_result_that_is_reused_is_published_where_the_storage_has_it_not(
    prefect_harness, tmp_path, monkeypatch
):
    calls, step = [], None
    for place in ("", "one", "two"):  # no storage yet, then one, then another
        if place:
            (tmp_path / place).mkdir()
            monkeypatch.setenv("HUSH_STORE", (tmp_path / place).as_uri())
        step = step or make("cache-published", calls)
        result = run(step, 5)
        for ref in (result.ref, *result.parts):
            Store(home().store).path(ref).unlink() if place else None
            assert Store(home().store).holds(ref)
    for file in (tmp_path / "two" / "objects").rglob("*"):
        if file.is_file():
            file.unlink()  # its keeper
    run(step, 5)
    assert calls == [5] and sum(path.is_file() for path in (tmp_path / "two").rglob("*")) == 2
