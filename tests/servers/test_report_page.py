"""The reviewer's page inside MLflow's own UI, in a real browser: what its sandbox lets the page do.

HUSH_PICTURES=docs/images python -m pytest tests/servers/test_report_page.py  # takes those of docs/certificates.md
"""

import shutil

import pytest
from browsing import PATIENCE, picture
from mlflow_server import MlflowServer
from pages import document, rows

from flows.reports.page.publish import PAGE, render

pytestmark = [pytest.mark.servers, pytest.mark.browser]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    server = MlflowServer(tmp_path_factory.mktemp("mlflow"), "--app-name", "hush").start()
    yield server.url
    server.kill()


def shown_to_a_reviewer():
    """1,400 secrets of a nightly model, as a page's document."""
    secrets = [
        row.model_copy(update={"all_runs": min(row.target, row.bound * 1.3), "earlier_runs": 5})
        for row in rows(1400)
    ]
    return document(
        secrets, examples=1_284_113, rounds=2000, rounds_released=1950, expected_batch=2048, promised_runs=52,
        earlier_runs=5, worst_of_all_runs=max(row.all_runs / row.target for row in secrets), gain=0.84,
        losses={"pretrained": 2.11, "protected": 1.398, "unprotected": 1.263},
        warnings=[
            "stopped early: 1,950 of 2,000 rounds were released",
            "3 values were not attacked: they are whole in no example (cut where chunks meet: larger chunk_bytes "
            "cut fewer; or encoded)",
        ],
    )  # fmt: skip


@pytest.mark.slow
def test_mlflow_shows_the_page_and_it_sorts_and_filters_there(mlflow, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from mlflow import MlflowClient
    from playwright.sync_api import sync_playwright

    client = MlflowClient(mlflow, mlflow)
    run = client.create_run(client.create_experiment("assistant"), run_name="assistant 3fa81c02")
    html = render(shown_to_a_reviewer(), {})
    client.log_text(run.info.run_id, html, PAGE)
    (tmp_path / PAGE).write_text(html)
    outside = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1360})
        page.set_default_timeout(PATIENCE)
        page.goto((tmp_path / PAGE).as_uri())
        assert page.locator("#secrets-table tbody tr").count() == 1000
        picture(page, "report")
        page.set_viewport_size({"width": 1500, "height": 1000})
        page.on(
            "request",
            lambda r: r.url.startswith(("http", "ws")) and mlflow not in r.url and outside.append(r.url),
        )
        page.goto(f"{mlflow}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}/artifacts/{PAGE}")
        if not page.locator("iframe").count():
            page.get_by_text(PAGE).first.click()
        frame = page.frame_locator("iframe")
        frame.locator("#tools").wait_for()  # MLflow's sandbox lets the script run
        assert page.get_by_text("GenAI", exact=True).is_visible()  # both sides are there, and ours is open
        assert page.get_by_role("link", name="Runs").first.is_visible()
        picture(page, "report-in-mlflow")
        frame.get_by_role("button", name="Examples").press("Enter")
        shown = frame.locator("#secrets-table tbody tr td:nth-child(4)").all_inner_texts()
        examples = [int(text.replace(",", "")) for text in shown]
        assert len(examples) == 1000 and examples == sorted(examples, reverse=True)
        frame.get_by_label("Search by name").fill("codeowners/000")
        names = frame.locator("#secrets-table tbody tr:visible td.name").all_inner_texts()
        assert 0 < len(names) < 25 and all("codeowners/000" in name for name in names)
        frame.get_by_role("link", name="Promise").click()
        assert frame.get_by_role("heading", name="What is promised").is_visible()  # no navigation away
        browser.close()
    assert not outside
