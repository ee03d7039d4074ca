"""A replication's cells, each computed once for the same settings, data and code; and the files that it leaves."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hush_core.errors import VerificationError
from hush_core.files import put_in_place, sync, write_whole
from lab.replications import NAMES, Place, check_document, find_replication, index_of, page_of
from lab.replications.document import rows_in
from lab.replications.replication import Cell
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.steps import step
from tasks.runtime.store import Ref, Store

INDEX = "README.md"
PACKAGES = ("hush-secrets", "torch", "numpy", "scipy", "polars", "ortools", "dp-accounting")


class CellRows(BaseModel):
    """What one cell came to."""

    model_config = ConfigDict(frozen=True)

    rows: list[dict[str, Any]]
    cpu_seconds: float


def store_data(files: Mapping[str, Path]) -> dict[str, Ref]:
    """The files of a replication, by content."""
    store = Store(home().store)
    return {name: store.put_bytes(path.read_bytes(), suffix=path.suffix) for name, path in files.items()}


@cached_task(name="replication cell", version=1)
def compute_cell(
    replication: str, table: str, settings: dict[str, Any], code: str, data: dict[str, Ref]
) -> CellRows:
    """The rows of one cell. `code` is the digest of the modules that they rest on."""
    store = Store(home().store)
    work = store.work_dir(content_key("replication", 1, replication, code, data))
    place = Place({name: store.path(ref) for name, ref in data.items()}, work, progress_log())
    began = time.process_time()
    rows = find_replication(replication).rows_of(Cell(table, settings), place)
    return CellRows(rows=rows, cpu_seconds=time.process_time() - began)


def machine() -> str:
    """What the numbers were computed on, without its name."""
    import torch

    processor = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        lines = (line.partition(":") for line in cpus.read_text().splitlines())
        processor = next((value.strip() for key, _, value in lines if key.strip() == "model name"), processor)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    threads = torch.get_num_threads()
    return f"{processor}, {os.cpu_count()} cores, {threads} threads of torch, {device}, {platform.system()}"


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    return {package: version(package) for package in PACKAGES} | {"python": platform.python_version()}


@step(name="publish-replication")
def publish_replication(document: dict[str, Any], folder: str) -> str:
    """Write NAME.json, NAME.md and NAME.png to the folder, and the index of all that lie there; the folder."""
    out, name = Path(folder), document["name"]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as work:
        picture = Path(work) / f"{name}.png"
        find_replication(name).draw(rows_in(document), picture)
        sync(picture)
        put_in_place(picture, out / picture.name)
    write_whole(out / f"{name}.md", page_of(document).encode())
    write_whole(out / f"{name}.json", (json.dumps(document, indent=1) + "\n").encode())
    write_whole(out / INDEX, index_of(read_documents(out)).encode())
    for file in (f"{name}.md", f"{name}.json", f"{name}.png", INDEX):
        (out / file).chmod(0o644)  # nothing here is private: public data, and made-up secrets
    return str(out)


def read_documents(folder: Path) -> list[dict[str, Any]]:
    """The documents of a folder, in the order of the catalogue.

    Raises:
        VerificationError: one holds a mark or a claim that does not follow from its rows.
    """
    files = [path for name in NAMES if (path := folder / f"{name}.json").is_file()]
    documents = [json.loads(path.read_bytes()) for path in files]
    failures = [failure for document in documents for failure in check_document(document)]
    if failures:
        raise VerificationError(failures)
    return documents
