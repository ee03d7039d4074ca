"""A person in front of both UIs, in a real Chromium: from their landing pages, by what is written on the screen."""

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
PATIENCE = 600_000
PICTURES = os.environ.get("HUSH_PICTURES")
"""A folder: pictures of the pages are kept there, as docs/images has them."""


@contextmanager
def browser_page():
    """A page of a browser that has been nowhere yet."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, headless=True, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        try:
            yield page
        finally:
            browser.close()


def picture(page, name):
    if PICTURES:
        page.wait_for_timeout(1500)
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def log_in(page, servers):
    """Prefect's landing page."""
    page.goto(servers.prefect)
    page.locator("input[type=password]").fill(servers.login)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/dashboard"))


def open_form(page, flow):
    """From any page of Prefect to the form of a deployment."""
    page.get_by_role("link", name="Deployments").first.click()
    page.get_by_role("link", name=f"hush-{flow}").first.click()
    page.wait_for_url(re.compile("/deployments/deployment/"))
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Custom run").click()


def submit(page, servers):
    """Send the form, and go to the run's page from the list of runs; its id."""
    with page.expect_response(lambda r: r.url.endswith("/create_flow_run")) as created:
        page.get_by_role("button", name="Submit", exact=True).click()
    run_id = created.value.json()["id"]
    page.wait_for_url(re.compile("tab=Runs"))
    page.locator(f"a[href*='{run_id}']").first.click()
    return run_id


def resume(page):
    """The form of a paused run, from the menu at the top right of its page."""
    page.get_by_text("Paused", exact=True).first.wait_for()
    page.locator("main button[aria-haspopup=menu]").first.click()
    page.get_by_role("menuitem", name="Resume").click()
    return page.get_by_role("dialog")
