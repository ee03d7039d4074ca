"""The pages of both UIs in a real Chromium, for `load`: seconds from the address to what a person came for."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from load import Stack

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PATIENCE = 180_000


def pages(stack: Stack) -> dict[str, float]:
    """Page → seconds; each is visited twice, and the second visit counts: scripts are in the cache by then."""
    from playwright.sync_api import sync_playwright

    prefect, mlflow = (f"http://127.0.0.1:{stack.ports[name]}" for name in ("prefect", "mlflow"))
    (place,) = [
        one["experiment_id"]
        for one in stack.tracker("experiments/search", {"max_results": 25})["experiments"]
        if one["name"] == "tiny"
    ]
    kind = "?workflowType=machine_learning"
    visits = {
        "Prefect, dashboard": (f"{prefect}/dashboard", "text=/Flow Runs/i"),
        "Prefect, runs": (f"{prefect}/runs", "a[href*='/runs/flow-run/']"),
        "Prefect, deployments": (f"{prefect}/deployments", "text=hush-train"),
        "MLflow, experiment": (f"{mlflow}/#/experiments/{place}/runs{kind}", "a[href*='/runs/']"),
        "MLflow, models": (f"{mlflow}/#/models{kind}", "a[href*='/models/tiny']"),
        "MLflow, a model's versions": (f"{mlflow}/#/models/tiny{kind}", "a[href*='/models/tiny/versions/']"),
    }
    login = (stack.home / "keys" / "mlflow.login").read_text().partition(":")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), headless=True, args=list(FLAGS)
        )
        try:
            context = browser.new_context(
                viewport={"width": 1280, "height": 800},
                http_credentials={"username": login[0], "password": login[2], "origin": mlflow},
            )
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(prefect)
            page.locator("input[type=password]").fill((stack.home / "keys" / "prefect.login").read_text())
            page.keyboard.press("Enter")
            page.wait_for_url("**/dashboard*")
            found = {}
            for _ in range(2):
                for name, (address, sign) in visits.items():
                    page.goto("about:blank")
                    began = time.monotonic()
                    page.goto(address)
                    page.locator(sign).first.wait_for()
                    found[name] = round(time.monotonic() - began, 1)
            return found
        finally:
            browser.close()
