"""The whole stack on real servers: schedule, form in a real browser, pause and resume, refusal."""

import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.servers
ROOT = Path(__file__).parents[2]


def review_paused(servers, uri):
    """Start a review and wait until it asks; its run."""
    run_id = servers.start("review", {"model_uri": uri})
    ends = ("PAUSED", "FAILED", "CRASHED", "COMPLETED")
    from time import monotonic, sleep

    deadline = monotonic() + 120
    while (run := servers.run(run_id))["state_type"] not in ends:
        assert monotonic() < deadline
        sleep(0.5)
    return run


def test_a_cron_deployment_yields_scheduled_runs(served):
    from time import monotonic, sleep

    deployment = served.deployment("train")
    assert deployment["schedules"][0]["schedule"]["cron"] == "* * * * *"
    assert deployment["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert (
        served.deployment("rehearse")["parameters"]["config_file"] == deployment["parameters"]["config_file"]
    )
    body = {"deployments": {"id": {"any_": [deployment["id"]]}}}
    deadline = monotonic() + 60
    while not (runs := served.call("/flow_runs/filter", body)):
        assert monotonic() < deadline
        sleep(0.5)
    assert all(run["auto_scheduled"] for run in runs)


def test_the_server_wants_a_login_and_refuses_other_origins(servers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{servers.prefect}/api/admin/version", timeout=10)
    assert caught.value.code == 401
    probe = urllib.request.Request(f"{servers.prefect}/api/health", headers={"Origin": "http://evil.example"})
    with urllib.request.urlopen(probe, timeout=10) as answer:
        assert answer.headers.get("access-control-allow-origin") is None


def test_a_scheduled_run_ends_in_a_registered_model(scheduled):
    servers, run = scheduled
    assert run["auto_scheduled"] and run["state_type"] == "COMPLETED", run["state"]["message"]
    version = servers.registry().get_model_version("tiny", "1")
    assert version.tags["validation_status"] == "pending"


def test_a_paused_review_is_resumed_and_promotes(scheduled):
    servers, _ = scheduled
    run = review_paused(servers, "models:/tiny/1")
    assert run["state_type"] == "PAUSED", run["state"]["message"]
    answer = {"decision": "approve", "reviewer": "ada", "reason": "read it"}
    servers.call(f"/flow_runs/{run['id']}/resume", {"run_input": answer})
    assert servers.finished(run["id"])["state_type"] == "COMPLETED"
    champion = servers.registry().get_model_version_by_alias("tiny", "champion")
    assert str(champion.version) == "1" and champion.tags["reviewed_by"] == "ada"


@pytest.mark.browser
def test_a_run_started_from_the_form_ends_in_a_registered_model(scheduled):
    servers, _ = scheduled
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync"
    deployment = servers.deployment("train")["id"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, headless=True, args=flags.split())
        page = browser.new_page()
        page.goto(servers.prefect)
        page.locator("input[type=password]").fill(servers.login)
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("dashboard"), timeout=60_000)
        page.goto(f"{servers.prefect}/deployments/deployment/{deployment}/run")
        page.get_by_role("button", name="Changes", exact=True).click()
        rounds = "//*[normalize-space()='train.rounds']/following::"  # its place in the form is not fixed
        page.locator(f"xpath=({rounds}button[normalize-space()='int'])[1]").click()
        page.locator(f"xpath=({rounds}input)[1]").fill("4")
        with page.expect_response(lambda r: r.url.endswith("/create_flow_run")) as created:
            page.get_by_role("button", name="Submit", exact=True).click()
        run_id = created.value.json()["id"]
        browser.close()
    run = servers.finished(run_id)
    assert run["state_type"] == "COMPLETED", run["state"]["message"]
    assert run["parameters"]["changes"]["rounds"] == 4
    assert servers.registry().get_model_version("tiny", "2").tags["rounds_released"] == "4"


def test_a_tampered_certificate_is_refused_and_dethroned(scheduled):
    servers, _ = scheduled
    client = servers.registry()
    client.set_registered_model_alias("tiny", "champion", "1")
    model_id = client.get_model_version("tiny", "1").source.removeprefix("models:/")
    (found,) = servers.artifacts.rglob(f"{model_id}/artifacts/certificate/certificate.json")
    found.write_bytes(found.read_bytes().replace(b'"rounds": 3', b'"rounds": 9'))
    run = servers.finished(servers.start("review", {"model_uri": "models:/tiny/1"}))
    assert run["state_type"] == "FAILED" and "does not verify" in run["state"]["message"]
    assert "champion" not in client.get_registered_model("tiny").aliases
    assert client.get_model_version("tiny", "1").tags["validation_status"] == "failed"


def test_prefect_yaml_deploys_every_flow(servers, job, tmp_path):
    environment = {
        **servers.environment, "HUSH_CODE": str(ROOT), "HUSH_CONFIG": str(job), "HUSH_CRON": "0 2 * * *",
        "HUSH_TIMEZONE": "UTC", "PREFECT_HOME": str(tmp_path),
    }  # fmt: skip
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    for command in (
        ["work-pool", "create", "hush-process", "--type", "process", "--overwrite"],
        ["deploy", "--all", "--prefect-file", str(ROOT / "deploy" / "prefect.yaml")],
    ):
        done = subprocess.run(
            [*prefect, *command], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
    train = servers.deployment("train")
    assert train["work_pool_name"] == "hush-process" and train["parameters"]["config_file"] == str(job)
    assert train["schedules"][0]["schedule"]["timezone"] == "UTC"
    for flow in ("review", "plan", "rehearse", "secrets"):
        assert servers.deployment(flow)


def test_the_compose_file_is_valid():
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*checker, str(ROOT / "docker-compose.yml")], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout
