"""The runs that a certificate knows, as another store can count them: its own, and those that it counted itself.

Names identify secrets, and names of values are digests under the identity key. So only a store with the same key
can count them: a copy, a restored backup, or a second machine with that key.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.certificate.verify import Verification
from hush_core.errors import InputError
from hush_core.history.record import EDGES, SECRETS, TEXTS, RunRecord
from hush_core.history.run_text import identity_of


@dataclass(frozen=True)
class KnownRun:
    """One run that a certificate knows: its public name, what it drew, and how many rounds it released."""

    key: str
    record: RunRecord
    released: int


def known_runs(verification: Verification, *, identity: str) -> list[KnownRun]:
    """The certificate's own run, and every earlier one that it counts.

    Args:
        identity: the public name of this store's identity key.

    The examples of a run are in its record without their texts, so only names find them again. A secret that one of
    the runs trained on without noise is so in the record of the certificate's own run.

    Raises:
        InputError: the certificate is of another key, or counts runs of which it does not say how they drew.
    """
    facts, tables = verification.certificate.facts, verification.tables
    if facts.store != identity:
        raise InputError(
            verification.certificate.facts.name,
            "was made under another identity key, so its secrets cannot be compared with these",
            "train both under one key (keys/identity.key of HUSH_HOME), or let nobody keep models of both",
        )
    if facts.unknown_runs:
        raise InputError(
            facts.name,
            f"counts {facts.unknown_runs} runs of which it does not say how they drew",
            "nothing can be promised over all runs with these",
        )
    secrets = tables["secrets.parquet"].sort("secret_id")
    names = [identity_of(kind, name) for kind, name in secrets.select("kind", "name").iter_rows()]
    promised = secrets.select("prior", "posterior").rows()
    noise_free = tables["bounds.parquet"].sort("secret_id")["bare"].to_numpy()
    plan = facts.plan
    weights = tables["weights.parquet"]["weight"].to_numpy()
    rates, sigma, _ = plan.as_run(weights, tables["edges.parquet"])
    own: list[tuple[int, float | None]] = [
        (secret, float(rates[example]))
        for secret, example in tables["edges.parquet"].select("secret_id", "example_id").iter_rows()
        if rates[example] > 0
    ]
    own += [(int(secret), None) for secret in np.flatnonzero(noise_free)]
    mechanism = sigma if plan.rounds else 0.0, plan.rounds, plan.settings
    released = facts.training.rounds_released or int(not plan.rounds)
    found = [KnownRun(facts.run, _record(facts.run, mechanism, own, names, promised), released)]
    for run in tables["runs.parquet"].iter_rows(named=True):
        history = tables["history.parquet"].filter(run=run["run"])
        columns = history.select("secret_id", "rate", "same_promise", "examples").iter_rows()
        rows = [row for *row, examples in columns for _ in range(examples)]
        kept = {secret for secret, _, same in rows if same}
        as_then = [terms if secret in kept else (None, None) for secret, terms in enumerate(promised)]
        mechanism = run["noise_multiplier"], run["rounds"], run["settings"]
        drawn = [(secret, rate) for secret, rate, _ in rows]
        found.append(
            KnownRun(run["key"], _record(run["key"], mechanism, drawn, names, as_then), run["released"])
        )
    return found


def _record(
    key: str,
    mechanism: tuple[float, int, str],
    drawn: list[tuple[int, float | None]],
    names: list[str],
    promised: list[tuple],
) -> RunRecord:
    sigma, rounds, settings = mechanism
    used = sorted({secret for secret, _ in drawn})
    place = {secret: n for n, secret in enumerate(used)}
    rows = [(names[secret], *promised[secret]) for secret in used]
    marks = (hashlib.blake2b(f"{key} {n}".encode(), digest_size=8).digest() for n in range(len(drawn)))
    hashes = np.frombuffer(b"".join(marks), dtype=np.uint64)
    return RunRecord(
        sigma, rounds, settings,
        pl.DataFrame(rows, schema=SECRETS, orient="row"),
        pl.DataFrame({"hash": hashes, "rate": [rate for _, rate in drawn]}, schema=TEXTS),
        pl.DataFrame({"secret": [place[s] for s, _ in drawn], "text": range(len(drawn))}, schema=EDGES),
    )  # fmt: skip
