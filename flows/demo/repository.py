"""The demo's input: a real git repository, built from this interpreter's standard library.

>>> demo = build_demo_repository(Path("demo"))        # doctest: +SKIP
>>> demo.repository, demo.config                      # doctest: +SKIP
(PosixPath('demo/repository'), PosixPath('demo/demo.yaml'))

A company's monorepo: vendored public code under third_party/, its own services beside it, owners, several
people's commits and a merge. Credentials of known value are planted the way they are found in the wild: the
same token pasted into scripts, modules and settings, and a few copies in base64, hex and JSON. The same seed
and interpreter give the same commit.
"""

from __future__ import annotations

import ast
import random
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flows.demo.history import Commit, Person, write_letters, write_repository
from hush_core.auditing.made_up import Credential, encoded_copies, make_codenames, make_credentials
from hush_core.errors import InputError

TEMPLATE = Path(__file__).with_name("demo.yaml")
BYTES, FULL_BYTES = (150_000, 700_000), (450_000, 20_000_000)
"""Own code and public code to take, at most: of the demo, and of `--full`."""
IN_FULL = re.compile(rb"^( *\w+: ).*  # full: (.+)$", re.MULTILINE)
"""A line of the config whose comment gives the value of `--full`."""
MARKER = "hush-demo"
"""A file in the repository's .git: only what carries it is ever replaced."""

ADA = Person("Ada Berg", "ada@acme.example.com")
LIN = Person("Lin Ortega", "lin@acme.example.com")
NOOR = Person("Noor Haddad", "noor@quant.example.com")
TOMAS = Person("Tomas Vega", "tomas@quant.example.com")
EVE = Person("Eve Sandoval", "eve@contractor.example.net")

ALPHA = {"trading/alpha": ("bisect.py", "graphlib.py", "sched.py")}  # a path secret: the strategy
RISK = {"risk": ("fractions.py",)}  # a team's files
PRICING = {"pricing": ("numbers.py", "colorsys.py")}  # written by the quants
SERVICES = {
    "services": ("http", "urllib"),
    "trading": ("asyncio", "concurrent"),
    "platform": ("json", "logging", "multiprocessing", "importlib"),
    "data": ("email", "xml"),
    "qa": ("unittest",),
}  # the rest of the private code, the smallest files first, up to the cap
NOT_TAKEN = {"site-packages", "lib-dynload", "__pycache__", "__phello__", "test", "tests", "idle_test"}
NOT_TAKEN |= {"idlelib", "lib2to3", "ensurepip", "pydoc_data", "encodings", "turtledemo"}
CODEOWNERS = """\
# who reviews what; the last match wins
*                 @acme/platform
/services/        @acme/services
/trading/         @acme/trading
/pricing/         @acme/quant
/risk/            @acme/risk
/third_party/     @acme/platform
"""
REGIONS = ("eu", "us", "apac")
STAGES = ("prod", "staging")
APPS = ("gateway", "orders", "quotes", "ledger", "reports", "mailer")
"""One settings file for each of them, region and stage."""


@dataclass(frozen=True)
class Demo:
    """What was built. `planted` maps names to the values that were planted; it is in memory only."""

    repository: Path
    config: Path
    commit: str
    planted: dict[str, bytes] = field(repr=False)


def build_demo_repository(
    directory: Path,
    *,
    seed: int = 7,
    full: bool = False,
    private_bytes: int | None = None,
    template: Path = TEMPLATE,
) -> Demo:
    """Write `directory`/repository, demo.yaml (a copy of `template`), codenames.txt and letters.jsonl.

    Args:
        directory: made where it is missing. An earlier demo in it is replaced; nothing else ever is.
        seed: of the planted values and of where they are.
        full: the larger repository, and the config with the values that its comments give for it.
        private_bytes: most own code to take, in bytes; by default that of the size.

    Raises:
        InputError: this Python keeps no source of its standard library, the template is missing, there is no
            git, or `directory`/repository is something else than a demo.
    """
    if not template.is_file():
        raise InputError(str(template), "is missing", "install hush again")
    directory = directory.resolve()  # git is run in it
    repository = directory / "repository"
    if repository.exists() and not (repository / ".git" / MARKER).is_file():
        raise InputError(str(repository), "exists and is no demo of ours", "name another directory")
    most, public_bytes = FULL_BYTES if full else BYTES
    own, public = _standard_library(most if private_bytes is None else private_bytes, public_bytes)
    credentials, codenames = make_credentials(seed), make_codenames(seed)
    commits = _commits(own, public, credentials, codenames, random.Random(f"hush demo {seed} places"))

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".building-") as building:
        fresh = Path(building) / "repository"
        commit = write_repository(fresh, commits)
        (fresh / ".git" / MARKER).write_text(f"seed {seed}\n")
        if repository.exists():
            shutil.rmtree(repository)
        fresh.rename(repository)
    config = directory / "demo.yaml"
    text = template.read_bytes()
    config.write_bytes(IN_FULL.sub(rb"\1\2", text) if full else text)
    write_letters(directory / "letters.jsonl", seed)
    (directory / "codenames.txt").write_text("".join(f"{name}\n" for name in codenames))
    planted = {c.name: c.value for c in credentials}
    planted |= {f"{c.name}-id": c.companion[1].encode() for c in credentials if c.companion}
    planted |= {f"codename-{n}": name.encode() for n, name in enumerate(codenames, start=1)}
    return Demo(repository, config, commit, planted)


Files = dict[str, bytes]


def _standard_library(private_bytes: int, public_bytes: int) -> tuple[dict[str, Files], Files]:
    """(own code by group: alpha, risk, pricing, services; public code), each path → content."""
    root = Path(sysconfig.get_path("stdlib"))
    sources = {
        path.relative_to(root): path.read_bytes()
        for path in sorted(root.rglob("*.py"))
        if NOT_TAKEN.isdisjoint(path.relative_to(root).parts) and not path.name.startswith("_sysconfigdata")
    }
    own: dict[str, Files] = {}
    total = 0
    groups = {"alpha": ALPHA, "risk": RISK, "pricing": PRICING, "services": SERVICES}
    for group, layout in groups.items():
        folders = {module: folder for folder, modules in layout.items() for module in modules}
        own[group] = {}
        for path in sorted((p for p in sources if p.parts[0] in folders), key=lambda p: len(sources[p])):
            if total + len(sources[path]) <= private_bytes:
                content = sources.pop(path)
                total += len(content)
                own[group][f"{folders[path.parts[0]]}/{path.as_posix()}"] = content
    public, total = {}, 0
    for path, content in sources.items():
        if total + len(content) <= public_bytes:
            total += len(content)
            public[f"third_party/stdlib/{path.as_posix()}"] = content
    if not own["services"] or not public:
        hint = "use a Python with its library's source"
        raise InputError(str(root), "holds too little source of the standard library", hint)
    return own, public


def _commits(
    own: dict[str, Files],
    public: Files,
    credentials: list[Credential],
    codenames: list[str],
    chance: random.Random,
) -> list[Commit]:
    """The history, oldest first; the sensitive lines arrive late, in files that exist already."""
    code = {path: content for group in own.values() for path, content in group.items()}
    settings = _settings()
    planted = _plant(code, settings, credentials, codenames, chance)
    changed = {path: text for path, text in planted.items() if path in code}
    alpha = {path: changed.pop(path) for path in own["alpha"] if path in changed}
    other = {path: text for path, text in planted.items() if path not in code}
    sched = "trading/alpha/sched.py"
    last = {p: t for p, t in alpha.items() if p == sched} or {sched: code[sched]}
    notes, first = "trading/alpha/NOTES.md", "trading/alpha/__init__.py"
    owners = {"CODEOWNERS": CODEOWNERS.encode()}
    scheduling = f"Alpha: order scheduling\n\nCo-authored-by: {TOMAS.name} <{TOMAS.email}>"
    read_first = {first: b'"""The alpha strategy; read NOTES.md first."""\n'}
    return [
        Commit(ADA, "Vendor the standard library", public),
        Commit(LIN, "Services, trading engine and platform", own["services"] | owners),
        Commit(NOOR, "Pricing calendar and units", own["pricing"]),
        Commit(EVE, "Risk measures", own["risk"]),
        Commit(ADA, "Settings of all regions", settings),
        Commit(ADA, "Alpha strategy, first cut", own["alpha"], branch="alpha"),
        Commit(LIN, scheduling, alpha | last | {notes: other.pop(notes)}, branch="alpha"),
        Commit(LIN, "Tokens in place until the vault is back", changed | other),
        Commit(ADA, "Merge branch 'alpha'", read_first, merges="alpha"),
    ]


def _settings() -> Files:
    """One .env file an app, region and stage: what a deployment reads."""
    files = {}
    for number, (region, stage, app) in enumerate((r, s, a) for r in REGIONS for s in STAGES for a in APPS):
        lines = [
            f"# {app} in {region}, {stage}",
            f"APP_NAME={app}",
            f"APP_PORT={8000 + number}",
            f"LOG_LEVEL={'INFO' if stage == 'prod' else 'DEBUG'}",
            f"DATABASE_HOST=db.{region}.{stage}.acme.example.com",
        ]
        files[f"deploy/{region}/{stage}/{app}.env"] = "\n".join([*lines, ""]).encode()
    return files


def _plant(
    code: Files,
    settings: Files,
    credentials: list[Credential],
    codenames: list[str],
    chance: random.Random,
) -> Files:
    planted: Files = {}
    modules = [path for path, content in sorted(code.items()) if path.endswith(".py") and _places(content)]
    for credential in credentials:
        in_settings = chance.sample(sorted(settings), k=min(credential.copies // 2, len(settings)))
        in_modules = chance.sample(modules, k=credential.copies - len(in_settings))
        for path in in_settings:
            before = planted.get(path, settings[path])
            planted[path] = (
                before + "".join(f"{line}\n" for line in _lines(credential, "=", "", '"')).encode()
            )
        for path in in_modules:
            planted[path] = _insert(
                planted.get(path, code[path]), _lines(credential, " = ", '"', '"""'), chance
            )
    for codename, copies in zip(codenames, (14, 10, 8), strict=True):
        for path in chance.sample(modules, k=copies):
            line = f"# Project {codename}: do not mention outside the desk."
            planted[path] = _insert(planted.get(path, code[path]), [line], chance)
    return planted | dict(_documents(credentials, codenames))


def _documents(credentials: list[Credential], codenames: list[str]) -> Iterator[tuple[str, bytes]]:
    """Copies that no rule for the clear value finds: base64, hex, JSON; and the codenames in prose."""
    copies = {credential: encoded_copies(credential) for credential in credentials}
    secret = ["apiVersion: v1", "kind: Secret", "metadata:", "  name: shared", "data:"]
    secret += [f"  {c.name}: {copies[c]['base64']}" for c in credentials[:4]]
    yield "deploy/k8s/secret.yaml", "\n".join([*secret, ""]).encode()
    fixture = [f'REPLAY_{n} = bytes.fromhex("{copies[c]["hex"]}")' for n, c in enumerate(credentials[:3])]
    yield "qa/fixtures/replay.py", "\n".join(['"""Recorded requests."""', "", *fixture, ""]).encode()
    inside = [c for c in credentials if b"\n" in c.value or b"/" in c.value]
    fields = ",\n".join(f'  "{c.variable.lower()}": "{copies[c]["json"]}"' for c in inside)
    yield "deploy/service_account.json", f"{{\n{fields}\n}}\n".encode()
    alpha, *others = codenames
    yield (
        "trading/alpha/NOTES.md",
        f"# {alpha}\n\n{alpha} trades the open and the close only; ask risk first.\n".encode(),
    )
    road = "".join(f"- {name}: launch is not announced; the client signs first.\n" for name in others)
    yield "docs/roadmap.md", f"# Roadmap\n\n{road}".encode()


def _lines(credential: Credential, equals: str, around: str, around_lines: str) -> list[str]:
    """`NAME{equals}value` as a settings file or a module has it, quoted as one line or several are."""
    text, companion = credential.value.decode(), credential.companion
    quote = around_lines if "\n" in text else around
    mark = '"' if equals == " = " else ""
    lines = [f"{companion[0]}{equals}{mark}{companion[1]}{mark}"] if companion else []
    return [*lines, f"{credential.variable}{equals}{quote}{text}{quote}"]


def _places(content: bytes) -> list[int]:
    """Line numbers (from 0) before which a statement may be put: functions and classes at the top level."""
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [min([n.lineno, *(d.lineno for d in n.decorator_list)]) - 1 for n in body if isinstance(n, kinds)]


def _insert(content: bytes, lines: list[str], chance: random.Random) -> bytes:
    """`content` with the lines before one of its functions or classes; it stays valid Python."""
    place = chance.choice(_places(content))
    before = content.splitlines(keepends=True)
    return b"".join([*before[:place], *(f"{line}\n".encode() for line in lines), b"\n\n", *before[place:]])
