"""A HUSH_HOME of their own for all tests, in place before anything imports prefect or torch."""

import gc
import os
import shlex
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import worker
from frames import frame_of
from sizes import some
from template import SHARED, copy_tracker, share

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell begins what runs in its background so
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SHARED = share()
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # one a test process: more fight for the cores, many times slower
if os.environ.pop(worker.FORKED, None) is None:
    _FOLDER = tempfile.TemporaryDirectory(prefix="hush-tests-")
    os.environ["HUSH_HOME"] = _FOLDER.name
    for _name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
        os.environ.pop(_name, None)

from tasks.runtime.environment import prepare_environment  # noqa: E402

prepare_environment()


DURATIONS = Path(__file__).parent / "durations.tsv"
"""Seconds and number of tests by file, the longest first; `HUSH_DURATIONS=1 make test` writes it again."""


def scope_of(file: str) -> str:
    """What one worker runs whole: a file; all of tests/servers, as they share their servers."""
    return "tests/servers" if file.startswith("tests/servers/") else file


def _spread(items):
    """Of a test marked `few(n)`, n rows evenly spread over its table; `make test-all` runs all of them."""
    rows = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("few"):
            rows[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    kept = {item for (_, count), group in rows.items() for item in some(group, count)}
    return [item for item in items if not item.get_closest_marker("few") or item in kept]


def pytest_collection_modifyitems(items):
    """A few rows of long tables, and the longest files first: a file of minutes that came last would leave the
    other workers idle."""
    items[:] = _spread(items)
    seconds = Counter()
    for row in DURATIONS.read_text().splitlines()[1:]:
        took, _, file = row.split("\t")
        seconds[scope_of(file)] += float(took)
    files = [item.nodeid.partition("::")[0] for item in items]
    order = sorted(range(len(items)), key=lambda i: (-seconds[scope_of(files[i])], files[i], i))
    items[:] = [items[i] for i in order]


class Backwards(pytest.Dir):
    """A folder whose last file is imported first, so that two workers share the rewriting of new test files."""

    def collect(self):
        return [*super().collect()][::-1]


def pytest_collect_directory(path, parent):
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2:
        return Backwards.from_parent(parent, path=path)
    return None


def pytest_collection_finish():
    """Two million objects of libraries and tests live to the end: no collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    if "HUSH_DURATIONS" not in os.environ:
        return
    seconds, tests = Counter(), Counter()
    for report in (
        r for reports in terminalreporter.stats.values() for r in reports if hasattr(r, "duration")
    ):
        file = report.nodeid.partition("::")[0]
        seconds[file] += report.duration
        tests[file] += report.when == "call"
    rows = [f"{took:.1f}\t{tests[file]}\t{file}" for file, took in seconds.most_common()]
    DURATIONS.write_text("\n".join(["seconds\ttests\tfile", *rows, ""]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    for spec in specs:
        spec.python = shlex.join([sys.executable, worker.__file__])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return scope_of(super()._split_scope(nodeid))

    return ByFile(config, log)


@pytest.fixture(autouse=True)
def _same_tracker_after_each_test():
    """What a test tells MLflow of this process, the next test does not find. `get_tracking_uri` cannot serve for
    that: where only the environment named a tracker, it would be set for good."""
    service = "mlflow.tracking._tracking_service.utils"
    uri = getattr(sys.modules.get(service), "_tracking_uri", None)
    environment = os.environ.get("MLFLOW_TRACKING_URI")
    yield
    if service in sys.modules and sys.modules[service]._tracking_uri != uri:
        sys.modules[service].set_tracking_uri(uri)
        if environment is not None:
            os.environ["MLFLOW_TRACKING_URI"] = environment


@pytest.fixture(scope="session")
def prefect_harness(tmp_path_factory):
    """A Prefect server, its tables copied, for all tests that call tasks or flows in this process."""
    from jobs import prefect_server
    from prefect.context import _temporary_global_settings_context, get_settings_context
    from prefect.flow_engine import BaseFlowRunEngine
    from prefect.settings import PREFECT_API_URL, temporary_settings

    BaseFlowRunEngine.heartbeat_seconds = None  # its thread looks once a second whether the flow has ended
    with (
        prefect_server(tmp_path_factory.mktemp("harness") / "home") as url,
        temporary_settings({PREFECT_API_URL: url}),
        _temporary_global_settings_context(get_settings_context()),
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def _rules_compiled_once():
    """Tests that keep no rules take those that the first of a test run compiled: eight seconds each time."""
    if (scanner := sys.modules.get("hush_core.secrets.detectors.credential_scanner")) is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        compiled, shared = scanner._compiled, Path(os.environ[SHARED])
        patch.setattr(scanner, "_compiled", lambda cache: compiled(cache or shared))
        yield


@pytest.fixture(scope="session")
def second_route_once():
    from second_route import remembered

    with remembered():
        yield


@pytest.fixture(scope="session")
def certified(tmp_path_factory, second_route_once):
    """(model folder, certificate folder): a tiny untrained GPT and a certificate that really verifies."""
    from certifying import certify

    from hush_core.config import ByteGptModel
    from hush_core.training import byte_gpt, save_model

    root = tmp_path_factory.mktemp("certified")
    save_model(byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 65), root / "model")
    edges = frame_of(example_id=[0, 1, 2], secret_id=[0, 0, 1], reason=["x"] * 3)
    promised = {"prior": 1e-6, "posterior": 1e-3, "bits": 20.0, "provenance": "declared"}
    secrets = frame_of(secret_id=[0, 1], kind="path", name=["first", "se|cond`"], **promised)
    shape = {"examples": 40, "batch": 4, "rounds": 3}
    certify(root / "certificate", root / "model", edges, secrets, **shape, name="tiny", run="0" * 64)
    return root / "model", root / "certificate"


@pytest.fixture(scope="session")
def register(certified, tmp_path_factory):
    """Register the certified pair under a name; more arguments replace what `record_run` is given."""
    from tasks.runtime.environment import home
    from tasks.runtime.registry import record_run

    copy_tracker(home().mlflow_database)
    table = tmp_path_factory.mktemp("register") / "0123abcd.parquet"
    table.write_bytes(b"table")

    def run(name, **changes):
        given = {
            "experiment": "tests", "model_name": name, "params": {"rounds": 3}, "metrics": {"secrets": 2.0},
            "folders": {"tables": {"bounds": table}}, "model_dir": certified[0],
            "certificate_dir": certified[1], "tags": {"method": "best"},
            "description": f"check models:/{name}/VERSION",
        }  # fmt: skip
        return record_run(**{**given, **changes})

    return run
