"""The document and the tables against each other: what can be checked without computing a bound again."""

import numpy as np
import polars as pl

from hush_core.certificate.document import TABLES, Facts
from hush_core.certificate.redaction import REDACTED, check_redacted
from hush_core.certificate.tables import EMPTY_WITHOUT_ROUNDS
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION, assign_roles, tagged_examples
from hush_core.weights.settings import capacity_rule, largest_useful_c, unit_capacities

SUMMED = 1e-9
"""Relative: two orders of summation."""


def check_facts(facts: Facts, tables: dict[str, pl.DataFrame]) -> list[str]:
    """The document against the tables; those are well-formed."""
    redacted = tables[REDACTED]
    left_out = redacted.height and not facts.plan.mechanism.config.makes_noise
    if not left_out and (empty := [name for name in EMPTY_WITHOUT_ROUNDS if not tables[name].height]):
        return [f"{name}: is empty" for name in empty]
    found = [*_of_graph(facts, tables), *_of_rounds(facts, tables), *_of_runs(facts, tables)]
    return [message for is_wrong, message in found if is_wrong] + check_redacted(facts.redaction, redacted)


Checks = list[tuple[bool, str]]
"""(whether it is wrong, what to say then)."""


def _of_graph(facts: Facts, tables: dict[str, pl.DataFrame]) -> Checks:
    bounds, _, edges, _, _, _, secrets, weights = (tables[name] for name in TABLES)
    plan, total = facts.plan, float(weights["weight"].sum())
    far = (secrets["bits"] + secrets["prior"].log(2)).abs() > 0.5
    return [
        (facts.examples != weights.height, f"{weights.height} weights for {facts.examples} examples"),
        (bounds.height != secrets.height, "not every secret has exactly one bound"),
        ((edges["example_id"] >= weights.height).any(), "an edge names an example that has no weight"),
        ((edges["secret_id"] >= secrets.height).any(), "an edge names an unknown secret"),
        (
            not abs(total - plan.weight_objective) <= SUMMED * plan.weight_objective,
            "the weights do not sum to the stated objective",
        ),
        (
            not total <= plan.weight_upper_bound * (1 + SUMMED) <= facts.examples * (1 + 2 * SUMMED),
            "weight_upper_bound is below the objective, or above the number of examples",
        ),
        (bool(far.any()), "secrets.parquet: bits: are not those of the prior"),
        (
            bool((secrets["prior"] >= secrets["posterior"]).any()),
            "secrets.parquet: posterior: a target is not above its prior",
        ),
    ]


def _of_rounds(facts: Facts, tables: dict[str, pl.DataFrame]) -> Checks:
    plan, training = facts.plan, facts.training
    most = max(tables["secrets.parquet"].height, tables[REDACTED].height)
    return [
        (
            training.rounds_released > plan.rounds,
            f"{training.rounds_released} rounds released, {plan.rounds} certified",
        ),
        (
            training.rounds_applied > training.rounds_released,
            f"{training.rounds_applied} rounds applied, {training.rounds_released} released",
        ),
        (
            bool(facts.audits) and not training.released_unprotected,
            "audits were made, but released_unprotected names nothing",
        ),
        *(
            (not a.succeeded <= a.secrets <= most, "an audit counts more secrets than there are")
            for a in facts.audits
        ),
    ]


def _of_runs(facts: Facts, tables: dict[str, pl.DataFrame]) -> Checks:
    bounds, _, _, history, _, runs, secrets, _ = (tables[name] for name in TABLES)
    plan, started_from = facts.plan, facts.training.started_from
    most, made = int(bounds["earlier_runs"].max() or 0), int(plan.rounds > 0)
    trained = np.bincount(history["secret_id"].to_numpy(), minlength=secrets.height)[: secrets.height]
    promised = plan.promised_runs is not None
    above = ~(bounds["all_runs"] <= bounds["posterior"]).fill_null(False)
    return [
        (
            started_from is not None and started_from not in runs["key"].to_list(),
            "continues from a run that is not in runs.parquet, so what that one released is in no bound",
        ),
        (
            started_from is not None and bool(bounds["all_runs"].is_null().any()),
            "continues from an earlier run's model, and nothing is promised of a secret over all runs",
        ),
        (
            facts.runs_on_this_data != most + made,
            f"runs_on_this_data is {facts.runs_on_this_data}, but a secret has {most} earlier runs",
        ),
        (
            not np.array_equal(bounds["earlier_runs"].to_numpy(), trained + facts.unknown_runs),
            "earlier_runs are not those of history.parquet and the unknown ones",
        ),
        (
            history.height > 0
            and not (history["run"].max() < runs.height and history["secret_id"].max() < secrets.height),
            "history.parquet: names an unknown run or secret",
        ),
        (
            not runs["run"].is_in(history["run"].to_list()).all(),
            "runs.parquet: names a run that drew no secret's text",
        ),
        (
            bool((runs["released"] > runs["rounds"]).any()),
            "runs.parquet: more rounds were released than planned",
        ),
        (
            promised and bool(above.any()),
            "a secret's bound of all runs is not within its target, as promised_runs says",
        ),
        (
            promised and runs.height + made > (plan.promised_runs or 0),
            "there were as many runs as were promised before this one",
        ),
    ]


def check_roles(facts: Facts, edges: pl.DataFrame, weights: pl.DataFrame) -> list[str]:
    """Every tagged example's role again from the graph, how many untagged ones have each, and what follows from it:
    no noiseless training on tagged text. Which untagged ones are measured on is chosen by their texts, which are
    not here."""
    mode, tagged = facts.plan.without_secret, tagged_examples(edges, weights.height)
    again = assign_roles(
        edges, n_examples=weights.height, without_secret=mode, held_back=facts.plan.held_back
    ).cast(pl.String)
    roles, drawn = weights["role"], (weights["weight"] > 0).to_numpy()
    plain, measured = (roles == PLAIN).to_numpy(), roles.is_in([VALIDATION, HELD_OUT]).to_numpy()
    found = [
        (plain & tagged, "hold a secret and were trained on WITHOUT noise"),
        (measured & tagged, "hold a secret and were measured on without noise"),
        (
            drawn & (roles != CERTIFIED).to_numpy(),
            "are drawn in the certified rounds, which their role forbids",
        ),
        (
            (roles != again).to_numpy() & tagged,
            f"do not have the role that the graph gives them under `{mode}`",
        ),
    ]
    if not roles.filter(~tagged).sort().equals(again.filter(~tagged).sort()):
        found.append(
            (~tagged, f"do not have, taken together, the roles that the graph gives them under `{mode}`")
        )
    failures = [
        f"weights.parquet: role: {wrong.sum()} examples {what}, {wrong.argmax()} among them"
        for wrong, what in found
        if wrong.any()
    ]
    if not failures and plain.sum() != facts.training.trained_without_noise:
        failures.append(
            f"trained_without_noise is {facts.training.trained_without_noise}, but {plain.sum()} examples are plain"
        )
    return failures[:1]


def check_capacities(
    facts: Facts, weight: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame
) -> list[str]:
    """Σ_{i∋j} w_i ≤ c·c_max·κ_j, where a program was solved and κ is a function of the targets (not for
    `equalised`)."""
    if facts.plan.capacities is None:
        return []
    rule = capacity_rule(facts.plan.capacities, facts.plan.method)
    if rule == "equalised":
        return []
    kappa = unit_capacities(secrets, rule)
    load = np.bincount(
        edges["secret_id"].to_numpy(), weight[edges["example_id"].to_numpy()], minlength=secrets.height
    )
    over = load > facts.plan.c * largest_useful_c(edges, kappa) * kappa * (1 + SUMMED)
    return [
        f"{name}: its examples weigh more than plan.c and plan.capacities allow"
        for name in secrets["name"].filter(pl.Series(over))
    ]
