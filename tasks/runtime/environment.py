"""Where hush keeps its files, and the settings that must be set before Prefect or MLflow is imported.

>>> home = prepare_environment()        # doctest: +SKIP
>>> import prefect, mlflow              # doctest: +SKIP

Everything is in one folder, `HUSH_HOME` (default `~/.hush`), readable by its owner only: the store holds the text
of protected examples. What the user has set already (a server, a tracker) is respected.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from hush_core.errors import InputError, SetupError
from hush_core.files import beside, new_file, sync
from tasks.runtime.deadline import of_mount

KEY_BYTES = 32
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LOG_FORMAT = "HUSH_LOG_FORMAT"
"""`json`: log lines for machines (`json_logs`)."""
JSON_LOGS = {"PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS": "tasks.runtime.json_logs.JsonLines"}
RETRIES = "HUSH_TRACKER_RETRIES"
MOST_RETRIES = 50
"""Prefect's own limit for a step."""
RUNNER = "HUSH_RUNNER"
"""Where parallel tasks run: `threads`, `dask`, or the address of a Dask scheduler (docs/running.md)."""
STORE = "HUSH_STORE"
"""Where objects are kept for other machines too: s3://bucket/prefix or file:///folder (docs/running.md)."""
OWN_SERVERS = "HUSH_OWN_SERVERS"
"""Which of PREFECT_API_URL and MLFLOW_TRACKING_URI name servers that `hush serve --with-servers` began."""


@dataclass(frozen=True)
class Home:
    """The folders under HUSH_HOME; a value, so passing it around creates nothing."""

    root: Path

    @property
    def prefect(self) -> Path:
        """The embedded orchestrator's database and settings."""
        return self.root / "prefect"

    @property
    def mlflow_database(self) -> Path:
        return self.root / "mlflow.db"

    @property
    def artifacts(self) -> Path:
        """Where the embedded tracker keeps artifacts."""
        return self.root / "mlartifacts"

    @property
    def store(self) -> Path:
        """Content-addressed objects, task results and resumable work."""
        return self.root / "store"

    @property
    def results(self) -> Path:
        """Prefect's task results: references into the store, so they share its root."""
        return self.store / "results"

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    def identity_key(self) -> bytes:
        """The 32-byte HMAC key that names secrets without showing them; created once, mode 0600.

        Two processes that start together get the same key: the first complete file wins.
        """
        return _key(self.keys / "identity.key", lambda: secrets.token_bytes(KEY_BYTES), KEY_BYTES)

    def store_key(self) -> bytes:
        """The 32 bytes that encrypt what goes to HUSH_STORE; mode 0600; the same where homes share objects."""
        return _key(self.keys / "store.key", lambda: secrets.token_bytes(KEY_BYTES), KEY_BYTES)

    def login(self, name: str) -> str:
        """`user:password` of the server of hush's that is called `prefect`, `mlflow` or `metrics`; mode 0600."""
        made = _key(self.keys / f"{name}.login", lambda: b"hush:" + secrets.token_hex(16).encode(), 37)
        return made.decode()

    def password(self, name: str) -> str:
        """A password that hush makes up for something that it starts itself; kept in `keys`, mode 0600."""
        made = _key(self.keys / f"{name}.password", lambda: secrets.token_hex(16).encode(), 32)
        return made.decode()

    def fingerprint(self, text: str) -> str:
        """A keyed digest (HMAC-SHA256, hexadecimal) of a commit id or a content hash.

        Published in place of the hash itself: who could rebuild all of the text but one secret could try
        guesses at it against an unkeyed hash, without ever asking the model.
        """
        return hmac.new(self.identity_key(), b"fingerprint " + text.encode(), hashlib.sha256).hexdigest()

    def sign(self, purpose: str, text: str) -> str:
        """HMAC-SHA256, hexadecimal: only who can read the home's key can make it, for this purpose alone."""
        return hmac.new(self.identity_key(), f"{purpose}\0{text}".encode(), hashlib.sha256).hexdigest()

    def report_folder(self, kind: str, config_file: Path) -> Path:
        """Where the reports of a config lie: two configs of one name keep theirs apart."""
        return self.root / kind / f"{config_file.stem}-{self.fingerprint(str(config_file.resolve()))[:6]}"

    def create(self) -> Home:
        for folder in (self.root, self.prefect, self.artifacts, self.store, self.results, self.keys):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                what = f"cannot be created: {error.strerror}"
                hint = "set HUSH_HOME to a folder that you may write to"
                raise InputError(f"HUSH_HOME ({folder})", what, hint) from None
        for folder in (self.root, self.keys, self.store):
            folder.chmod(0o700)
        return self


def home() -> Home:
    """The home of this process, from HUSH_HOME; makes no folder. Raises InputError: it is a path that cannot be."""
    if "://" in os.environ.get("HUSH_HOME", ""):
        what = "is a URL: the ledger of releases needs a folder with locks and synced writes"
        hint = "set it to a folder of this machine, and HUSH_STORE to the URL for what may be shared"
        raise InputError("HUSH_HOME", what, hint)
    try:
        return Home(Path(os.environ.get("HUSH_HOME") or Path.home() / ".hush").expanduser().resolve())
    except (OSError, RuntimeError, ValueError):  # ~ of nobody, a loop of links
        hint = "set it to a folder of this machine; ~ alone is your home"
        raise InputError("HUSH_HOME", "is a path that cannot be", hint) from None


def settings(place: Home) -> dict[str, str]:
    """The environment of a process that runs flows; values already set by the user come first.

    Why each is: `docs/architecture.md`. No call leaves the machine; the embedded server listens
    on loopback and takes no request from another origin; models are never unpickled.
    """
    return {
        "HUSH_HOME": str(place.root),
        "PREFECT_HOME": str(place.prefect),
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(place.results),
        # 20 s, the default, is too short for the embedded server on a busy machine
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # a database that is restarted answers with 500: asked again for four minutes
        "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
        "PREFECT_CLIENT_MAX_RETRIES": "7",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1:4200",
        "DO_NOT_TRACK": "true",
        "MLFLOW_TRACKING_URI": f"sqlite:///{place.mlflow_database}",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
        "MLFLOW_RECORD_ENV_VARS_IN_MODEL_LOGGING": "false",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # where hush prints its own results
        "GIT_PYTHON_REFRESH": "quiet",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_OFFLINE": "1",
        # torch's threads wait asleep: where they spin beside other work, a small step takes ten times its CPU time
        "OMP_WAIT_POLICY": "PASSIVE",
        **(JSON_LOGS if os.environ.get(LOG_FORMAT) == "json" else {}),
    }


def retry_pauses() -> list[float]:
    """Seconds between attempts to deliver a record to a tracker that did not answer: HUSH_TRACKER_RETRIES, or half
    an hour in all, MLflow's own retries included. Raises InputError: it is no list of seconds."""
    given = os.environ.get(RETRIES) or "10,60,300,300"
    try:
        pauses = [float(part) for part in given.split(",")]
    except ValueError:
        pauses = []
    if not pauses or len(pauses) > MOST_RETRIES or not all(0.0 <= pause <= 86400.0 for pause in pauses):
        hint = f"write it as 10,60,300,300: {MOST_RETRIES} at most, each of a day at most"
        raise InputError(RETRIES, "is no list of seconds", hint)
    return pauses


def runner() -> str:
    """Where tasks that do not depend on one another run: `threads` of this process, a `dask` cluster of this
    machine's processes, or the address of a Dask scheduler. Raises InputError: it is neither, the address is open
    to anybody, or Dask is not installed."""
    chosen = os.environ.get(RUNNER) or "threads"
    if chosen == "threads":
        return chosen
    if chosen != "dask":
        scheme, _, rest = chosen.partition("://")
        host, _, port = rest.rpartition(":")
        if scheme not in ("tls", "tcp") or not host or not port.isdecimal():
            hint = "write threads, dask, or the address of a scheduler, as tls://dask.example.com:8786"
            raise InputError(RUNNER, "is no runner", hint)
        if scheme == "tcp" and host not in LOOPBACK:
            raise InputError(
                RUNNER,
                "is a scheduler without TLS on another machine, by which others can run code and read the store",
                "write tls://… and set DASK_DISTRIBUTED__COMM__TLS__… (docs/running.md)",
            )
    if find_spec("prefect_dask") is None:
        hint = "pip install -c constraints.txt 'hush-secrets[dask]'"
        raise InputError(RUNNER, "asks for Dask, which is not installed", hint)
    return chosen


def store_address() -> str:
    """Where objects are published for other machines; empty where they stay in HUSH_HOME. Raises SetupError: it
    is no storage that keeps a file whole or not at all, names a login, or needs an extra; its mount does not
    answer."""
    chosen = (os.environ.get(STORE) or "").rstrip("/")
    if not chosen:
        return ""
    scheme, _, rest = chosen.partition("://")
    folder = Path(unquote(rest))
    named = rest.startswith("/") and not rest.startswith("//") and "\0" not in str(folder)
    if scheme == "file" and named and ".." not in folder.parts:
        ours, theirs = home().root, Path(of_mount(f"{STORE} ({chosen})", lambda: os.path.realpath(folder)))
        if ours == theirs or ours in theirs.parents or theirs in ours.parents:
            raise SetupError(STORE, "is in HUSH_HOME, or has it inside", "name a folder apart from it")
        return chosen
    if scheme != "s3" or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9._=-]+)*", rest):
        hint = "write s3://bucket/prefix or file:///mnt/folder; logins and endpoints by AWS's own variables"
        raise SetupError(STORE, "is no storage that hush can use", hint)
    if find_spec("s3fs") is None:
        hint = "pip install -c constraints.txt 'hush-secrets[s3]'"
        raise SetupError(STORE, "asks for S3, whose client is not installed", hint)
    return chosen


def prepare_environment() -> Home:
    """Make HUSH_HOME and set the environment; must run before prefect or mlflow is imported. Raises InputError:
    HUSH_HOME cannot be written, HUSH_LOG_FORMAT, HUSH_RUNNER or HUSH_STORE is nothing that can be. RuntimeError:
    Prefect is imported already under another home (its settings are read once, at import)."""
    place = home().create()
    if os.environ.get(LOG_FORMAT, "") not in ("", "text", "json"):
        raise InputError(LOG_FORMAT, "is neither text nor json", "write one of the two")
    runner()
    store_address()
    missing = {name: value for name, value in settings(place).items() if not os.environ.get(name)}
    if "prefect" in sys.modules and "PREFECT_HOME" in missing:
        raise RuntimeError("prefect was imported before prepare_environment(): its settings would be ignored")
    os.environ.update(missing)
    return place


def _key(path: Path, make: Callable[[], bytes], size: int) -> bytes:
    """Read a key file, or create it: a complete temporary file is linked into place, never half of one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        part = beside(path)
        try:
            with new_file(part) as file:
                file.write(make())
            with contextlib.suppress(FileExistsError):  # another process was first; its key is the key
                os.link(part, path)
        finally:
            part.unlink(missing_ok=True)
        sync(path.parent)
    value = path.read_bytes()
    if len(value) != size:
        raise InputError(str(path), f"holds {len(value)} bytes, not {size}", "restore it from a backup")
    return value
