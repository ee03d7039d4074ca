"""Before step 1, on a cluster: each repository is scanned by a worker, so that extraction finds the scans kept."""

from __future__ import annotations

from hush_core.config import HushConfig, Repository
from hush_core.errors import HushError
from hush_core.progress import in_percent
from hush_core.secrets import scan_ahead, scanned_kinds
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.runner import cluster
from tasks.runtime.store import open_store
from tasks.sources import Sources


def scan_repositories(inputs: Sources, config: HushConfig) -> None:
    """One task a repository where a cluster does the flow's tasks; nothing where this process would do them all, or
    where the workers have no part in this home, in which scans are kept.

    What a repository is refused for the extraction says, which reads it again.
    """
    kinds = scanned_kinds({entry.kind for entry in config.secrets})
    found = cluster()
    if found is None or len(config.repos) < 2 or not kinds or not found.with_home():
        return
    running = [
        scan_repository.submit(
            repository.model_copy(update={"rev": inputs.revisions[repository.label]}), kinds,
            chunk_bytes=config.chunk_bytes, max_file_bytes=config.max_file_bytes,
            made_by=f"{inputs.identity} {inputs.detectors}",
        )
        for repository in config.repos
    ]  # fmt: skip
    for one in running:
        result = one.result(raise_on_failure=False)
        if isinstance(result, BaseException) and not isinstance(result, HushError):
            raise result


@cached_task(name="scan", version=1)
def scan_repository(
    repository: Repository, kinds: list[str], *, chunk_bytes: int, max_file_bytes: int, made_by: str
) -> int:
    """Keep what detectors find in each content of a repository; how many were new.

    `made_by`: the identity and the detectors, as one line: others scan again.
    """
    store = open_store()
    return scan_ahead(
        repository, kinds, home().identity_key(), in_percent(progress_log()), chunk_bytes=chunk_bytes,
        max_file_bytes=max_file_bytes, cache=store.root / "extraction", work=store.work_dir("extraction"),
    )  # fmt: skip
