"""The reviewer's page inside MLflow's own UI, in a real browser: what its sandbox lets the page do."""

import shutil

import pytest
from mlflow_server import MlflowServer
from pages import document, rows

from flows.reports.page.render import render
from tasks.reviewer_page import PAGE

pytestmark = [pytest.mark.servers, pytest.mark.browser]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    server = MlflowServer(tmp_path_factory.mktemp("mlflow")).start()
    yield server.url
    server.kill()


def test_mlflow_shows_the_page_and_it_sorts_and_filters_there(mlflow):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from mlflow import MlflowClient
    from playwright.sync_api import sync_playwright

    client = MlflowClient(mlflow, mlflow)
    run = client.create_run(client.create_experiment("pages"))
    secrets = rows(40)
    client.log_text(run.info.run_id, render(document(secrets), {}), PAGE)
    outside = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        page.on(
            "request",
            lambda r: r.url.startswith(("http", "ws")) and mlflow not in r.url and outside.append(r.url),
        )
        page.goto(f"{mlflow}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}/artifacts/{PAGE}")
        if not page.locator("iframe").count():
            page.get_by_text(PAGE).first.click(timeout=60_000)
        frame = page.frame_locator("iframe")
        frame.locator("#tools").wait_for(
            state="visible", timeout=60_000
        )  # MLflow's sandbox lets the script run
        frame.get_by_role("button", name="Examples").press("Enter")
        shown = frame.locator("#secrets-table tbody tr td:nth-child(4)").all_inner_texts()
        assert [int(t.replace(",", "")) for t in shown] == sorted((r.examples for r in secrets), reverse=True)
        frame.get_by_label("Search by name").fill("codeowners/")
        assert frame.locator("#secrets-table tbody tr:visible").count() == 10
        frame.get_by_role("link", name="Promise").click()
        assert frame.get_by_role("heading", name="What is promised").is_visible()  # no navigation away
        browser.close()
    assert not outside
