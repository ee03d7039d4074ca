"""A storage that goes away amid a step ends the flow: it is no refusal of the point that was being worked out."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from prefect import flow

from flows import compare, rehearse
from flows.remedies import remedies
from flows.sweep import Point, noise_by_runs, price_all, refusal, weigh_all
from hush_core.config import Changes, load_config
from hush_core.errors import CertificationError, SetupError, Unavailable
from hush_core.rivals import Rival
from hush_core.weights import Scale, weight_settings
from tasks import calibration
from tasks.calibration import NoiseEstimate, paper_noise
from tasks.extraction import Extracted
from tasks.runtime.environment import home
from tasks.runtime.shared_store import SharedStoreError
from tasks.runtime.store import Ref, Store, StoreError
from tasks.weighing import Weighed

ROOT = Path(__file__).parents[2]
THERE = Ref(kind="frame", sha256="ab" * 32, suffix=".parquet")
"""An object that only the storage has."""


@pytest.fixture
def config():
    asked = load_config(ROOT / "examples" / "company.yaml")
    return asked.with_chosen(
        {"train.rounds": 20, "train.batch": 8, "weights.c": 0.1, "weights.without_secret": "plain"}
    )


@pytest.fixture
def extracted():
    names = ("examples", "edges", "secrets")
    return Extracted.model_construct(**dict.fromkeys(names, THERE), n_examples=3)


@pytest.fixture
def away(prefect_harness, tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH_STORE", (tmp_path / "not-mounted").as_uri())


def point(config):
    weighed = Weighed.model_construct(weights=THERE, edges=THERE, pools=None, largest_batch=1 << 30)
    settings = weight_settings(config, method="kl", scale=Scale(c=0.1))
    return Point("kl", settings, weighed, NoiseEstimate(noise_multiplier=1e6, distinct=1.0))


STEPS = {
    "weigh": lambda config, extracted: weigh_all([point(config)], extracted, config),
    "price": lambda config, extracted: price_all([point(config)], extracted, config),
    "runs": lambda config, extracted: noise_by_runs(THERE, THERE, "kl", extracted, config),
    "remedies": lambda config, extracted: remedies(point(config), extracted, config),
    "rehearse": lambda config, extracted: rehearse.Rehearsal(config, extracted, None).calibrate(Changes()),
}


@pytest.mark.parametrize("step", STEPS)
def test_no_step_of_a_plan_takes_it_for_a_result(away, config, extracted, step):
    @flow(name="test-storage-away")
    def planned():
        STEPS[step](config, extracted)

    with pytest.raises(SharedStoreError, match="HUSH_STORE .*fix it and start again"):
        planned()


@pytest.mark.parametrize("error", [SharedStoreError("away"), StoreError("gone"), SetupError("a", "b", "c")])
def test_what_is_away_is_no_refusal(error):
    assert isinstance(error, Unavailable)
    with pytest.raises(type(error)):
        refusal(error)
    assert refusal(CertificationError("no bound")) == "no bound"


def test_a_rehearsal_keeps_no_refusal_of_it(monkeypatch, config, extracted):
    asked = [(1, Changes())]
    search = SimpleNamespace(
        next=lambda trials: asked.pop() if asked else None, refuse=lambda *said: pytest.fail("it is kept")
    )
    monkeypatch.setattr(rehearse, "get_run_logger", lambda: SimpleNamespace(info=print))
    priced = rehearse.CalibratedPoint(weights=THERE, noise_multiplier=1.0, distinct=1.0, retained=1.0)
    monkeypatch.setattr(rehearse.Rehearsal, "calibrate", lambda *_: priced)
    rehearsal = rehearse.Rehearsal(config, extracted, None)

    def away(*_):
        raise SharedStoreError("away")

    monkeypatch.setattr(rehearse, "rehearse_point", away)
    monkeypatch.setattr(rehearse, "loss_of", away)
    with pytest.raises(SharedStoreError):
        rehearsal.rehearse_points(search, 1)
    row = SimpleNamespace(from_start=1.0, from_previous=1.0, model_dump=dict)
    monkeypatch.setattr(rehearse, "noise_by_runs", lambda *_: [row])
    with pytest.raises(SharedStoreError):
        rehearsal.loss_by_runs(SimpleNamespace(point=Changes()))


def test_the_papers_noise_is_not_kept_as_none(prefect_harness, monkeypatch):
    store = Store(home().store)
    frame = store.put_frame(pl.DataFrame({"weight": [1.0], "role": [calibration.CERTIFIED]}))
    for error in (StoreError("gone"), CertificationError("no bound")):

        def parts(*_, error=error, **__):
            raise error

        monkeypatch.setattr(calibration, "paper_weights", parts)

        @flow(name="test-paper-away")
        def once():
            return paper_noise.with_options(cache_key_fn=None, persist_result=False)(
                frame, frame, frame, 1, 1
            )

        if isinstance(error, Unavailable):
            with pytest.raises(StoreError):
                once()
        else:
            assert once() is None


def test_a_comparison_names_no_rival_for_it(monkeypatch, config):
    def away(*_):
        raise SharedStoreError("away")

    monkeypatch.setattr(compare, "_train_rival", away)
    monkeypatch.setattr(compare, "get_run_logger", lambda: SimpleNamespace(warning=print, info=print))
    rival = Rival("hush", config)
    progress = SimpleNamespace(done=lambda failed=False: None)
    with ThreadPoolExecutor(1) as threads, pytest.raises(SharedStoreError):
        compare._train_rivals(threads, [rival], 1, progress)
