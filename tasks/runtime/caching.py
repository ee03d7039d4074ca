"""Tasks whose results are reused: the cache key is the task's own name, its version and its inputs' content.

>>> @cached_task(name="extract", version=1)            # doctest: +SKIP
... def extract(config: HushConfig) -> Ref: ...

Prefect's default policies either share results between tasks with equal arguments or hash pickles
(`docs/architecture.md`), so the key is ours. A result holds references into the store; before one is
reused every reference in it is hashed again, so a deleted or damaged object means that the task runs again.
Bump `version` when a task's meaning changes. Never cache a task with side effects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from pathlib import Path, PosixPath, PurePath
from typing import Any

from pydantic import BaseModel

from hush_core.errors import HushError
from tasks.runtime.environment import home
from tasks.runtime.full_disk import FULL
from tasks.runtime.shared_store import SharedStoreError
from tasks.runtime.steps import Step, read_result, run_logger, step
from tasks.runtime.store import canonical_json, open_store, refs_in


def content_key(task_name: str, version: int | str, *inputs: Any) -> str:
    """HMAC over the canonical JSON of (name, version, inputs); equal inputs, and only those, share a key.

    Keyed, because the orchestrator's database shows the keys, and inputs hold hashes of protected text.

    Inputs are JSON values, pydantic models, enums, bytes, or lists, tuples, sets and mappings of these. Raises
    TypeError: anything else. A path is refused on purpose: its text says nothing of its content; store the file and
    pass the `Ref`."""
    body = [task_name, str(version), [_canonical(value) for value in inputs]]
    return home().fingerprint(canonical_json(body).decode())


class Results(PosixPath):
    """A home's folder of results. A task that travels to a worker finds the one of the worker's own home."""

    def __reduce__(self) -> Any:
        return _results_here, ()


def _results_here() -> Results:
    return Results(home().results)


def cached_task(
    *, name: str, version: int | str, ignore: Sequence[str] = (), **options: Any
) -> Callable[[Callable[..., Any]], Step[..., Any]]:
    """A step with persisted JSON results under HUSH_HOME/store/results and a key of our own.

    Arguments named in `ignore` (a progress callback, a folder to work in) do not change the result and are
    left out of the key. Further `options` go to `prefect.task`.
    """
    results = Results(home().results)

    def key(_context: Any, arguments: dict[str, Any]) -> str:
        inputs = {k: v for k, v in arguments.items() if k not in ignore}
        value = content_key(name, version, inputs)
        record = Path(results, value)
        if record.exists() and not (_alive(record) and _readable(record)):
            record.unlink(missing_ok=True)
            why = "a stored object is gone or damaged, or of an older hush; computing it again"
            run_logger().warning("%s: %s", name, why)
        return value

    def decorate(function: Callable[..., Any]) -> Step[..., Any]:
        return step(
            name=name,
            version=str(version),
            cache_key_fn=key,
            persist_result=True,
            result_serializer="json",
            result_storage=results,
            cache_result_in_memory=False,  # a record that was removed must not come back from memory
            **options,
        )(function)

    return decorate


def _canonical(value: Any) -> Any:
    """A JSON value that differs whenever the input differs in type or content."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return {"enum": f"{type(value).__module__}.{value}"}
    if isinstance(value, bytes):
        return {"bytes": hashlib.sha256(value).hexdigest()}
    if isinstance(value, BaseModel):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        return {"model": name, "fields": value.model_dump(mode="json")}
    if isinstance(value, PurePath):
        raise TypeError("a path cannot be a cache input: store what it points to and pass the Ref")
    if isinstance(value, Mapping):
        if not all(isinstance(k, str) for k in value):
            raise TypeError("a mapping among cache inputs needs string keys")
        return {"mapping": {k: _canonical(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_canonical(v) for v in value]
    if isinstance(value, Set):
        return {"set": sorted((_canonical(v) for v in value), key=canonical_json)}
    raise TypeError(f"a {type(value).__name__} cannot be a cache input: pass a Ref or plain values")


def _alive(record: Path) -> bool:
    """Whether a stored result can be read and every object that it refers to is whole. It counts as whole where the
    storage is away or this disk full: a record is dear, and who reads the object says what is wrong."""
    try:
        body = json.loads(record.read_bytes())
        result = json.loads(body["result"]) if isinstance(body["result"], str) else body["result"]
        store = open_store()
        for ref in refs_in(result):
            if not store.holds(ref):
                return False
            store.publish(ref, asked=True)  # it may be of before the storage was named, or another one
        return True
    except SharedStoreError:
        return True
    except OSError as error:
        return error.errno in FULL
    except (ValueError, KeyError, TypeError):
        return False


def _readable(record: Path) -> bool:
    """Whether a stored result is of types that this hush has, with the fields that they have now."""
    try:
        read_result(record)
    except (ImportError, AttributeError, KeyError, ValueError):
        return False
    except HushError:  # no type of hush: reading it refuses it
        return True
    return True
