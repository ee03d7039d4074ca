"""What the lines are that scanners report in the files of strangers: a sample, read and judged.

    python lab/benchmarks/outside_judged.py draw --mirror FOLDER --peer betterleaks=ENV --work WORK [--hosts fresh]
    python lab/benchmarks/outside_judged.py join --work WORK      # WORK/verdicts.txt: number, verdict, kind
    python lab/benchmarks/outside_judged.py [--hosts fresh]       # the table
    python lab/benchmarks/outside_judged.py count --mirror FOLDER --hosts fresh     # by the rules of today

`outside_judged.md` says how the lines are judged, and was written first. `draw` writes WORK/sample.txt, in random
order and without the tools' names, for the judge, and WORK/key.json, which is opened by `join` alone. WORK holds
values, what is kept does not. The samples of "first" and "third" were drawn from hosts with plantings.
"""

import argparse
import csv
import json
import random
import re
import tempfile
from collections import Counter
from pathlib import Path

import outside_peers
from outside_keys import key_lines
from outside_planting import git, repository
from outside_recall import HOST_SETS, OURS, hush_found, reported_lines
from scipy.stats import beta

RESULTS = Path(__file__).with_name("results")
WARNED = "hush's warnings"
"""Of hush's lines those that its report asks a person to look at: SARIF's warnings, and text that is left out."""
DRAWN = {OURS: 150, WARNED: 100, "betterleaks": 60}
VERDICTS = ("credential", "unclear", "public", "none")
SEED, AROUND, LARGEST = 16, 6, 200_000
MADE_BY_TOOLS = (b".lock", b"-lock.json", b"-lock.yaml", b".svg", b".min.js", b".map", b"go.sum")
HOSTS = {name: hosts for name, (hosts, _) in HOST_SETS.items()} | {
    "fresh": (
        "usememos/memos", "gogs/gogs", "docker/compose", "koajs/koa", "falconry/falcon", "k3s-io/k3s-ansible",
        "cookiecutter/cookiecutter-django", "openfaas/faas", "vercel/commerce",
    ),
    "second": (
        "wekan/wekan", "go-chi/chi", "dotnet-architecture/eShopOnWeb", "phoenixframework/phoenix",
        "encode/starlette", "ansible/awx", "BookStackApp/BookStack",
        "hashicorp/terraform-provider-random", "lobsters/lobsters", "ktorio/ktor-samples", "actix/examples",
    ),
    "final": (
        "writefreely/writefreely", "pocketbase/pocketbase", "laurent22/joplin", "Netflix/conductor",
        "healthchecks/healthchecks", "spring-guides/gs-rest-service", "hashicorp/consul-template",
        "firefly-iii/firefly-iii", "oauth2-proxy/oauth2-proxy", "tornadoweb/tornado",
    ),
    "unseen": (
        "dani-garcia/vaultwarden", "FreshRSS/FreshRSS", "louislam/uptime-kuma", "caddyserver/caddy",
        "elixir-plug/plug", "keycloak/keycloak-quickstarts", "fastapi/full-stack-fastapi-template",
        "thoughtbot/administrate", "dotnet/eShop", "geerlingguy/ansible-role-mysql", "square/retrofit",
        "nvm-sh/nvm", "jellyfin/jellyfin",
    ),
    "later": (
        "getredash/redash", "restic/restic", "rust-lang/crates.io", "certbot/certbot",
        "spring-projects/spring-session", "aws-samples/aws-cdk-examples", "laravel/framework",
        "kubernetes/ingress-nginx", "hapijs/hapi", "elixir-ecto/ecto", "locustio/locust", "rclone/rclone",
    ),
    "last": (
        "grafana/k6", "netbox-community/netbox", "spring-cloud/spring-cloud-config", "tokio-rs/axum",
        "gofiber/fiber", "umami-software/umami", "benoitc/gunicorn", "sidekiq/sidekiq",
        "phoenixframework/phoenix_live_view", "snipe/snipe-it", "cloudnative-pg/cloudnative-pg",
        "duplicati/duplicati",
    ),
    "newest": (
        "prometheus/alertmanager", "seanmonstar/warp", "labstack/echo", "oban-bg/oban", "encode/httpx",
        "resque/resque", "argoproj/argo-rollouts", "ansible-collections/community.docker",
        "fastify/fastify", "Kareadita/Kavita", "koel/koel", "spring-cloud/spring-cloud-gateway",
    ),
}  # fmt: skip
"""The last seven were named on 2026-11-28, each before a line of it was read. From "second" on, the rules were
written with the lines of the set before in view. Three of "second" were hosts."""


def clopper_pearson(hits: float, of: float, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, hits / of, for independent draws (Clopper and Pearson 1934)."""
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, of - hits + 1)) if hits else 0.0
    return low, float(beta.ppf(1 - tail, hits + 1, of - hits)) if hits < of else 1.0


def kept(which: str, ending: str) -> Path:
    """What is kept of the lines of these hosts: `csv`, a row a line; `json`, what it was drawn from."""
    return RESULTS / f"outside_judged{'' if which == 'first' else f'_{which}'}.{ending}"


def text_of(host: Path) -> dict[str, str]:
    """UTF-8 text by path of the newest commit, without lock files, pictures and what a tool packed."""
    files = {}
    for entry in git(host, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]:
        about, name = entry.split(b"\t", 1)
        mode, kind, blob = about.decode().split()
        if kind != "blob" or mode == "120000" or name.endswith(MADE_BY_TOOLS):
            continue
        data = git(host, "cat-file", "blob", blob, missing=True)
        if not 0 < len(data) <= LARGEST or b"\0" in data or b"\r" in data:
            continue
        try:
            files[name.decode()] = data.decode()
        except UnicodeDecodeError:
            continue
    return files


def read(mirror: Path, which: str) -> tuple[dict[str, Path], dict[str, str], set[tuple[str, int]]]:
    """The hosts' folders, their texts by host and path, and the lines of keys and their certificates."""
    folders = {name: mirror / name.replace("/", "+") / "repo" for name in HOSTS[which]}
    texts = {f"{name}/{path}": text for name, host in folders.items() for path, text in text_of(host).items()}
    return folders, texts, set().union(*key_lines(texts))


def count(mirror: Path, which: str, checkout: Path) -> None:
    """Print how many lines a checkout's rules report in the same files; they may have been written for these."""
    _, texts, proven = read(mirror, which)
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "hosts", texts)
        found = hush_found(tree, checkout)
    megabytes = sum(len(text.encode()) for text in texts.values()) / 1e6
    for tool, part in ((OURS, found), (WARNED, found["warned"])):
        lines = len(reported_lines(texts, part) - proven)
        print(f"{which}: {tool}: {lines} lines, {lines / megabytes:.1f} a MB")


def draw(mirror: Path, which: str, checkout: Path, peers: dict[str, Path], work: Path) -> None:
    """What each tool reports in the newest files of the hosts, and a sample of it with the lines around."""
    folders, texts, proven = read(mirror, which)
    with tempfile.TemporaryDirectory() as folder:
        tree = repository(Path(folder) / "hosts", texts)
        found = hush_found(tree, checkout)
        parts = {OURS: found, WARNED: found["warned"]}
        frame = {tool: reported_lines(texts, part) - proven for tool, part in parts.items()}
        for peer, environment in peers.items():
            frame[peer] = outside_peers.reported(peer, environment, tree)[0] - proven
    marks = [
        (path, *span) for how in ("tagged", "dropped") for path in texts for span in found[how].get(path, [])
    ]
    chance, sample = random.Random(SEED), set()
    for tool, lines in frame.items():
        sample |= set(chance.sample(sorted(lines), min(DRAWN[tool], len(lines))))
    order = sorted(sample)
    chance.shuffle(order)
    rows, pages = [], []
    for number, (path, line) in enumerate(order):
        host, inside = next((name, path[len(name) + 1 :]) for name in folders if path.startswith(f"{name}/"))
        before = sum(len(each.encode()) + 1 for each in texts[path].split("\n")[: line - 1])
        until = before + len(texts[path].split("\n")[line - 1].encode())
        marked = any(p == path and start < until and before < end for p, start, end in marks)
        tools = {tool: "all" if (path, line) in lines else "" for tool, lines in frame.items()}
        commit = git(folders[host], "rev-parse", "HEAD").decode().strip()
        row = {
            "host": host,
            "commit": commit,
            "path": inside,
            "line": line,
            "marked": "yes" if marked else "no",
        }
        rows.append(row | tools)
        pages.append(f"##{number} {host} {inside}:{line}\n{_around(texts[path], line)}\n")
    work.mkdir(parents=True, exist_ok=True)
    (work / "sample.txt").write_text("\n".join(pages))
    commit = git(checkout, "rev-parse", "--short", "HEAD").decode().strip()
    megabytes = {"all": sum(len(text.encode()) for text in texts.values()) / 1e6}
    files = {tool: Counter(path for path, _ in lines).most_common(3) for tool, lines in frame.items()}
    facts = {"hosts": which, "commit": commit, "peers": outside_peers.versions(peers), "megabytes": megabytes,
             "lines": {tool: {"all": len(lines)} for tool, lines in frame.items()},
             "files_with_most": files}  # fmt: skip
    (work / "key.json").write_text(json.dumps({"facts": facts, "rows": rows}))
    for tool, lines in frame.items():
        print(f"{tool}: {len(lines)} lines, {len(lines) / megabytes['all']:.1f} a MB")


def _around(text: str, line: int) -> str:
    near = list(enumerate(text.split("\n"), 1))[max(0, line - 1 - AROUND) : line + AROUND]
    return "\n".join(f"{'>' if at == line else ' '} {words[:400]}" for at, words in near)


def join(work: Path) -> None:
    """Verdicts, written down blind, put beside the tools; what is kept holds no text of any file."""
    key = json.loads((work / "key.json").read_text())
    said = dict(re.findall(r"^(\d+) (.+)$", (work / "verdicts.txt").read_text(), re.M))
    which = key["facts"].get("hosts", "first")
    with kept(which, "csv").open("w", newline="") as out:
        rows = [{**row, "verdict": said[str(i)].split()[0], "kind": " ".join(said[str(i)].split()[1:])}
                for i, row in enumerate(key["rows"])]  # fmt: skip
        if wrong := {row["verdict"] for row in rows} - set(VERDICTS):
            raise SystemExit(f"no such verdict: {sorted(wrong)}")
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    kept(which, "json").write_text(json.dumps(key["facts"], indent=1) + "\n")


def shares(rows: list[dict], facts: dict, tool: str, part: str) -> dict:
    """Of one tool on one part of the sample (a seed, `both`, or `all`): counts by verdict, and of lines that hold a
    credential, and that hold none (unclear ones included, and not), share and interval; `rate`: lines a MB.

    A line that several tools report was likelier to be drawn, so each counts by the inverse of its chance (Horvitz
    and Thompson 1952). The interval is that of as many equal draws as have the same variance (Kish 1965).
    """
    mine = [row for row in rows if row[tool] and (part == "both" or part in row[tool].split())]
    weight = [1 / _chance(row, facts) for row in mine]
    equal = sum(weight) ** 2 / sum(w * w for w in weight)

    def share(*verdicts: str) -> tuple[float, float, float]:
        hits = sum(w for w, row in zip(weight, mine, strict=True) if row["verdict"] in verdicts) / sum(weight)
        return hits, *clopper_pearson(hits * equal, equal)

    return {
        "rate": facts["lines"][tool][part] / facts["megabytes"][part], "read": len(mine),
        "counts": Counter(row["verdict"] for row in mine),
        "rest": Counter((row["verdict"], row["kind"]) for row in mine if row["verdict"] != "credential"),
        "credential": share("credential"), "strict": share("public", "none", "unclear"),
        "mild": share("public", "none"),
    }  # fmt: skip


def _chance(row: dict, facts: dict) -> float:
    """That a line is in the sample: each tool drew DRAWN of all that it reports."""
    missed = 1.0
    for tool, lines in facts["lines"].items():
        frame = lines["both"] if "both" in lines else lines["all"]
        missed *= 1 - min(1.0, DRAWN[tool] / frame) * bool(row[tool])
    return 1 - missed


def table(rows: list[dict], facts: dict) -> str:
    """Markdown: a row a tool and seed, 95 % intervals in brackets; then what the rest is."""
    head = ["", "lines a MB", "read", "credential, %", *VERDICTS[1:], "no credential, a MB", "so for certain"]
    lines, rest = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)], []
    for tool in facts["lines"]:
        parts = list(facts["lines"][tool])
        for part in parts if len(parts) > 2 else parts[:1]:
            said = shares(rows, facts, tool, part)
            share = "{:.0f} ({:.0f}–{:.0f})".format(*(100 * x for x in said["credential"]))
            wrong = [[said["rate"] * x for x in said[name]] for name in ("strict", "mild")]
            wrong = ["{:.1f} ({:.1f}–{:.1f})".format(*three) for three in wrong]
            counts = [said["counts"][verdict] for verdict in VERDICTS[1:]]
            cells = [f"{tool}, {part}", f"{said['rate']:.1f}", said["read"], share, *counts, *wrong]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        kinds = (f"{n} {verdict}: {kind}" for (verdict, kind), n in said["rest"].most_common())
        rest.append(f"{tool}, the rest: {', '.join(kinds)}")
        true = [row["marked"] for row in rows if row[tool] and row["verdict"] == "credential"]
        rest.append(
            f"{tool}, credentials: {len(true)}; hush marks text of {true.count('yes')} of these lines"
        )
    return "\n".join([*lines, "", *rest])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", nargs="?", default="table", choices=["draw", "join", "count", "table"])
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--hosts", choices=HOSTS, default="first", help="which hosts of the mirror")
    parser.add_argument("--hush", type=Path, default=Path(__file__).parents[2], help="the checkout")
    parser.add_argument("--peer", action="append", default=[], help="NAME=ENVIRONMENT")
    parser.add_argument("--work", type=Path, help="a folder of your own: it holds text of the hosts")
    given = parser.parse_args()
    if given.step == "draw":
        peers = {word.split("=", 1)[0]: Path(word.split("=", 1)[1]) for word in given.peer}
        draw(given.mirror, given.hosts, given.hush, peers, given.work)
    elif given.step == "join":
        join(given.work)
    elif given.step == "count":
        count(given.mirror, given.hosts, given.hush)
    else:
        facts = json.loads(kept(given.hosts, "json").read_text())
        print(table(list(csv.DictReader(kept(given.hosts, "csv").open())), facts))


if __name__ == "__main__":
    main()
