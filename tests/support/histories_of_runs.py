"""Runs of a store, as the trainer makes them, and what later ones or a certificate count of them."""

import numpy as np
import polars as pl

from hush_core.history import PROFILES, RUNS, Earlier, RunHistory, RunText
from hush_core.history.ledger import ReleaseLedger
from tasks.runtime.environment import home

NAMES = (("path", "alpha"), ("credentials", "creds/rule:0123456789ab"), ("literals", "names/3:ba9876543210"))

SETTINGS = "5" * 64
"""Those of a certificate's own run."""


def earlier_of(runs, profiles, *, bare=(), unknown=0) -> Earlier:
    """Each run: (key, σ, T, released, settings); each profile: (run, secret, examples, rate, same promise)."""
    rows = [(number, *run) for number, run in enumerate(runs)]
    return Earlier(
        pl.DataFrame(rows, schema=RUNS, orient="row"), pl.DataFrame(profiles, schema=PROFILES, orient="row"),
        np.isin(np.arange(3), list(bare)), unknown,
    )  # fmt: skip


def history(store, **more):
    return RunHistory(store.root, key=home().identity_key(), identity=home().fingerprint("identity"), **more)


def text(*texts, names=NAMES, rates=None, edges=((0, 0), (1, 1), (2, 2)), sigma=2.0, rounds=9,
         target=1e-3, **more):  # fmt: skip
    """Example i holds secret i unless `edges` say otherwise."""
    frame = pl.DataFrame(edges, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    rows = [(n, kind, name, 1e-6, target) for n, (kind, name) in enumerate(names)]
    secrets = pl.DataFrame(rows, schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row")
    rates = np.full(len(texts), 0.5) if rates is None else np.array(rates)
    return RunText(list(texts), rates, frame, secrets, sigma, rounds, "settings", **more)


def released(store, run, what, releases=1, rounds=9):
    """A run as the trainer makes it: noted, then `releases` rounds."""
    witness = history(store).note(run, what)
    with ReleaseLedger(
        store.work_dir(run) / "releases.jsonl", run=run, rounds=rounds, witness=witness
    ) as ledger:
        for _ in range(releases):
            ledger.count()


def counts(store, run, what):
    return history(store).earlier(run, what).counts.tolist()
