"""The reviewer's page: what it says, what it must not say, and what hostile names can do in it (nothing)."""

import json
import re
import shutil
from html.parser import HTMLParser

import polars as pl
import pytest
from pages import STATED, document, rows

from flows.reports.page.document import SHOWN, Axis, PageDocument, state_of, verdict, with_audit
from flows.reports.page.publish import render
from flows.reports.verification import audit_page
from hush_core.auditing.document import AttackFacts, AuditDocument
from tasks.description import secret_changes
from tasks.wording import AgainstChampion, SecretChanges

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class Seen(HTMLParser):
    """Every element with its attributes, and the text, as a browser's parser has them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def changed(row, **fields):
    return row.model_copy(update=fields)


def audit(outcome="not refuted"):
    facts = AttackFacts(
        name="written out", adversary="sees the model", tried=4, found="none", most="all", outcome=outcome,
        evidence=0.1, ceiling=1e9, needed=100.0,
    )  # fmt: skip
    return AuditDocument(
        model="models:/assistant/42", certificate_digest="d" * 64, model_files="0" * 64, made_at="2026-11-23",
        store="0" * 64, outcome=outcome, attacks=(facts,), tables={}, code={},
    )  # fmt: skip


def audit_rows(secrets, lower=1e-7):
    return [
        {"name": row.name, "certified": row.bound, "written": lower * 2, "written_lower": lower,
         "written_upper": lower * 3, "exposure_bits": None, "written_evidence": 0.01 * n, "ranked_evidence": None}
        for n, row in enumerate(secrets)
    ]  # fmt: skip


def against(name="new/one", **changes):
    moved = {"n_added": 1, "added": (name,), "n_removed": 0, "removed": (), "n_up": 1, "n_down": 0}
    moved["moved"] = ((name, 1e-5, 2e-5),)
    return AgainstChampion(
        uri="models:/assistant/41", rows=(("noise multiplier", 1.4, 1.5),), secrets=SecretChanges(**moved)
    )


HOSTILE = "</script></style></title><script>document.pwned=1</script>\"'><img src=x onerror=document.pwned=2>"


def test_what_a_reviewer_must_know_is_on_the_page():
    page = document(rows(8), warnings=["stopped `early`"], against=against())
    text = " ".join(" ".join(Seen(render(page, {"loss": PNG})).text).split())
    for needed in (
        "models:/assistant/42", "Certified, with warnings", "1 warning to read first", "stopped early",
        "credentials/00000", "Secrets added: 1", "Bounds moved: 1 up, 0 down", "new/one", "+0.1",
        "a copy", "losses", "hush verify models:/assistant/42", "300 of 300 rounds", "σ 1.5", "d" * 64,
        "No audit of this version", "2.800",
    ):  # fmt: skip
        assert needed in text, needed


def test_a_page_without_anything_to_compare_says_so():
    page = document(rows(2), losses={}, noise_by_method={}, paper_noise=None, noise_multiplier=None)
    text = " ".join(" ".join(Seen(render(page, {})).text).split())
    assert (
        "No other version is champion" in text and "no text was held out" in text and "Pictures" not in text
    )


def test_hostile_names_are_text_wherever_they_stand():
    bad = [changed(row, name=f"{HOSTILE}{n}", kind=HOSTILE) for n, row in enumerate(rows(3))]
    stated = STATED.model_copy(
        update={"sources": {HOSTILE: HOSTILE}, "code": {HOSTILE: HOSTILE}, "not_promised": (HOSTILE,),
                "released_unprotected": (f"`{HOSTILE}`",), "promise": (HOSTILE,)}
    )  # fmt: skip
    page = document(
        bad, stated, warnings=[f"`{HOSTILE}`"], model_uri=HOSTILE, model=HOSTILE, mechanism=HOSTILE,
        run_url=HOSTILE, goes_on_from=HOSTILE, losses={HOSTILE: 1.0}, noise_by_method={HOSTILE: 1.0},
        method=HOSTILE, loss_unit=HOSTILE, against=against(HOSTILE),
    )  # fmt: skip
    page = with_audit(page, audit(), audit_rows([*bad, changed(bad[0], name=HOSTILE * 2)]))
    html = render(page, {"loss": PNG})
    seen = Seen(html)
    assert HOSTILE not in html
    assert len(seen.named("script")) == len(seen.named("style")) == 1 and "iframe" not in dict(seen.elements)
    assert [i["src"][:22] for i in seen.named("img")] == ["data:image/png;base64,"]
    loud = {name for _, attributes in seen.elements for name in attributes if name.startswith("on")}
    assert not loud
    assert all(a["href"].startswith("#") for a in seen.named("a"))
    names = [a["title"] for a in seen.named("td") if a.get("class") == "name" and "title" in a]
    assert f"{HOSTILE}0" in names  # and it is shown as it is


def test_the_page_loads_nothing():
    html = render(document(rows(3)), {"loss": PNG, "unknown": PNG})
    (policy,) = [m["content"] for m in Seen(html).named("meta") if m.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:;") and "unsafe" not in policy
    assert not re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?\s*(?:https?:)?//", html)
    assert len(Seen(html).named("img")) == 1


def test_more_secrets_than_a_page_holds_are_cut_to_the_most_serious():
    many = rows(20_000, seed=1)
    many[7_777] = changed(many[7_777], extracted=True)
    page = document(many)
    assert page.report.rows[0].name == many[7_777].name and len(page.report.rows) == SHOWN
    html = render(page, {})
    assert len(html) < 2_500_000
    text = " ".join(Seen(html).text)
    assert "1,000 of 20,000 secrets are shown" in text and "19,000" in text
    assert sum(page.states.values()) == 20_000 and page.states["came out"] == 1
    ratios = [row.bound / row.target for row in page.report.rows[1:]]
    assert ratios == sorted(ratios, reverse=True)
    shown = {row.name for row in page.report.rows}
    assert min(ratios) >= max(row.bound / row.target for row in many if row.name not in shown)


def test_the_worst_that_holds_is_the_state_and_the_verdict():
    row = changed(rows(1)[0], target=1e-3, bound=5e-4)
    assert state_of(row) == "kept" and state_of(changed(row, bound=9.5e-4)) == "near target"
    assert state_of(changed(row, examples=0)) == "no example"
    assert state_of(changed(row, earlier_runs=1, all_runs=None)) == "no promise"
    assert state_of(changed(row, earlier_runs=1, all_runs=1.1e-3)) == "above target"
    assert state_of(changed(row, earlier_runs=1, all_runs=1.1e-3, extracted=True)) == "came out"
    good = document([row])
    assert verdict(good)[:2] == ("good", "Certified")
    assert verdict(document([row], warnings=["w"]))[0] == "warn"
    assert verdict(document([row, changed(row, earlier_runs=1, all_runs=None)]))[1] == "Over target"
    assert verdict(document([changed(row, extracted=True)]))[1] == "Came out"
    assert verdict(with_audit(good, audit("refuted"), []))[1] == "Refuted"
    assert verdict(with_audit(good, audit(), []))[0] == "good"


def test_marks_stand_where_their_probabilities_are():
    row = changed(rows(1)[0], prior=1e-6, bound=1e-4, target=1e-3)
    axis = Axis.of([row])
    assert axis.least == 1e-6
    places = [axis.place(p) for p in (1e-6, 1e-4, 1e-3, 1.0)]
    assert places == sorted(places)
    assert places[1] - places[0] == pytest.approx(2 * (places[2] - places[1]), abs=0.2)
    assert axis.place(0.0) == axis.place(1e-9) == places[0]


def test_an_audit_comes_to_the_page_by_its_document():
    secrets = rows(SHOWN + 40)
    page = PageDocument.model_validate_json(document(secrets).model_dump_json())
    told = with_audit(page, audit(), audit_rows(secrets))
    assert told.audit.told == SHOWN + 40 and len(told.audit.rows) == SHOWN + 20
    text = " ".join(Seen(render(told, {})).text)
    assert "1.0e-07" in text and "not refuted" in text and "no row above" in text
    assert "Not run" not in text
    assert PageDocument.model_validate(json.loads(told.model_dump_json())) == told


def test_attacks_that_were_not_run_are_a_line_and_no_rows_of_zeros():
    made = audit()
    skipped = AttackFacts(
        name="k-extraction", adversary="", tried=0, found="", most="", outcome="not run", note="no long text"
    )
    document_of = made.model_copy(update={"attacks": (*made.attacks, skipped)})
    text = " ".join(Seen(render(with_audit(document(rows(1)), document_of, []), {})).text)
    on_screen = audit_page(document_of, [])
    for shown in (text, on_screen):
        assert "Not run: k-extraction (no long text)." in shown and shown.count("k-extraction") == 1
    assert "| k-extraction" not in on_screen and "| secret |" not in on_screen


def test_secrets_that_came_went_and_moved_are_told():
    old = pl.DataFrame({"name": ["a", "b", "c", "gone"], "bound": [1e-4, 1e-4, 1e-4, 1e-4]})
    new = pl.DataFrame({"name": ["a", "b", "c", "x", "y"], "bound": [1.005e-4, 3e-4, 2e-5, 1e-5, 1e-5]})
    told = secret_changes(old, new)
    assert (told.added, told.removed, told.n_added) == (("x", "y"), ("gone",), 2)
    assert (told.n_up, told.n_down) == (1, 1)
    assert told.moved == (("c", 1e-4, 2e-5), ("b", 1e-4, 3e-4))


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, headless=True, args=flags)
        yield opened
        opened.close()


def open_page(browser, path, html, **options):
    path.write_text(html)
    page = browser.new_context(**options).new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(path.as_uri())
    return page


@pytest.mark.browser
def test_a_reviewer_sorts_and_filters_by_keyboard_alone(browser, tmp_path):
    page = open_page(browser, tmp_path / "page.html", render(document(rows(60)), {}))
    names = page.locator("#secrets-table tbody tr:visible td.name")
    page.get_by_role("button", name="Examples").focus()
    page.keyboard.press("Enter")
    examples = page.locator("#secrets-table tbody tr td:nth-child(4)")
    counts = [int(text.replace(",", "")) for text in examples.all_inner_texts()]
    assert counts == sorted(counts, reverse=True) and len(counts) == 60
    header = page.locator("th", has=page.get_by_role("button", name="Examples"))
    assert header.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") == "ascending"
    assert [int(t.replace(",", "")) for t in examples.all_inner_texts()] == sorted(counts)
    page.get_by_role("button", name="rank").press("Enter")  # what has none stands last, either way
    for _ in range(2):
        ranks = page.locator("#secrets-table tbody tr td:nth-child(10)").all_inner_texts()
        assert "–" not in ranks[:30] and set(ranks[30:]) == {"–"}
        page.keyboard.press("Enter")
    page.get_by_label("Search by name").focus()
    page.keyboard.type("CODEOWNERS/000")
    assert len(names.all()) == 15 and "15 of 60 rows" in page.locator("#shown").inner_text()
    page.get_by_label("Kind").select_option("path")
    assert not names.all() and "0 of 60 rows" in page.locator("#shown").inner_text()
    focused = page.evaluate("getComputedStyle(document.querySelector('th button')).cursor")
    assert focused == "pointer" and not page.errors


@pytest.mark.browser
def test_without_script_the_page_shows_the_same_rows(browser, tmp_path):
    page = open_page(
        browser, tmp_path / "page.html", render(document(rows(30)), {}), java_script_enabled=False
    )
    assert page.locator("#secrets-table tbody tr").count() == 30
    assert not page.locator("#tools").is_visible() and page.locator("#secrets-table").is_visible()
    assert page.locator("th button").count() == 0


@pytest.mark.browser
def test_dark_light_and_paper(browser, tmp_path):
    grounds = {}
    for scheme in ("light", "dark"):
        page = open_page(browser, tmp_path / "p.html", render(document(rows(5)), {}), color_scheme=scheme)
        grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert grounds["light"] != grounds["dark"]
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#tools").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.browser
def test_what_slips_past_the_template_is_not_run(browser, tmp_path):
    """The policy alone: a script, a handler and a style in the page, as if nothing had been escaped."""
    planted = f"<main>{HOSTILE}<img src=x onerror='document.pwned=3'><p style='color:red' id=styled>x</p>"
    honest = render(document(rows(5)), {})
    page = open_page(browser, tmp_path / "page.html", honest.replace("<main>", planted))
    assert page.evaluate("document.pwned") is None
    assert page.locator("#tools").is_visible(), "our own script runs"
    loose = re.sub(r"<meta http-equiv[^>]*>", "", honest).replace("<main>", planted)
    page = open_page(browser, tmp_path / "loose.html", loose)
    page.wait_for_function("document.pwned")  # the test is not blind
