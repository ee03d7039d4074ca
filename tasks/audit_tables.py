"""The last steps of `hush audit`: the attacks against the certificate, and what is published of them.

Published are numbers a secret, a text or a unit, with the names that the certificate has; no value, text or path.
"""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.auditing.document import AttackFacts
from hush_core.certificate import read_certificate, read_tables
from tasks.audit import SEED, ExtractedShares, Losses, MemberTexts
from tasks.runtime.caching import cached_task
from tasks.runtime.store import Ref, open_store

SAMPLES = (1, 4, 16)
"""Texts of a unit that the attacker of user inference holds."""
UNITS = (10, 30, 100)


class Tested(BaseModel, frozen=True):
    """The tests against the certificate, and what was found of each secret (`against_certificate.TABLE`)."""

    facts: tuple[AttackFacts, ...]
    outcome: str
    table: Ref
    redacted: Ref | None = None


class Measured(BaseModel, frozen=True):
    """What an attack that is no test came to, and its published tables."""

    facts: AttackFacts
    table: Ref | None = None
    curves: Ref | None = None


@cached_task(name="audit_test", version=3)
def test_against_certificate(
    certificate: Ref,
    written: tuple[Ref, Ref],
    ranked: tuple[Ref, Ref],
    redacted: tuple[Ref, Ref, Ref, Ref] | None,
) -> Tested:
    """Every secret's attacks against what the certificate says of it; (after, before) the rounds.

    `redacted`: written and ranked values that were redacted, each after and before. Their bound is their prior.
    """
    from hush_core.auditing.against_certificate import asked_priors, judge
    from hush_core.auditing.document import outcome_of
    from hush_core.auditing.every_step import EVERY_STEP, attack_every_step, evidence_of_steps
    from hush_core.auditing.facts import every_step_facts, facts_of_tests, not_run
    from hush_core.certificate import bounds_at, own_bounds, own_redacted

    store = open_store()
    folder = store.path(certificate, verify=True)
    facts, tables = read_certificate(folder).facts, read_tables(folder)
    tests = 4 if redacted else 2
    own = own_bounds(facts, tables)
    after, before = (store.read_frame(ref) for ref in ranked)
    bounds = {
        k: bounds_at(facts, tables, priors)
        for k, priors in asked_priors(after, "secret_id", own.height).items()
    }
    texts = tuple(store.read_frame(ref) for ref in written)
    table, evidence = judge(own, texts, (after, before), bounds, tests=tests)
    found, more = facts_of_tests(evidence, table), None
    numbers = None
    if facts.plan.rounds and facts.plan.strategy is None:  # of a cycle no such attack is known here
        edges, weights = tables["edges.parquet"], tables["weights.parquet"]["weight"].to_numpy()
        rates, sigma, rounds = facts.plan.as_run(weights, edges)
        steps = attack_every_step(
            edges, rates, tables["bounds.parquet"], noise_multiplier=sigma, rounds=rounds
        )
        table = (
            table.drop("every_step")
            .join(steps.drop("bound"), on="secret_id", how="left")
            .select(table.columns)
        )
        numbers = evidence_of_steps(steps)
        found.append(every_step_facts(numbers, steps))
    else:
        found.append(not_run(EVERY_STEP, "no sampled round was made"))
    if redacted:
        one, two, after, before = (store.read_frame(ref) for ref in redacted)
        own = own_redacted(tables)
        priors = asked_priors(after, "redacted_id", own.height)
        more, rest = judge(
            own, (one, two), (after, before), priors, tests=tests, key="redacted_id", of=", redacted values"
        )
        evidence, found = evidence + rest, found + facts_of_tests(rest, more)
    return Tested(
        facts=tuple(found),
        outcome="refuted" if numbers and numbers.outcome == "refuted" else outcome_of(evidence),
        table=store.put_frame(table, kind="audit_secrets"),
        redacted=None if more is None else store.put_frame(more, kind="audit_redacted"),
    )


def extraction_facts(found: ExtractedShares | None) -> Measured:
    """k-extraction; what each text came to is published by its number."""
    from hush_core.auditing import facts

    if found is None:
        return Measured(facts=facts.not_run("k-extraction", "no text that was trained on is long enough"))
    extracted = facts.extraction_facts(
        (found.prefix, found.length), found.texts, found.trained, found.start, found.difference
    )
    return Measured(facts=extracted, table=found.table)


@cached_task(name="audit_membership", version=1)
def measure_membership(losses: Losses, texts: MemberTexts) -> Measured:
    """Calibrated loss: who was trained on, and which texts are most at risk."""
    from hush_core.auditing import facts
    from hush_core.auditing.calibrated_loss import at_risk
    from hush_core.auditing.roc import roc

    store = open_store()
    members, others = (store.read_frame(ref) for ref in (losses.members, losses.others))
    if not members.height or not others.height:
        why = "no text that nothing was trained on is left to compare with"
        return Measured(facts=facts.not_run("calibrated loss", why))
    scores = ((-frame["calibrated_bits"] / frame["tokens"].clip(1)).to_numpy() for frame in (members, others))
    risky = at_risk(members, others)
    facts_found = facts.membership_facts(roc(*scores, seed=SEED), risky.height, alike=texts.like_members)
    published = risky.drop("path", "example")
    return Measured(facts=facts_found, table=store.put_frame(published, kind="audit_at_risk"))


@cached_task(name="audit_units", version=1)
def infer_units(losses: Losses, certificate: Ref) -> Measured:
    """Calibrated user inference: the secrets' texts, by secret, against documents that nothing was trained on."""
    from hush_core.auditing import facts
    from hush_core.auditing.user_inference import unit_ratios, user_inference

    store = open_store()
    edges = read_tables(store.path(certificate, verify=True))["edges.parquet"].select(
        "example_id", "secret_id"
    )
    ratios = unit_ratios(store.read_frame(losses.tagged), store.read_frame(losses.others), edges)
    table, curves = user_inference(ratios, samples=SAMPLES, units=UNITS, seed=SEED)
    if not curves:
        why = "there are not both a secret with a text and a document that nothing was trained on"
        return Measured(facts=facts.not_run("user inference", why))
    lines = pl.concat([one.curve.select(pl.lit(n).alias("samples"), pl.all()) for n, one in curves])
    return Measured(
        facts=facts.unit_facts(curves),
        table=store.put_frame(table, kind="audit_units"),
        curves=store.put_frame(lines, kind="audit_curves"),
    )
