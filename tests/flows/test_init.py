"""`hush init && hush plan` is how one begins: what was found as entries, each with a comment, never a value."""

import subprocess

import pytest
import yaml
from jobs import Job, commit, git

from flows.init import _frequent
from hush_core.config import load_config, parse_config
from hush_core.config.first import Candidate, Found, chunk_bytes_for, entry_id, first_config
from hush_core.secrets.detectors.credential_scanner import CredentialScanner


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("init"), seed=41)
    repository = job.folder / "repository"
    owners = f"* @acme/all\n/risk/ @acme/risk\n/app/module_1.py @acme/{job.token}\n/trading/ @acme/*\n"
    (repository / "CODEOWNERS").write_text(owners)
    for number in range(3):
        (repository / "app" / "module_2.py").write_text(f"CALL = {number}\n")
        git(repository, "commit", "-q", "-a", "-m", "more", email=f"{job.token}@example.com")
    (repository / "app" / "module_5.py").write_text("CALL = 7\n")
    git(repository, "commit", "-q", "-a", "-m", "robot", email="1+update[bot]@users.example.com")
    return job


def test_init_then_plan(job):
    output = job.hush("init", "repository/app")
    target = job.folder / "hush.yaml"
    text = target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600, "it names people"
    config = load_config(target)
    assert {secret.id for secret in config.secrets} == {"credentials", "risk", "noor"}
    assert "wrote hush.yaml: credentials, risk, noor" in output and "all, ada" in output
    assert config.repos[0].path == job.folder / "repository" and config.repos[0].name == "repository"
    assert "# Credentials: 1 found that can be protected.\n" in text
    assert (
        "# Team @acme/risk: 1 file by CODEOWNERS; " in text
        and "# Author noor@quant.example.com: 1 commit;" in text
    )
    assert '  # - {id: ada, kind: contributors, emails: ["ada@acme.example.com"], level: normal}\n' in text
    assert all(form not in (text + output).lower() for form in (job.token.lower(), job.codename, "[bot]"))

    again = job.hush("init", "repository", status=2)
    assert again.startswith("hush: hush.yaml: exists already") and target.read_text() == text

    output = job.hush("plan")
    assert "train without noise on" in " ".join(output.split()) and "refused" not in output
    assert "1 can be protected" in job.hush("secrets")
    target.unlink()


@pytest.mark.parametrize("email", ["1+update[bot]@users.example.com", "solo@example.com"])
def test_where_one_author_or_robot_wrote_all_the_next_step_is_an_entry_and_no_hopeless_plan(
    job, tmp_path, email
):
    commit(tmp_path / "bare", {"hello.py": "print(1)\n"}, email=email)
    output = job.hush("init", tmp_path / "bare")
    text = (job.folder / "hush.yaml").read_text()
    assert (
        ("  # Off: this is most of the text. Noise" in text)
        == ("  # - {id: solo" in text)
        == ("solo" in email)
    )
    assert "no text holds what these name; next: add an entry" in " ".join(output.split())
    assert "train without noise on 1 example, without certified rounds" in " ".join(job.hush("plan").split())
    (job.folder / "hush.yaml").unlink()


def test_a_shallow_clone_and_a_file_in_the_way(job, tmp_path):
    source = job.folder / "repository"
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{source}", tmp_path / "cut"], check=True, timeout=600
    )
    (job.folder / "hush.yaml").unlink(missing_ok=True)
    job.hush("init", tmp_path / "cut")
    text = (job.folder / "hush.yaml").read_text()
    (job.folder / "hush.yaml").unlink()
    assert "shallow clone does not know them" in text and "contributors" not in text
    (job.folder / "hush.yaml").symlink_to("nowhere")
    assert "exists already" in job.hush("init", "repository", status=2)
    (job.folder / "hush.yaml").unlink()
    assert not (job.folder / "nowhere").exists()


# what is written, by what was counted


def written(examples, *sizes, text_bytes=1 << 20):
    """The data of a file for credentials and teams that hold so many examples."""
    found = Found(
        path="../a \"b\": #c", name="a", files=3, examples=examples, chunk_bytes=chunk_bytes_for(text_bytes),
        candidates=tuple(
            Candidate(f"t{n}", "codeowners", (f"@a/t{n}",), "said", size)
            if n
            else Candidate("credentials", "credentials", (), "said", size)
            for n, size in enumerate(sizes)
        ),
    )  # fmt: skip
    return yaml.safe_load(first_config(found))


@pytest.mark.parametrize("examples", [1, 2, 7, 40, 1000, 10**6])
@pytest.mark.parametrize("text_bytes", [100, 10 << 20, 1 << 30])
def test_no_size_is_refused(tmp_path, examples, text_bytes):
    for sizes in ((0,), (1,), (0, examples), (0, 0, 1), (examples, examples // 2, 1)):
        data = written(examples, *sizes, text_bytes=text_bytes)
        config = parse_config(data, where="hush.yaml", folder=tmp_path)
        assert (config.train.batch, config.weights.c) == (None, None), "numbers are the plan's"
        assert config.repos[0].path.name == 'a "b": #c'


def test_what_holds_much_is_a_comment_also_where_nothing_else_is_there():
    def active(*sizes):
        return [entry["id"] for entry in written(100, *sizes)["secrets"]]

    assert active(3, 25, 26, 0) == ["credentials", "t1"]
    assert active(0, 90, 40) == ["credentials"]
    assert active(0) == ["credentials"]


def test_only_names_that_a_config_holds_as_they_are(job):
    scanner = CredentialScanner(job.home / "store" / "extraction")
    token = "ghp_" + "aB3dE6gH9kL2mN5pQ8rS1tU4vW7xY0zA3bC6"
    names = [
        'x"@a.org',
        "a*@b.org",
        "o'neil@b.org",
        f"{token}@a.org",
        f"@acme/{token.lower()}",
        "7+r[bot]@a.org",
        "ci-bot@a.org",
        "Ada@A.org",
    ]
    assert _frequent(dict.fromkeys([*names, "plain", "@acme/risk\n"], 5) | {"ada@a.org": 1}, 3, scanner) == [
        ("ada@a.org", 6)
    ]
    assert entry_id("@acme/日本", {"entry"}) == "entry-2"
