"""The use that Hush! describes and did not try: a company's code and secrets, and what each way to train costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hush_core.accounting import bound_secrets
from hush_core.weights import expected_distinct
from lab import figures
from lab.replications.claims import Claim
from lab.replications.company_measures import ENDING, interval, lines_completed
from lab.replications.company_repository import SPREADS, Data, build, read
from lab.replications.company_training import (
    ASKED,
    DP_SGD,
    MOST_TEXTS,
    NIGHTS,
    PLAIN_ONLY,
    PROTECTED,
    RECORD,
    RETAINED,
    SHOWN,
    START,
    UNPROTECTED,
    WAYS,
    Runs,
)
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

SEED = 7
BUNDLE = "repository.bundle"
TRAINING = {
    "tiny": {
        "share": 20,
        "layers": 1,
        "width": 16,
        "start": 10,
        "plain": 20,
        "rounds": 3,
        "alternatives": 20,
    },
    "short": {
        "share": 10,
        "layers": 1,
        "width": 96,
        "start": 400,
        "plain": 400,
        "rounds": 40,
        "alternatives": 300,
    },
    "full": {
        "share": 10,
        "layers": 4,
        "width": 384,
        "start": 6000,
        "plain": 6000,
        "rounds": 400,
        "alternatives": 300,
    },
}
NOISY = (PROTECTED, RECORD, DP_SGD)


def cells(size: Size) -> list[Cell]:
    given = {**TRAINING[size], "seed": SEED}
    some = (START, PLAIN_ONLY, PROTECTED, UNPROTECTED, RETAINED, DP_SGD)
    ways = [name for name in WAYS if size != "tiny" or name in some]
    return [
        *(Cell("found", {"spread": spread, **given}) for spread in SPREADS),
        *(Cell("noise", {"way": way, "nights": nights, **given}) for way in NOISY for nights in (1, NIGHTS)),
        *(Cell("ways", {"way": way, **given}) for way in ways),
    ]


def found(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """What is tagged, by how far an entry's files reach."""
    data = read(build(place.data[BUNDLE], place.work, seed=settings["seed"]), settings, settings["spread"])
    facts = data.facts
    return [{**facts, "tagged_share": facts["with_secret"] / facts["examples"]}]


def noise(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """σ for so many nights at the same promise, and the largest bound that ten of them have, over its target."""
    runs, way, nights = _runs(place, settings), settings["way"], settings["nights"]
    plan = runs.plan(way, nights)
    drawn = plan.rates * plan.rounds
    bounds = bound_secrets(
        runs.data.edges, plan.rates, runs.data.secrets, noise_multiplier=plan.noise_multiplier,
        rounds=NIGHTS * plan.rounds,
    )  # fmt: skip
    once = bound_secrets(
        runs.data.edges,
        plan.rates,
        runs.data.secrets,
        noise_multiplier=plan.noise_multiplier,
        rounds=plan.rounds,
    )
    return [{
        "rounds_a_night": plan.rounds, "batch": plan.expected_batch, "noise_multiplier": plan.noise_multiplier,
        "noise_on_mean": plan.noise_multiplier * plan.clip_norm / plan.expected_batch,
        "drawn": float(drawn.sum()), "distinct": float(expected_distinct(plan.rates, plan.rounds)),
        "one_night": float((once["bound"] / once["posterior"]).max()),
        "ten_nights": float((bounds["bound"] / bounds["posterior"]).max()),
        "worst_bound": float(once["bound"].max()), "worst_bound_of_ten": float(bounds["bound"].max()),
    }]  # fmt: skip


def ways(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """One model: its losses and lines, and what attacks get from it."""
    runs, way = _runs(place, settings), settings["way"]
    place.progress(WAYS[way], 0, 1)
    model, row = runs.model(way), {"label": WAYS[way]}
    for kind, texts in runs.measured.items():
        scores = runs.scores(way)[kind]
        row[f"{kind}_bits"] = float(scores[:, 0].sum() / scores[:, 1].sum())
        lines = lines_completed(model, texts)
        row |= {
            f"{kind}_lines": lines["lines"],
            f"{kind}_half": lines["half"],
            f"{kind}_ending": lines["ending"],
        }
    row |= _beside(runs, way)
    attacked = runs.attack(way)
    row |= {
        "values": attacked.height, "first": int((attacked["rank"] == 1).sum()),
        "exposure_bits": float(attacked["exposure_bits"].mean()), "extracted": int(attacked["extracted"].sum()),
        "ranks": ", ".join(map(str, attacked["rank"].to_list())),
    }  # fmt: skip
    row["memorised"], row["memorised_by_start"] = runs.memorised(way)
    return [row]


def _beside(runs: Runs, way: str) -> Row:
    """Loss over that of training without noise on what hush draws, paired by text."""
    row: Row = {}
    for kind in runs.measured:
        ours, theirs = (runs.scores(name)[kind][:, 0] for name in (way, RETAINED))
        ratio = lambda ids, a=ours, b=theirs: float(a[ids].sum() / b[ids].sum())  # noqa: E731
        low, high = interval(ratio, len(ours))
        row |= {f"{kind}_ratio": ratio(np.arange(len(ours))), f"{kind}_low": low, f"{kind}_high": high}
    return row


def _runs(place: Place, settings: Mapping[str, Any]) -> Runs:
    given = tuple(sorted((key, settings[key]) for key in (*TRAINING["tiny"], "seed")))
    return Runs(_data(place.data[BUNDLE], place.work, given), place.work, settings["seed"])


@lru_cache(maxsize=1)
def _data(bundle: Path, work: Path, given: tuple[tuple[str, Any], ...]) -> Data:
    settings = dict(given)
    return read(build(bundle, work, seed=settings["seed"]), settings)


def claims(rows: Rows) -> list[Claim]:
    by_way = {row["way"]: row for row in rows["ways"]}
    once = {row["way"]: row for row in rows["noise"] if row["nights"] == 1}
    often = {row["way"]: row for row in rows["noise"] if row["nights"] == NIGHTS}
    facts, hush, open_ = rows["found"][0], by_way[PROTECTED], by_way[UNPROTECTED]
    ranks = {way: row["ranks"].split(", ") for way, row in by_way.items()}  # of the values, in one order
    first = {way: {i for i, rank in enumerate(found) if rank == "1"} for way, found in ranks.items()}
    learned = (
        first[UNPROTECTED] - first[START]
    )  # by value: another one that the start had first sets off none
    weak = "an attack that gets nothing from unprotected training says nothing of hush" * (not learned)
    return [
        Claim("planted credentials found, of those planted", 1.0, facts["planted_found"] / facts["planted"],
              "at_least", target=True, why="a planted value stands where no rule looks"),
        Claim("unprotected training gives the planted values away: share of them first among 301 that were not at "
              "the public start, at least", 0.5, len(learned) / open_["values"], "at_least", target=True,
              why="too few steps to learn them: then this attack says little of the others"),
        Claim("hush gives none away whole, where unprotected training gives some: values given away, at most", 0.0,
              hush["extracted"] if open_["extracted"] else None, "at_most", target=True,
              why="the promise is kept (it bounds a guess); a value was guessable without it"
              if open_["extracted"] else "unprotected training gives none away whole either: nothing is shown"),
        Claim("hush: values that are first among 301 and were not at the public start, where unprotected training "
              "has such, at most", 0.0, len(first[PROTECTED] - first[START]) if learned else None, "at_most",
              target=True, why=weak or "ranks move by chance; the promise bounds success, not ranks"),
        Claim("text without a secret, held out: loss of hush over no noise on what it draws, at most", 1.02,
              hush["untagged_ratio"], "at_most", target=True,
              why="part of the examples goes into rounds that give ordinary text nothing back"),
        Claim("text with a secret, held back: loss of hush over no noise on what it draws, at most", 1.02,
              hush["tagged_ratio"], "at_most", target=True,
              why="this is what the promise costs: the noise of the rounds drowns nearly all of that text"),
        Claim("endings of held-out lines written exactly: hush over unprotected, at least", 0.9,
              hush["untagged_ending"] / open_["untagged_ending"] if open_["untagged_ending"] else None, "at_least",
              target=True, why="few lines: chance"),
        Claim("loss without a secret: hush over DP-SGD on all at the same promise, at most", 1.0,
              hush["untagged_bits"] / by_way[DP_SGD]["untagged_bits"], "at_most", target=True,
              why="noise costs nothing here"),
        Claim("noise on a round's mean: DP-SGD on all over hush at the same promise, at least", 10.0,
              once[DP_SGD]["noise_on_mean"] / once[PROTECTED]["noise_on_mean"], "at_least", target=True,
              why="hush draws the examples with a secret alone, in small rounds; DP-SGD has the batch of all"),
        Claim("ten nights at one promise take √10 of the noise: σ for ten over σ for one, at most", 10**0.5,
              often[PROTECTED]["noise_multiplier"] / once[PROTECTED]["noise_multiplier"], "at_most", 0.02,
              target=True, why="sampling amplifies less at more noise"),
        Claim("ten nights, each with the noise of one: largest bound over its target, at least", 10.0,
              once[PROTECTED]["ten_nights"], "at_least", target=True, why="ten runs do not add up"),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    names = list(rows["ways"])
    at = range(len(names))
    loss = [
        figures.Curve("without a secret", [row["untagged_bits"] for row in names], list(at), points=True),
        figures.Curve("with one", [row["tagged_bits"] for row in names], list(at), points=True),
    ]
    attack = [
        figures.Curve(
            "planted values first of 301, of 5", [row["first"] for row in names], list(at), points=True
        )
    ]
    ticks = {place: row["label"] for place, row in enumerate(names)}
    panels = [
        figures.Panel("held-out loss", "bits a byte", "", loss, yticks=ticks),
        figures.Panel("attack", "values", "", attack, yticks=dict.fromkeys(at, "")),
    ]
    return figures.draw_panels(
        "A company's repository, one start, by way to protect it", panels, path, height=4.8
    )


REPLICATION = Replication(
    name="company",
    title="A company's repository: what each way to protect costs, and gives away",
    source="the use that hush.txt describes in section 1 and did not try",
    about=f"""\
A public code base with its whole history stands in for a company's (a git bundle of one branch; ours:
pallets/click at 2c8cd3ac). On top: a CODEOWNERS, three installed packages as public text, and five credentials of
published formats planted in 6 to 24 of its Python files. Secrets, at p = 1e-10: teams of CODEOWNERS and paths that
name the given share of the files, r = 1e-3; each credential, r = 1e-4. hush itself finds what holds them; the job
lets the secrets reach near copies and not importers, since click imports itself (first table). Examples of 256
bytes; a byte GPT from a public start; a fifth of the examples with a secret is held back, a twentieth of the
others held out. hush: `without_secret: plain`, then certified rounds on the rest at c = 0.05. All ways but the
start and the plain phase see equally many examples. Every way with noise is trained twice, with few numbers at a
high rate and with all at a low one; the better one on validation text without a secret is taken, for ours and for
theirs. Planted values are ranked among 301 of their form, the attacker shown what stands before. Record-level DP
is of one example, and each value stands in six files or more: that its bound is above the target follows from that,
and is in the table and no claim. "Goes on word for word": of {MOST_TEXTS} training texts with a secret, shown
{SHOWN} bytes, whether the next {ASKED} come out at one of four places. Lines: the last whole line of a held-out
text, its second half and its last {ENDING} bytes. ONE start: a difference of 0.02 bits between trained models is
chance; intervals are over texts. Ten nights: the same rounds ten times at one promise, on the same data.""",
    seed=SEED,
    cells=cells,
    compute={"found": found, "noise": noise, "ways": ways},
    views=(
        View("found", "What is tagged, by how far an entry's files reach",
             (("spread", "tagged", ""), ("files", "files", ",d"), ("files_of_entries", "named by entries", "d"),
              ("secrets", "secrets", "d"), ("examples", "examples", ",d"), ("with_secret", "with a secret", ",d"),
              ("tagged_share", "share", ".1%"))),
        View("noise", "Noise, for one night and for ten",
             (("way", "way", ""), ("nights", "nights", "d"), ("rounds_a_night", "rounds", "d"),
              ("batch", "B", "d"), ("noise_multiplier", "σ", ".4g"), ("noise_on_mean", "σC/B", ".4g"),
              ("drawn", "examples drawn", ",.0f"), ("distinct", "distinct", ",.0f"),
              ("one_night", "worst bound over target, one night", ".3g"),
              ("ten_nights", "after ten", ".3g"))),
        View("ways", "Held-out loss and lines",
             (("label", "way", ""), ("untagged_bits", "bits a byte, no secret", ".3f"),
              ("untagged_ratio", "over no noise", ".3f"), ("untagged_low", "from", ".3f"),
              ("untagged_high", "to", ".3f"), ("tagged_bits", "with one", ".3f"),
              ("tagged_ratio", "over no noise", ".3f"), ("untagged_half", "half lines", ".1%"),
              ("untagged_ending", "line endings", ".1%"), ("tagged_ending", "with a secret", ".1%"))),
        View("ways", "What attacks get",
             (("label", "way", ""), ("ranks", "ranks of planted values", ""), ("first", "first", "d"),
              ("extracted", "given away whole", "d"), ("exposure_bits", "exposure, bits", ".2f"),
              ("memorised", "goes on word for word", ".1%"), ("memorised_by_start", "so does the start", ".1%"))),
    ),
    claims=claims,
    draw=draw,
    data=(BUNDLE,),
)  # fmt: skip
