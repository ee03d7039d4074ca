"""What the processes of a run are given: every field, the large parts too, comes back as it was."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hush_core.accounting.correlated import Cycle, Strategy
from hush_core.config import LoraConfig, TrainConfig
from hush_core.corpus.prompted import PromptedText, ends_of
from hush_core.corpus.records import Records, texts_of_item
from hush_core.plan import ProtectionPlan
from hush_core.training import Job, OtherTexts

TEXTS = [
    b"plain",
    PromptedText(b"ask: say", ((4, 8),)),
    Records((b"a", PromptedText(b"q: a", ((3, 4),)))),
    Records((b"one",)),
    PromptedText(b"nothing said", ()),
]


@dataclass(frozen=True)
class Longer(Job):
    added: tuple[float, ...] = ()


def plan():
    cycle = Cycle(np.array([0, 1, -1]), 2, Strategy((1.0, 1 / 3)))
    bounds = pl.DataFrame({"secret_id": [0], "bound": [0.1 + 0.2]})
    rates = np.array([0.1, 1 / 3, 0.0])
    return ProtectionPlan(rates, np.float64(2) / 3, np.int64(7), 2, 0.7, "kl", bounds, 2, cycle)


def job(folder, kind=Job, **more):
    others = OtherTexts([b"public"], [b"untagged"], TEXTS[:2])
    settings = TrainConfig(rounds=7, batch=2, learning_rate=0.1 + 0.2)
    folders = folder / "work", folder / "out", others, "base", 5, folder / "witness"
    return kind(plan(), TEXTS, folder / "model", settings, LoraConfig(rank=2), *folders, **more)


def test_every_field_reaches_the_processes_one_that_is_added_too(tmp_path):
    given = job(tmp_path, Longer, added=(1 / 3, 1e-300))
    assert not [field.name for field in fields(given) if getattr(given, field.name) == field.default]
    given.write(tmp_path)
    got, files = Longer.read(tmp_path)
    assert {path.name for path in files} == {path.name for path in tmp_path.iterdir()} - {"job.json"}
    alike = {field.name for field in fields(given)} - {"plan", "texts", "others"}
    assert all(getattr(got, name) == getattr(given, name) for name in alike)
    for mine, theirs in [(given, got), (given.others, got.others)]:
        for name in ("texts", "public", "untagged", "validation"):
            read, written = (list(map(texts_of_item, getattr(one, name, ()))) for one in (theirs, mine))
            assert read == written
    assert len(got.texts) == len(TEXTS) and got.texts[2] == TEXTS[2]
    assert [ends_of(text) for text in got.others.validation] == [ends_of(text) for text in TEXTS[:2]]
    assert got.plan.digest == given.plan.digest and got.plan.certificates.equals(given.plan.certificates)
    assert got.plan.method == "kl" and not got.plan.rates.flags.writeable  # checked and closed again


def test_folders_are_named_from_the_root(tmp_path, monkeypatch):
    """A process on another machine begins elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert job(Path("here")).work_dir == tmp_path.resolve() / "here" / "work"


@pytest.mark.parametrize(("right", "wrong"), [(b'"rounds":7', b'"rounds":"many"'), (b'"plan"', b'"plans"')])
def test_what_is_no_job_is_refused(tmp_path, right, wrong):
    given = job(tmp_path)
    given.write(tmp_path)
    written = (tmp_path / "job.json").read_bytes()
    assert right in written
    (tmp_path / "job.json").write_bytes(written.replace(right, wrong))
    with pytest.raises(ValueError, match="validation error"):
        Job.read(tmp_path)
