"""The whole stack on real servers: schedule, form in a real browser, pause and resume, refusal."""

import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml
from browsing import browser_page, log_in, open_form, picture, resume, submit
from waiting import until

from flows.serve import ABOUT

pytestmark = [pytest.mark.servers, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


def review_paused(servers, uri):
    """Start a review and wait until it asks; its run."""
    run_id = servers.start("review", {"model_uri": uri})
    ends = ("PAUSED", "FAILED", "CRASHED", "COMPLETED")
    return until(lambda: (run := servers.run(run_id))["state_type"] in ends and run, "the review's question")


def test_a_cron_deployment_yields_scheduled_runs(served):
    deployment = served.deployment("train")
    assert deployment["schedules"][0]["schedule"]["cron"] == "* * * * *"
    assert deployment["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert (
        served.deployment("rehearse")["parameters"]["config_file"] == deployment["parameters"]["config_file"]
    )
    body = {"deployments": {"id": {"any_": [deployment["id"]]}}}
    runs = until(lambda: served.call("/flow_runs/filter", body), "scheduled runs")
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
    assert (
        "untrained 7." in version.description and "pretrained" not in version.description
    )  # it has no steps


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
def test_a_person_gets_from_both_landing_pages_to_a_decision(scheduled):
    servers, _ = scheduled
    with browser_page() as page:
        log_in(page, servers)
        open_form(page, "train")
        page.get_by_role("tab", name="Changes").click()
        rounds = "//p[normalize-space()='train.rounds']/following::"  # its place in the form is not fixed
        page.locator(f"xpath=({rounds}button[normalize-space()='int'])[1]").click()
        page.locator(f"xpath=({rounds}input)[1]").fill("4")
        picture(page, "prefect-form")
        run = servers.finished(submit(page, servers))
        assert run["state_type"] == "COMPLETED", run["state"]["message"]
        assert run["parameters"]["changes"]["rounds"] == 4
        version = max(servers.registry().search_model_versions("name='tiny'"), key=lambda v: int(v.version))
        uri = f"models:/tiny/{version.version}"
        assert version.tags["rounds_released"] == "4"

        page.reload()
        page.get_by_role("tab", name="Artifacts").click()
        page.get_by_role("tabpanel").get_by_role("link", name=f"report of {uri}").click()
        page.get_by_role("main").locator("a[href*='/artifacts/artifact/']").first.click()  # the latest
        page.get_by_role("heading", name=uri).first.wait_for()
        picture(page, "prefect-report")
        link = (
            page.get_by_role("main")
            .get_by_text(re.compile(f"{servers.mlflow}/#/experiments/.*"))
            .inner_text()
        )

        page.goto(servers.mlflow)
        page.get_by_role("link", name="tiny", exact=True).first.click()
        page.wait_for_url(re.compile(r"/runs\?.*workflowType=machine_learning"))
        assert page.evaluate("fetch('ajax-api/3.0/mlflow/assistant/config').then(a => a.status)") == 404
        page.get_by_role("link", name=run_name(servers, version)).first.click()
        page.get_by_text("About this run").first.wait_for()
        assistant = page.locator("button[data-assistant-ui]")
        assert assistant.count() == 1 and not assistant.is_visible()
        picture(page, "mlflow-run")
        page.get_by_role("tab", name="Artifacts").click()
        page.get_by_text("pictures", exact=True).first.click()
        page.get_by_text("posterior_against_target.png").first.click()
        page.locator("img[src^='blob:']").first.wait_for(state="attached")
        picture(page, "mlflow-pictures")
        page.get_by_text("tables", exact=True).first.click()
        page.get_by_text("secrets.preview.csv").first.click()
        page.get_by_text("vault").first.wait_for()
        picture(page, "mlflow-tables")
        page.get_by_role("link", name="Model registry").first.click()
        page.locator("a[href='#/models/tiny']").first.click()
        page.locator(f"a[href='#/models/tiny/versions/{version.version}']").first.click()
        page.get_by_text(f"hush review {uri}").first.wait_for()
        picture(page, "mlflow-version")
        page.goto(link.split()[-1])  # as printed in the report
        page.get_by_role("tab", name="Artifacts").wait_for()

        page.goto(servers.prefect)
        open_form(page, "review")
        page.get_by_label("model_uri").fill(uri)
        run_id = submit(page, servers)
        dialog = resume(page)
        dialog.get_by_role("heading", name=f"{uri}: the certificate holds").wait_for()
        picture(page, "prefect-review")
        dialog.get_by_role("button", name="Select Decision").click()
        page.get_by_role("option", name="approve").click()
        dialog.get_by_label("Reviewer").fill("grace")
        dialog.get_by_label("Reason").fill("read the report")
        picture(page, "prefect-decision")
        dialog.get_by_role("button", name="Resume").click()
        assert servers.finished(run_id)["state_type"] == "COMPLETED"

        page.goto(f"{servers.mlflow}/#/models/tiny/versions/{version.version}")
        page.get_by_text("reviewed_by").filter(visible=True).first.wait_for()  # below the alias
        picture(page, "mlflow-champion")
    champion = servers.registry().get_model_version_by_alias("tiny", "champion")
    assert champion.version == version.version
    assert champion.tags["reviewed_by"] == "grace" and champion.tags["review_reason"] == "read the report"


def run_name(servers, version):
    return servers.registry().get_run(version.run_id).info.run_name


def side_by_side(servers):
    """Flow → how many runs of it may go on at once, and what becomes of one more."""
    found = {}
    for flow in ABOUT:
        one = servers.deployment(flow)
        limit, options = one["global_concurrency_limit"], one["concurrency_options"]
        found[flow] = limit and (limit["limit"], options["collision_strategy"])
    return found


def test_prefect_yaml_deploys_every_flow(served, job, tmp_path):
    servers, limits = served, side_by_side(served)
    assert limits["train"] == limits["rehearse"] == (1, "ENQUEUE") and limits["plan"] == (2, "ENQUEUE")
    assert limits["watch"] == (1, "CANCEL_NEW") and limits["review"] == (16, "ENQUEUE")
    environment = {
        **servers.environment, "HUSH_CODE": str(ROOT), "HUSH_CONFIG": str(job), "HUSH_CRON": "0 2 * * *",
        "HUSH_TIMEZONE": "UTC", "PREFECT_HOME": str(tmp_path),
    }  # fmt: skip
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    for command in (
        ["work-pool", "create", "hush-process", "--type", "process", "--overwrite"],
        ["deploy", "--all", "--prefect-file", "deploy/prefect.yaml"],
    ):
        assert shlex.join(["prefect", "--no-prompt", *command]) in (ROOT / "docs" / "running.md").read_text()
        done = subprocess.run(
            [*prefect, *command], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
    train = servers.deployment("train")
    assert train["work_pool_name"] == "hush-process" and train["parameters"]["config_file"] == str(job)
    assert train["schedules"][0]["schedule"]["timezone"] == "UTC"
    for flow, about in ABOUT.items():
        assert servers.deployment(flow)["description"] == about
    assert side_by_side(servers) == limits


def test_a_database_is_closed_to_the_role_of_the_other(postgres):
    import psycopg2

    own, other = postgres["mlflow"], postgres["prefect"]
    psycopg2.connect(f"postgresql://{own}").close()
    with pytest.raises(psycopg2.OperationalError, match="permission denied"):
        psycopg2.connect(f"postgresql://{own.rpartition('/')[0]}/prefect")
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(f"postgresql://mlflow:{other.partition(':')[2]}".replace("/prefect", "/mlflow"))


def test_each_service_gets_its_own_secrets_and_what_is_wanted_is_asked_for():
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    given = {name: set(service.get("secrets", [])) for name, service in stack["services"].items()}
    assert given["mlflow"] == {"mlflow_db_password", "mlflow_password"}
    # the key is read where it lies, by the path that the environment names
    assert given["worker"] == {"prefect_password", "mlflow_password", "signing_key", "webhook_url"}
    assert "HUSH_WEBHOOK_URL" not in stack["services"]["worker"]["environment"], "its path is a password"
    assert stack["services"]["worker"]["environment"]["HUSH_SIGNING_KEY"] == "/run/secrets/signing_key"
    given["worker"] -= {"signing_key"}
    assert given["prefect"] == {"prefect_db_password", "prefect_password"}
    assert all(service["cap_drop"] == ["ALL"] for service in stack["services"].values())
    assert all(service["mem_limit"] and service["pids_limit"] for service in stack["services"].values())
    entry = (ROOT / "deploy" / "entrypoint.sh").read_text()
    login = entry.split("\nlog_in() {")[1].split("\n}")[0]
    for role in ("prefect", "mlflow", "worker"):
        part = (
            entry.split(f"\n{role})")[1]
            .split(";;")[0]
            .replace("$(mlflow_database)", "$(secret mlflow_db_password)")
            .replace("log_in", login)
        )
        assert set(re.findall(r"secret (\w+)\)", part)) == given[role], role
    example = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "deploy" / ".env.example").read_text(), re.M))
    wanted = re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text())
    assert set(wanted) == {"HUSH_CONFIG", "HUSH_SOURCES", "HUSH_CONFIGS"} and set(wanted) <= set(example)


def test_the_compose_file_is_valid():
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*checker, str(ROOT / "docker-compose.yml")], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout
