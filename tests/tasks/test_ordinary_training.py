"""The unprotected model of a job in which every example holds a secret, so that no text validates."""

import polars as pl
from prefect.logging import disable_run_logger


def test_where_no_text_validates_the_unprotected_model_is_trained_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    from hush_core.config import ByteGptModel, TrainConfig, UntaggedConfig
    from tasks.models import keep, open_start
    from tasks.ordinary_training import train_unprotected
    from tasks.runtime.environment import home
    from tasks.runtime.store import Store
    from tasks.texts import TextsByRole

    store, shape = Store(home().create().store), ByteGptModel(layers=1, width=16, heads=2)

    def table(texts):
        return store.put_frame(pl.DataFrame({"text": texts}, schema={"text": pl.Binary}), kind="texts")

    none, everything = table([]), table([b"abc def ghi" * 2] * 30)
    texts = TextsByRole(plain=none, validation=none, held_out=none, held_back=none)
    with disable_run_logger():
        start = keep(store, open_start(store, shape, None, 32), none)
        done = train_unprotected.fn(
            texts, everything, start, shape, TrainConfig(rounds=4, batch=8), UntaggedConfig(), more=0
        )
    assert done.steps == 2 and done.model.files != start.files
