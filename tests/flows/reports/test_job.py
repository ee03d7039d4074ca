"""The report: one screen, honest numbers, no markup accidents, the same after a trip through JSON."""

from __future__ import annotations

import io

import pytest
from pydantic import ValidationError
from rich.console import Console

from flows.reports.job import Report, not_attacked, page
from flows.reports.job_report import SecretRow
from flows.reports.job_screen import render
from flows.reports.job_table import MOST_ROWS, telling_rows


def row(name: str, **changes) -> SecretRow:
    facts = {"kind": "credentials", "examples": 12, "prior": 1e-10, "target": 1e-4, "bound": 5e-5}
    return SecretRow(name=name, **{**facts, **changes})


def attacked(name: str, bits: float, bare: float | None = None, out: bool = False, **changes) -> SecretRow:
    unprotected = {}
    if bare is not None:
        unprotected = {
            "unprotected_rank": round(1001 / 2**bare),
            "unprotected_exposure_bits": bare,
            "unprotected_extracted": bare > 9.9,
        }
    return row(
        name, rank=round(1001 / 2**bits), alternatives=1000, exposure_bits=bits, extracted=out,
        **unprotected, **changes
    )  # fmt: skip


ROWS = [
    row("alpha", kind="path", bound=9e-5),
    row("risk-team", kind="codeowners"),
    *(attacked(f"creds/betterleaks.aws-secret-access-key:{i:012x}", 1.5, bare=9.96) for i in range(30)),
]
REPORT = Report(
    model_uri="models:/hush-demo/1",
    run_url=None,
    tracker="sqlite:////srv/hush/mlflow.db",
    certificate_dir="/srv/hush/store/certificate/" + "0" * 64,
    examples=5995,
    public_examples=28636,
    secrets=32,
    edges=980,
    planted=13,
    planted_found=12,
    weight_retained=0.911,
    examples_kept=0.98,
    gap=1e-9,
    noise_multiplier=1.5,
    method="best",
    noise_by_method={"kl": 45.0, "renyi": 1.6, "blow_up": None},
    paper_noise=30.0,
    rounds=300,
    rounds_released=300,
    expected_batch=256,
    clip_norm=1.0,
    rows=ROWS,
    model="byte_gpt 2x64, 2 heads, 256 bytes",
    learning_rate=1e-3,
    rates_rehearsed=3,
    loss_unit="byte",
    losses={"pretrained": 3.21, "without secrets": 2.8, "protected": 2.79, "unprotected": 2.71},
    gain=0.84,
    tagged_losses={"before its rounds": 3.1, "protected": 3.05, "unprotected": None},
    without_secret="plain",
    trained_without_noise=1060,
    untagged_steps=850,
    reused=False,
    warnings=[
        f"warning number {n}, with [brackets] and a good many words to say what is wrong" for n in range(9)
    ],
)


def shown(report: Report) -> str:
    out = io.StringIO()
    render(report, Console(file=out, width=100, highlight=False))
    return out.getvalue()


def test_the_fullest_report_is_one_screen():
    lines = shown(REPORT).splitlines()
    assert len(lines) <= 45
    assert max(len(line) for line in lines if not line.startswith("proof")) <= 100
    assert "…" not in "".join(line for line in lines if " OUT " in line)


def test_what_matters_is_said():
    text = shown(REPORT)
    for needed in (
        "12 of 13", "91.1% retained", "σ = 1.5 by best",
        "kl on the paper's own weights of equal sum: 30, 20 times as much",
        "300 of 300 rounds",
        "protected 2.790", "extracted protected 0, unprotected 30",
        "hush verify models:/hush-demo/1", "mlflow ui --app-name hush --backend-store-uri sqlite:////srv/hush/mlflow.db",
        "17 more secrets", "4 more warnings", "[brackets]", "9.0e-05",
    ):  # fmt: skip
        assert needed in text, needed
    assert "reused" not in text


def test_values_that_no_attack_could_rank_are_counted():
    assert not_attacked(ROWS) == 0  # whole files have no value
    cut = row("creds/cut:0123456789ab", kind="credentials")
    assert cut.examples > 0 and not_attacked([*ROWS, cut, cut.model_copy(update={"examples": 0})]) == 1


def test_a_bare_report_renders_without_what_it_lacks():
    bare = REPORT.model_copy(
        update={
            "rows": [row("alpha", kind="path")],
            "planted": None,
            "losses": {},
            "warnings": [],
            "method": "kl",
            "noise_by_method": {"kl": 1.5},
            "reused": True,
            "run_url": "http://127.0.0.1:5000/#/experiments/1/runs/a",
        }
    )
    text = shown(bare)
    assert "planted" not in text
    assert "rank" not in text
    assert "extracted" not in text
    assert "times" not in text
    assert "reused" in text
    assert "http://127.0.0.1:5000/#/experiments/1/runs/a" in text


def test_the_link_to_a_runs_artifacts_is_before_its_query():
    url = "http://h/#/experiments/1/runs/a"
    for given, shown_as in ((url, f"{url}/artifacts"), (f"{url}?type=ml", f"{url}/artifacts?type=ml")):
        assert page(REPORT.model_copy(update={"run_url": given})).endswith(f": {shown_as}")


def test_a_leak_from_the_protected_model_is_in_the_first_row():
    rows = [*ROWS, attacked("creds/leaked:aaaaaaaaaaaa", 9.97, bare=1.0, out=True)]
    assert telling_rows(rows)[0].name.startswith("creds/leaked")
    text = shown(REPORT.model_copy(update={"rows": rows}))
    assert "extracted protected 1" in text


@pytest.mark.parametrize("count", [0, 1, 14, 15, 40])
@pytest.mark.parametrize("files", [0, 3, 40])
def test_telling_rows_are_few_and_of_both_sorts(count, files):
    rows = [attacked(f"v{i}", float(i % 10)) for i in range(count)]
    rows += [row(f"f{i}", bound=i * 1e-6) for i in range(files)]
    chosen = telling_rows(rows)
    assert len(chosen) == min(MOST_ROWS, len(rows))
    assert len({r.name for r in chosen}) == len(chosen)
    if count and files:
        assert {r.rank is None for r in chosen} == {True, False}
    without = [r.bound for r in chosen if r.rank is None]
    assert without == sorted(without, reverse=True)


def test_the_report_is_json_and_frozen():
    assert Report.model_validate_json(REPORT.model_dump_json()) == REPORT
    with pytest.raises(ValidationError):
        REPORT.rounds = 1


def test_what_was_trained_without_noise_and_what_it_gained_is_said():
    text = " ".join(shown(REPORT).split())
    assert "1,060 examples trained on without noise, 850 steps" in text
    assert "84% of the unprotected gain" in text
    assert "before its rounds 3.100 · protected 3.050 on held-back text WITH one" in text
    tagged = REPORT.tagged_losses | {"unprotected": 3.0}
    text = " ".join(shown(REPORT.model_copy(update={"tagged_losses": tagged})).split())
    assert "held-back text WITH one: 50% of the unprotected gain" in text
    bare = shown(REPORT.model_copy(update={"untagged_steps": None, "gain": None, "tagged_losses": {}}))
    assert not any(word in bare for word in ("without noise,", "unprotected gain", "held-back"))


def test_an_audit_stands_beside_what_is_certified(capsys):
    """Two columns and a line where it was made, and not a word of it where not."""
    rows = [
        row("alpha", every_step=4e-5),
        attacked("creds/token:0123456789ab", 1.5, every_step=4.5e-5, attacked=3e-12),
    ]
    update = {"rows": rows, "audit": "audit of 2027: not refuted", "audit_picture": "/srv/audit.png"}
    for told, refuted, word in (
        (update, False, "not refuted"),
        (update, True, "REFUTED"),
        ({"rows": rows}, False, ""),
    ):
        screen = Console(record=True, width=120, file=io.StringIO())
        render(REPORT.model_copy(update={**told, "audit_refuted": refuted}), screen)
        text = screen.export_text()
        assert ("best guess" in text) == ("3.0e-12" in text) == ("/srv/audit.png" in text) == bool(word)
        if word:
            (line,) = (line for line in text.splitlines() if line.startswith("audit"))
            assert word in line and "90% of its bound" in line and "6e-08 of it" in line
            assert max(len(one) for one in text.splitlines() if "…" in one or "creds" in one) <= 100


def test_where_all_is_known_numbers_stand_whole_and_names_are_told_apart():
    rows = [
        attacked(f"creds/betterleaks.aws-secret-access-key:{i:06x}012345", 1.5, bare=9.96, every_step=4.5e-5,
                 attacked=3e-12, before_rank=888, earlier_runs=3, all_runs=9e-5, examples=12_345)
        for i in range(3)
    ]  # fmt: skip
    lines = shown(REPORT.model_copy(update={"rows": rows, "audit": "not refuted"})).splitlines()
    told = [line for line in lines if line.startswith("creds/")]
    assert len({line.split()[0] for line in told}) == len(told) == 3
    for line in told:
        assert len(line) <= 100 and "…" not in line.split(maxsplit=1)[1]
        numbers = line.split(maxsplit=1)[1].split()
        assert numbers[:7] == ["12,345", "1.0e-10", "1.0e-04", "5.0e-05", "9.0e-05", "4.5e-05", "3.0e-12"]
        assert numbers[7:] == ["888", "354", "(1.5)", "OUT", "1", "(10.0)"]


GAVE_AWAY = REPORT.rows[2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"planted_found": 13, "gain": 1.14}, "13 of 13 planted secrets found; the unprotected model gave away 30, "
         "the protected one none; text without a secret is learned as well."),
        ({}, "12 of 13 planted secrets found, 1 NOT; the unprotected model gave away 30, the protected one none; "
         "text without a secret is learned worse (84% of what it could gain)."),
        ({"rows": [*ROWS, GAVE_AWAY.model_copy(update={"extracted": True})]}, "gave away 31, the protected one 1;"),
        ({"rows": [attacked("creds/a:0123456789ab", 1.5, bare=2.0)]}, "gave away none, the protected one none;"),
        ({"rows": [attacked("creds/a:0123456789ab", 9.0, out=True)]}, "; the protected model gave away 1 of 1 "),
        ({"planted": None}, "The unprotected model gave away 30, the protected one none; text"),
        ({"gain": None}, "the protected one none."),
        ({"gain": 1.0, "tagged_losses": {"before its rounds": 4.0, "protected": 3.4, "unprotected": 2.0}},
         "is learned as well; certified rounds learn 30% of what text with a secret teaches."),
        ({"gain": 1.0, "tagged_losses": {"before its rounds": 4.0, "protected": 3.4, "unprotected": 4.1}},
         "is learned as well."),
        ({"audit_refuted": True, "audit": "refuted"}, "; an attack REFUTED the certificate."),
    ],
)  # fmt: skip
def test_the_first_sentence_says_what_the_numbers_say(changes, said):
    first = " ".join(shown(REPORT.model_copy(update=changes)).partition("secrets   ")[0].split())
    assert said in first


def test_without_an_attack_nothing_is_said_of_one():
    assert "gave away" not in shown(REPORT.model_copy(update={"rows": [row("alpha", kind="path")]}))
