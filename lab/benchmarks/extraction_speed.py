"""How fast extraction reads, and what memory it takes, beside git and grep on the same repository and machine.

1. The tree of about 5,000 files with the authorship of all commits, to tables: path, codeowners, contributors,
   credentials and literals; once without and once with the default spreading (imports 1, copies). Target: 10 s.
2. Every blob of the history with all rules, against `git cat-file --batch-all-objects --unordered --buffer` of the
   same pack to /dev/null. Target: twice its time until all is found (reading and detecting); to tables is printed
   beside it. Then again with a cache: all but the last 200 commits, and these.
3. 100,000 literals sought in 200 MB of that history, beside `grep -F`. Target: 40 MB/s.
4. With --peer BINARY of betterleaks (`bin/betterleaks` of the wheel in `outside_peers`): the credentials of whole
   histories to tables, with rules kept compiled, beside `betterleaks git`, in turn, on one processor each. A row a
   --repo: processor seconds of whole processes, starts included, and peak memory. Target: three times its
   processor seconds and 300 MB, at most 10 s between two reports of progress. And once more with nothing new.
5. Memory at 1/8, 1/4, 1/2 and all of the history: the peaks of RssAnon (our own) and RssFile (pages of files that
   the kernel may drop), sampled from /proc. Target: flat.

Builds its repository by default: the standard library's text, edited line by line by 500 people, with branches,
merges and planted tokens, packed by `git repack -ad`; --scale shrinks it, --keep spares the next run the minutes.
With --repo PATH a bare clone of the one branch of a real repository takes its place, so that git's time is that of
the same objects. Every extraction is a process of its own. JSON with --out, a picture of 5 with --picture.
"""

import argparse
import compileall
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import string
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

PATHS, COMMITS, AUTHORS, EDITS = 5_000, 50_000, 500, 7.2
LARGEST_LINES = 450
FRACTIONS = (1 / 8, 1 / 4, 1 / 2, 1)
NEW_COMMITS = 200
LITERALS, LITERAL_BYTES = 100_000, 200_000_000
TREE_SECONDS, HISTORY_RATIO, LITERAL_SPEED = 10, 2, 40
SAMPLE_SECONDS = 0.05
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "LC_ALL": "C"}
KEY = b"benchmark" * 4


# the repository


class Work:
    """Text under many hands: lines by path, and edits that come from real lines. Seeded."""

    def __init__(self, paths: int) -> None:
        self.random = random.Random(5)
        sources = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
        texts = []
        for file in sources:
            if "site-packages" not in file.parts and file.stat().st_size < 1 << 18:
                lines = file.read_bytes().splitlines(keepends=True)
                texts += [lines[i : i + LARGEST_LINES] for i in range(0, len(lines), LARGEST_LINES)]
        texts = [t for t in texts if len(t) > 20]
        self.random.shuffle(texts)
        self.pool = [line for text in texts[:400] for line in text]
        self.lines = {self._path(i): list(texts[i % len(texts)]) for i in range(paths)}
        self.names = list(self.lines)
        self.lines[self.names[0]].append(self.token())  # however small the scale, there is one

    @staticmethod
    def _path(i: int) -> str:
        part, module = divmod(i, 40)
        return f"src/area{part // 12:02d}/part{part:03d}/module{module:02d}.py"

    def text(self, path: str) -> bytes:
        return b"".join(self.lines[path])

    def some(self, taken: set[str]) -> list[str]:
        """The files of one commit, most of them neighbours; some files are changed far more often than others."""
        count = min(60, 1 + int(self.random.expovariate(1 / (EDITS - 1))))
        near = int(len(self.names) * self.random.random() ** 2)
        spread = [near + int(self.random.gauss(0, 20)) for _ in range(count)]
        return sorted({self.names[n % len(self.names)] for n in spread} - taken)

    def edit(self, path: str) -> None:
        lines, draw = self.lines[path], self.random
        at = draw.randrange(len(lines))
        take = draw.randrange(3) if len(lines) > 30 else 0
        new = draw.choices(self.pool, k=draw.randint(1, 3) if len(lines) < 2 * LARGEST_LINES else 0)
        if draw.random() < 0.0005:
            new.append(self.token())
        lines[at : at + take] = new

    def token(self) -> bytes:
        token = "".join(self.random.choices(string.ascii_letters + string.digits, k=36))
        return f'token = "ghp_{token}"\n'.encode()


def stream(scale: float) -> Iterator[bytes]:
    """The repository for `git fast-import`."""
    work = Work(max(100, int(PATHS * scale)))
    tip: dict[str, int] = {}
    mark, clock, commits = 0, 1_600_000_000, max(100, int(COMMITS * scale))

    def commit(branch: str, files: list[str], begin: str = "", merge: str = "") -> Iterator[bytes]:
        nonlocal mark, clock
        mark, clock = mark + 1, clock + 60
        who = int(AUTHORS * work.random.random() ** 2)
        tip[branch] = mark
        person = f"Dev {who} <dev{who}@team{who % 12}.example.org> {clock} +0000"
        yield f"commit refs/heads/{branch}\nmark :{mark}\nauthor {person}\ncommitter {person}\n".encode()
        yield f"data 6\nchange\n{begin}{merge}".encode()
        for path in files:
            text = work.text(path)
            yield f"M 100644 inline {path}\ndata {len(text)}\n".encode()
            yield text + b"\n"
        yield b"\n"

    owners = [f"/src/area{a:02d}/ @acme/team{a % 4}\n".encode() for a in range(len(work.names) // 480 + 1)]
    work.lines["CODEOWNERS"] = owners
    yield from commit("main", [*work.names, "CODEOWNERS"])

    def edited(branch: str, taken: set[str], begin: str = "") -> Iterator[bytes]:
        files = work.some(taken)
        for path in files:
            work.edit(path)
        touched.update(files)
        yield from commit(branch, files, begin)

    while mark < commits:
        touched: set[str] = set()
        if work.random.random() < 0.9:
            yield from edited("main", set())
            continue
        yield from edited("side", set(), f"from :{tip['main']}\n")
        for _ in range(work.random.randrange(3)):
            yield from edited("side", set())
        side, touched = touched, set()
        for _ in range(work.random.randrange(1, 3)):
            yield from edited("main", side)
        evil = work.some(side)[:1] if work.random.random() < 0.05 else []  # stands in the merge only
        for path in evil:
            work.edit(path)
        yield from commit("main", sorted(side) + evil, merge=f"merge :{tip['side']}\n")


def build(folder: Path, scale: float) -> Path:
    repo = folder / "built.git"
    if (repo / "done").exists():
        return repo
    shutil.rmtree(repo, ignore_errors=True)
    git(None, "init", "-q", "--bare", "-b", "main", str(repo))
    with subprocess.Popen(
        ["git", f"--git-dir={repo}", "fast-import", "--quiet"], stdin=subprocess.PIPE, env=GIT
    ) as load:
        for piece in stream(scale):
            load.stdin.write(piece)
        load.stdin.close()
    if load.returncode:
        raise SystemExit("git fast-import failed")
    git(repo, "update-ref", "-d", "refs/heads/side")
    git(repo, "repack", "-adq")
    (repo / "done").touch()
    return repo


def cloned(folder: Path, source: Path) -> Path:
    """The one branch of a real repository, as git packs it for a clone."""
    repo = folder / f"{hashlib.sha256(bytes(source.resolve())).hexdigest()[:8]}.git"
    if not repo.exists():
        git(
            None,
            "clone",
            "-q",
            "--bare",
            "--single-branch",
            "--no-tags",
            f"file://{source.resolve()}",
            str(repo),
        )
    return repo


def git(repo: Path | None, *arguments: str) -> str:
    where = [f"--git-dir={repo}"] if repo else []
    done = subprocess.run(["git", *where, *arguments], env=GIT, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode("utf-8", "replace").strip()


# what is measured, each in a process of its own


def job(repo: Path, folder: Path, task: dict):
    """The configuration of one extraction."""
    from hush_core.config import parse_config

    words = folder / "codenames.txt"
    words.write_text("".join(f"project-{a}{b}{c}\n" for a in "abcd" for b in "efgh" for c in "ijklmnop"))
    names = git(repo, "ls-tree", "-r", "--name-only", task["rev"]).splitlines()
    folders = sorted({name.rsplit("/", 1)[0] for name in names if name.endswith(".py") and "/" in name}) or [
        ""
    ]
    people = git(repo, "log", "-200", "--format=%ae", task["rev"]).split()
    owners = git(repo, "ls-tree", "-r", "--name-only", task["rev"], "--", "CODEOWNERS", ".github/CODEOWNERS")
    spread = {} if task.get("spread") else {"spread": {"imports": 0, "copies": False}}
    secrets = {
        "path": {"globs": [f"{folders[len(folders) // 2]}/**"], **spread},
        "codeowners": {"teams": ["@acme/team1"], **spread},
        "contributors": {"emails": [people[0]], "attribute": "file", **spread},
        "credentials": {"weak": "drop"},
        "literals": {"file": str(words), "bits": 20},
    }
    if not owners:
        del secrets["codeowners"]
    chosen = [{"id": k, "kind": k, "level": 1e-3, **secrets[k]} for k in task["kinds"] if k in secrets]
    repository = {"path": str(repo), "rev": task["rev"], "mode": task["mode"]}
    data = {"version": 1, "repos": [repository], "secrets": chosen, "train": {"rounds": 1, "batch": 1}}
    return parse_config(data, where="benchmark", folder=folder)


def processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def extraction(repo: Path, folder: Path, task: dict) -> dict:
    """One extraction: seconds and processor seconds by stage, what came out, what was scanned."""
    from hush_core.secrets import extract

    config = job(repo, folder, task)
    marks = [("start", time.perf_counter(), processor())]
    last, silence = [marks[0][1:]], 0.0

    def progress(stage: str, _done: int, _total: int) -> None:
        nonlocal silence
        silence = max(silence, time.perf_counter() - last[0][0])
        if stage != marks[-1][0]:
            marks.append((stage, time.perf_counter(), processor()))
        last[0] = time.perf_counter(), processor()

    cache = Path(task["cache"]) if task.get("cache") else None
    found = extract(config, KEY, progress, cache=cache, work=folder)
    marks += [("tables", *last[0]), ("end", time.perf_counter(), processor())]
    stages: dict[str, list[float]] = {}
    for (stage, began, used), (_, ended, used_then) in pairwise(marks[1:]):
        row = stages.setdefault(stage, [0.0, 0.0])
        row[0] += ended - began
        row[1] += used_then - used
    coverage = found.coverage
    facts = next(iter(coverage["repositories"].values()))
    return {
        "stages": stages,
        "seconds": marks[-1][1] - marks[0][1],
        "silence": silence,
        "processor": marks[-1][2] - marks[0][2],
        "scanned": coverage["blobs_scanned"],
        "reused": coverage["blobs_reused"],
        "commits": facts.get("history_commits", 0),
        "blobs": facts.get("blobs_reachable", facts["files"]),
        "examples": len(found.examples),
        "edges": len(found.edges),
        "secrets": len(found.secrets),
    }


def literals(repo: Path, folder: Path, task: dict) -> dict:
    """The search of `literals`, in all encodings, in the first 200 MB of the pack; the same text for grep."""
    from hush_core.corpus import BlobStore, CleanView
    from hush_core.corpus.git.blobs import reachable_blobs, sizes_in_pack_order, store_blobs
    from hush_core.secrets.detectors.scans import looked_at
    from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch

    draw = random.Random(7)
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(4, 9))) for _ in range(20_000)]
    values: set[str] = set()
    while len(values) < task["count"]:
        values.add("-".join(draw.choices(words, k=2)))
    with CleanView(repo, task["rev"]) as view, BlobStore(folder) as contents:
        total, chosen = 0, {}
        for blob, size in sizes_in_pack_order(view, reachable_blobs(view)).items():
            if size < 1 << 20 and total < task["bytes"]:
                chosen[blob], total = size, total + size
        store_blobs(view, chosen, contents)
        size = int(contents.sizes.sum())
        began = time.perf_counter()
        look = ValueSearch([SearchTerm(v.encode(), any_case=True, reason="literals") for v in sorted(values)])
        row = {"literals": len(values), "patterns": look.patterns, "bytes": size}
        row["compile"] = time.perf_counter() - began
        times, used = [], []
        for _ in range(task["rounds"]):
            began, before = time.perf_counter(), processor()
            row["hits"] = sum(len(hits) for _, hits in looked_at(contents, range(len(contents)), look))
            times.append(time.perf_counter() - began)
            used.append(processor() - before)
        row |= {"seconds": statistics.median(times), "processor": statistics.median(used)}
        text, names = folder / "text", folder / "literals.txt"
        with text.open("wb") as out:
            for number in range(len(contents)):
                out.write(contents[number])
        names.write_text("\n".join(sorted(values)) + "\n")
        began = time.perf_counter()
        subprocess.run(["grep", "-aciFf", str(names), str(text)], env=GIT, stdout=subprocess.DEVNULL)
        row["grep"] = time.perf_counter() - began
        text.unlink()
    return row


def child(what: str, repo: Path, folder: Path, **task) -> dict:
    """Run `extraction` or `literals` in a new process; its peaks of memory are added, in MB."""
    command = [sys.executable, __file__, "--child", what, str(repo), str(folder), json.dumps(task)]
    peaks = {"RssAnon": 0, "RssFile": 0, "VmRSS": 0}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            for line in status.read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in peaks:
                    peaks[name] = max(peaks[name], int(rest.split()[0]))
            time.sleep(SAMPLE_SECONDS)
        output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"the child for {what} failed")
    return json.loads(output) | {name: peak / 1e3 for name, peak in peaks.items()}


def floor(repo: Path) -> dict:
    """git alone, of the whole pack, to /dev/null."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [
        "git",
        f"--git-dir={repo}",
        "cat-file",
        "--batch-all-objects",
        "--unordered",
        "--buffer",
        "--batch",
    ]
    subprocess.run(command, env=GIT, check=True, stdout=subprocess.DEVNULL)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": ended - began, "processor": used}


def _name(repo: Path) -> str:
    """Of its folder, or of the one that holds it where that is only `repo` or `.git`."""
    return next(part for part in reversed(repo.resolve().parts) if part not in (".git", "repo"))


def median_of(rows: list[dict]) -> dict:
    """The row whose seconds are the median."""
    return sorted(rows, key=lambda row: row["seconds"])[len(rows) // 2]


def show(title: str, row: dict) -> None:
    stages = ", ".join(f"{stage} {s[0]:.1f}/{s[1]:.1f}" for stage, s in row["stages"].items())
    print(
        f"{title:34} {row['seconds']:7.1f} s {row['processor']:7.1f} cpu   {stages}\n{'':34} "
        f"{row['blobs']:,d} contents, {row['commits']:,d} commits -> {row['examples']:,d} examples, "
        f"{row['secrets']:,d} secrets, {row['edges']:,d} edges; scanned {row['scanned']:,d}, reused "
        f"{row['reused']:,d}; peak {row['RssAnon']:,.0f} MB own, {row['RssFile']:,.0f} MB of files",
        flush=True,
    )


# the run


def trees(repo: Path, folder: Path, rounds: int) -> dict:
    kinds = ["path", "codeowners", "contributors", "credentials", "literals"]
    found = {}
    for name, spread in (("tree", False), ("tree, default spreading", True)):
        task = {"mode": "tree", "rev": "HEAD", "kinds": kinds, "spread": spread}
        found[name] = median_of([child("extraction", repo, folder, **task) for _ in range(rounds)])
        show(f"{name} (target {TREE_SECONDS} s)", found[name])
    return found


def histories(repo: Path, folder: Path, rounds: int) -> dict:
    line = git(repo, "rev-list", "--first-parent", "--reverse", "HEAD").splitlines()
    alone = median_of([floor(repo) for _ in range(rounds)])
    print(
        f"{'git cat-file, all objects':34} {alone['seconds']:7.1f} s {alone['processor']:7.1f} cpu",
        flush=True,
    )
    rows = []
    for share in FRACTIONS:
        task = {"mode": "history", "rev": line[int(len(line) * share) - 1], "kinds": ["credentials"]}
        rows.append({"share": share} | child("extraction", repo, folder, **task))
        show(f"history, {share:g} of it", rows[-1])
    whole = rows[-1]
    search = [sum(whole["stages"][stage][i] for stage in ("read", "detect")) for i in (0, 1)]
    ratios = {
        "found": [search[0] / alone["seconds"], search[1] / alone["processor"]],
        "tables": [whole["seconds"] / alone["seconds"], whole["processor"] / alone["processor"]],
    }
    print(
        f"against git alone (target {HISTORY_RATIO}): until all is found {ratios['found'][0]:.2f} wall, "
        f"{ratios['found'][1]:.2f} cpu; to tables {ratios['tables'][0]:.2f} wall, {ratios['tables'][1]:.2f} cpu"
    )
    first, last = rows[0], rows[-1]
    print(
        f"memory of our own from {first['share']:g} to all of the history: "
        f"{first['RssAnon']:,.0f} to {last['RssAnon']:,.0f} MB"
    )
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    earlier = git(repo, "rev-list", "-1", f"--skip={NEW_COMMITS}", "--topo-order", "HEAD")
    again = {}
    for name, rev in (("before", earlier), ("after", "HEAD")):
        task = {"mode": "history", "rev": rev, "kinds": ["credentials"], "cache": str(cache)}
        again[name] = child("extraction", repo, folder, **task)
        show(f"history, cached, {name} {NEW_COMMITS} commits", again[name])
    return {"git": alone, "by_length": rows, "ratios": ratios, "cached": again}


HEADINGS = (
    "repository",
    "commits",
    "hush, CPU-s",
    "peer",
    "ratio",
    "nothing new",
    "hush, MB",
    "of its own",
    "peer, MB",
)
HEADINGS += ("longest silence, s",)


def beside(repo: Path, name: str, folder: Path, binary: Path, rounds: int) -> None:
    """Whole processes, in turn: betterleaks, and an extraction whose rules are kept; then one with nothing new."""
    cache = folder / "peer"
    task = {"mode": "history", "rev": "HEAD", "kinds": ["credentials"], "cache": str(cache)}
    command = [sys.executable, __file__, "--child", "extraction", str(repo), str(folder), json.dumps(task)]
    peer = [str(binary), "git", str(repo), "-j", "1", "--no-banner", "-s", "-o", str(folder / "peer.json")]
    rows: dict[str, list[dict]] = {"peer": [], "hush": [], "again": []}
    whole_process(command)  # compiles the rules
    for _ in range(rounds):
        rows["peer"].append(whole_process(peer, status=1))
        for part in cache.iterdir():
            if part.name != "rules":
                shutil.rmtree(part)
        rows["hush"].append(whole_process(command))
        rows["again"].append(whole_process(command))
    theirs, ours, again = (
        sorted(row, key=lambda one: one["processor"])[len(row) // 2] for row in rows.values()
    )
    ratio = ours["processor"] / theirs["processor"]
    cells = f"{ours['commits']:,d}", f"{ours['processor']:.1f}", f"{theirs['processor']:.1f}", f"{ratio:.2f}"
    cells += f"{again['processor']:.1f}", f"{ours['peak']:.0f}", f"{ours['own']:.0f}", f"{theirs['peak']:.0f}"
    print(f"| {' | '.join((name, *cells, format(ours['silence'], '.1f')))} |", flush=True)


def whole_process(command: list[str], status: int = 0) -> dict:
    """A process on one processor: seconds of it and all that it starts, peaks of memory in MB, what it printed."""
    one = f"{max(os.sched_getaffinity(0))}"
    own = 0
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(["taskset", "-c", one, *command], stdout=out, stderr=subprocess.DEVNULL)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    own = max(own, int(line.split()[1]))
            time.sleep(SAMPLE_SECONDS)
        _, ended, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
        if process.returncode not in (0, status):
            raise SystemExit(f"{command[0]} failed")
        out.seek(0)
        said = json.loads(out.read() or b"{}") if "--child" in command else {}
    said |= {"processor": used.ru_utime + used.ru_stime}  # with what comes before and after the extraction
    return said | {"peak": used.ru_maxrss / 1e3, "own": own / 1e3}


def draw(rows: list[dict], path: Path) -> None:
    """Memory against the length of the history."""
    from hush_core.figures.canvas import BLUE, GREY, drawing

    with drawing(path, height=4.0) as (axes,):
        across = [row["blobs"] / 1e3 for row in rows]
        for name, label, style in (
            ("RssAnon", "of our own (RssAnon)", {"color": BLUE, "marker": "o"}),
            (
                "RssFile",
                "pages of files, which the kernel may drop (RssFile)",
                {"color": GREY, "marker": "s"},
            ),
        ):
            axes.plot(across, [row[name] for row in rows], label=label, linewidth=2, **style)
        axes.set(title="Peak memory of an extraction of the whole history", xlabel="contents (thousands)")
        axes.set(ylabel="MB", ylim=(0, None), xlim=(0, None))
        axes.grid(axis="y")
        axes.figure.legend(loc="outside lower center", ncols=2, fontsize=9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repo", type=Path, action="append", help="a real repository instead of the built one"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the built one: 1 is 50,000 commits")
    parser.add_argument("--rounds", type=int, default=3, help="of what is short; medians are shown")
    parser.add_argument("--keep", type=Path, help="where the repository is built or cloned, and left")
    parser.add_argument("--only", choices=("tree", "history", "literals"), action="append")
    parser.add_argument("--peer", type=Path, help="betterleaks' binary; nothing else is measured then")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    parts = arguments.only or ["tree", "history", "literals"]
    with tempfile.TemporaryDirectory(prefix="hush-benchmark-") as scratch:
        folder, keep = Path(scratch), arguments.keep or Path(scratch)
        keep.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        if arguments.peer:
            compileall.compile_dir(
                Path(__file__).parents[2] / "hush_core", quiet=2
            )  # as an installation does
            print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
            for source in arguments.repo or [build(keep, arguments.scale)]:
                beside(cloned(keep, source), _name(source), folder, arguments.peer, arguments.rounds)
            return
        repo = cloned(keep, arguments.repo[0]) if arguments.repo else build(keep, arguments.scale)
        packed = dict(line.split(": ") for line in git(repo, "count-objects", "-v").splitlines())
        peers = ", ".join(f"{p} {version(p)}" for p in ("kingfisher-secret-scanner", "hyperscan", "polars"))
        grep = subprocess.run(["grep", "--version"], capture_output=True, text=True, check=True).stdout
        print(f"{git(None, '--version')}; {grep.splitlines()[0]}; Python {sys.version.split()[0]}; {peers}")
        print(
            f"{repo}: {int(packed['in-pack']):,d} objects, {int(packed['size-pack']) / 1024:,.0f} MiB packed "
            f"(ready in {time.perf_counter() - began:.0f} s); {len(os.sched_getaffinity(0))} processors\n"
            "stages as wall/processor seconds, git's included"
        )
        found: dict = {"objects": int(packed["in-pack"]), "peers": peers}
        if "tree" in parts:
            found |= trees(repo, folder, arguments.rounds)
        if "history" in parts:
            found["history"] = histories(repo, folder, arguments.rounds)
        if "literals" in parts:
            task = {"rev": "HEAD", "rounds": arguments.rounds, "count": LITERALS, "bytes": LITERAL_BYTES}
            row = found["literals"] = child("literals", repo, folder, **task)
            size = row["bytes"] / 1e6
            print(
                f"{row['literals']:,d} literals ({row['patterns']:,d} forms, compiled in {row['compile']:.0f} s), "
                f"{size:.0f} MB: {size / row['seconds']:.0f} MB/s wall, {size / row['processor']:.0f} MB/s cpu "
                f"(target {LITERAL_SPEED}); grep -iF, each as it is: {size / row['grep']:.0f} MB/s"
            )
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    if arguments.picture and "history" in found:
        draw(found["history"]["by_length"], arguments.picture)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measured = {"extraction": extraction, "literals": literals}[sys.argv[2]]
        print(json.dumps(measured(Path(sys.argv[3]), Path(sys.argv[4]), json.loads(sys.argv[5]))))
    else:
        main()
