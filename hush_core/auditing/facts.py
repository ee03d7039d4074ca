"""What each attack of an audit came to, in the words of audit.json: adversary, finding, interval, ceiling."""

from collections.abc import Sequence

import polars as pl

from hush_core.auditing.against_certificate import RANKED, WRITTEN_OUT
from hush_core.auditing.document import AttackFacts
from hush_core.auditing.intervals import clopper_pearson
from hush_core.auditing.refutation import SIGNIFICANCE, Evidence
from hush_core.auditing.roc import Roc

NO_TEST = "no test of the certificate"
_ADVERSARIES = {
    WRITTEN_OUT: "has the released model and the text around a value; samples once",
    RANKED: "has the released model's probabilities, the text around a value, and candidates of its form",
}
OTHER_TEXTS = (
    "the texts that nothing was trained on are of another kind (no secret names them): a difference may be that of "
    "the kinds, not of training"
)


def facts_of_tests(evidence: Sequence[Evidence], table: pl.DataFrame) -> list[AttackFacts]:
    """Of the tests against the certificate; `table`: of `judge`."""
    out = int(table["extracted"].fill_null(False).sum()), int(table["extracted_start"].fill_null(False).sum())
    first = int((table["rank"] == 1).fill_null(False).sum())
    found = []
    for one in evidence:
        words = (
            f"{out[0]} values come out by greedy decoding, {out[1]} by the model before; the likeliest with "
            f"probability {table['written'].max() or 0:.3g}"
            if one.attack.startswith(WRITTEN_OUT)
            else f"{first} values rank first; highest exposure {table['exposure_bits'].max() or 0:.1f} bits"
        )
        adversary = next(text for name, text in _ADVERSARIES.items() if one.attack.startswith(name))
        found.append(
            AttackFacts(
                name=one.attack,
                adversary=adversary,
                tried=one.secrets,
                found=f"evidence {one.value:.3g}, at most 1 is expected (p = {one.p_value:.2g}, one of "
                f"{one.needed * SIGNIFICANCE:.0f} tests); {words}",
                most=f"evidence {one.ceiling:.3g}, and {one.needed:.0f} refutes",
                outcome=one.outcome,
                note=_untried(table.height - one.secrets, table.height),
                evidence=one.value,
                ceiling=one.ceiling,
                needed=one.needed,
            )
        )
    return found


def every_step_facts(evidence: Evidence, table: pl.DataFrame) -> AttackFacts:
    """Of `every_step`."""
    near = table.sort(pl.col("every_step") / pl.col("bound"), descending=True).row(0, named=True)
    return AttackFacts(
        name=evidence.attack,
        adversary="sees every noisy step, and knows all but the secret; the gradients are the worst there are",
        tried=evidence.secrets,
        found=f"names the secret nearest to its bound with probability {near['every_step']:.4g}, where "
        f"{near['bound']:.4g} is certified: {evidence.value:.1%} of the bound",
        most="any probability: above the bound it refutes for certain",
        outcome=evidence.outcome,
        note="of the certificate's σ, rates and rounds, computed and not played; of no model, so it does not count "
        "among the attacks that could have refuted the training",
    )


def extraction_facts(
    window: tuple[int, int],
    texts: int,
    trained: tuple[float, float, float],
    start: tuple[float, float, float],
    difference: tuple[float, float, float],
) -> AttackFacts:
    """Of k-extraction; window: tokens shown, tokens that must come out."""
    best = clopper_pearson(texts, texts)
    return AttackFacts(
        name="k-extraction",
        adversary=f"has the released model and {window[0]} tokens of a training text; decodes greedily",
        tried=texts,
        found=f"the next {window[1]} tokens come out of {_share(trained)} of the texts, by the model before "
        f"{_share(start)}; difference {_share(difference)}",
        most=f"from {best.lower:.1%} on, had every text come out",
        outcome=NO_TEST,
        note="the certificate is of secrets, not of whole texts; texts are taken as independent",
    )


def membership_facts(found: Roc, risky: int, *, alike: bool) -> AttackFacts:
    """Of calibrated loss; risky: members below all but 1 in 20 of the others."""
    return AttackFacts(
        name="calibrated loss",
        adversary="has both models' probabilities and a text; says whether it was trained on",
        tried=found.members,
        found=f"area under ROC {_range(found.area)}; {risky} of {found.members} texts below all but 1 in 20 of "
        f"the {found.others} that nothing was trained on",
        most=f"area from {found.area_ceiling:.2f} on, had all been distinguished",
        outcome=NO_TEST,
        note="" if alike else OTHER_TEXTS,
    )


def unit_facts(curves: Sequence[tuple[int, Roc]]) -> AttackFacts:
    """Of user inference, with as many texts of a unit as gave most units."""
    found = [
        f"{count} texts of each of {one.members} units: area {_range(one.area)}" for count, one in curves
    ]
    first = curves[0][1]
    return AttackFacts(
        name="user inference",
        adversary="has both models' probabilities and some texts of a unit; says whether it was trained on",
        tried=first.members,
        found="; ".join(found) + f"; {first.others} documents that nothing was trained on",
        most=f"area from {first.area_ceiling:.2f} on, had all been distinguished",
        outcome=NO_TEST,
        note=OTHER_TEXTS,
    )


def not_run(name: str, why: str) -> AttackFacts:
    """Of an attack that these data do not allow."""
    return AttackFacts(name=name, adversary="", tried=0, found="", most="", outcome="not run", note=why)


def _untried(untried: int, secrets: int) -> str:
    if not secrets:
        return "there is no such secret"
    return f"{untried} of {secrets} secrets have no value that could be tried" if untried else ""


def _share(interval: tuple[float, float, float]) -> str:
    value, lower, upper = interval
    return f"{value:.1%} ({lower:.1%} to {upper:.1%})"


def _range(interval: tuple[float, float, float]) -> str:
    value, lower, upper = interval
    return f"{value:.2f} ({lower:.2f} to {upper:.2f})"
