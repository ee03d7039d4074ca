"""Steps of a flow: tasks of Prefect in a run of Prefect's, plain functions in a command that needs no orchestrator.

>>> @step(name="report-secrets")                      # doctest: +SKIP
... def report_secrets(...): ...
>>> with alone():                                     # doctest: +SKIP
...     report_secrets(...)        # imports no Prefect and starts no server

Both ways read and write the same kept results (`caching`), so `hush run` takes what `hush secrets` found. Prefect
is imported when the first step becomes one of its tasks.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from pydantic import BaseModel, TypeAdapter

from hush_core.errors import HushError
from hush_core.files import write_whole

if TYPE_CHECKING:
    from prefect import Task

STOPPING = threading.Event()
"""Set where a flow was asked to end while its tasks run in threads, which no signal reaches."""
PACKAGE = "tasks."
"""Kept results are of types of these modules alone."""
P, R = ParamSpec("P"), TypeVar("R")
_THREADS: ContextVar[ThreadPoolExecutor | None] = ContextVar("threads", default=None)
_STEP: ContextVar[str] = ContextVar("step", default="hush")


def is_alone() -> bool:
    """Whether steps run here without an orchestrator."""
    return _THREADS.get() is not None


@contextmanager
def alone(name: str = "hush") -> Iterator[None]:
    """Steps that are called in here are plain functions; those that are submitted run in threads."""
    threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="step")
    marks = _THREADS.set(threads), _STEP.set(name)
    try:
        yield
    except BaseException:
        STOPPING.set()  # a thread's next word of progress ends it
        raise
    finally:
        _THREADS.reset(marks[0])
        _STEP.reset(marks[1])
        threads.shutdown(cancel_futures=True)
        STOPPING.clear()


WORTH_A_LINE = 1.0
"""Seconds after which the log says that a step is done."""


def step(**options: Any) -> Callable[[Callable[P, R]], Step[P, R]]:
    """A function as a step; `options` are those of `prefect.task`."""
    return lambda function: Step(function, options)


class Step(Generic[P, R]):
    """See the module; what else Prefect's tasks have is asked of the task."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        self.fn, self.options = function, options
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self.__wrapped__ = function

    @cached_property
    def task(self) -> Task[P, R]:
        from prefect import task

        return task(**self.options)(self.fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(*args, **kwargs) if is_alone() else self.task(*args, **kwargs)

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The step's future; its `result` can be asked for the error in place of raising it."""
        threads = _THREADS.get()
        if threads is None:
            return self.task.submit(*args, **kwargs)
        return Running(threads.submit(copy_context().run, self._run, *args, **kwargs))

    def with_options(self, **options: Any) -> Step[P, R]:
        return Step(self.fn, {**self.options, **options})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "options":
            raise AttributeError(name)
        return getattr(self.task, name)

    def _run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given = inspect.signature(self.fn).bind(*args, **kwargs)
        given.apply_defaults()
        name = self.options.get("task_run_name") or self.options["name"]
        mark = _STEP.set(name.format(**given.arguments))
        try:
            key = self.options.get("cache_key_fn")
            record = None if key is None else Path(self.options["result_storage"], key(None, given.arguments))
            if record is not None and record.exists():
                run_logger().debug("kept from an earlier run")
                return read_result(record)
            begun = time.monotonic()
            result = self.fn(*args, **kwargs)
            if record is not None:
                write_result(record, result)
            if time.monotonic() - begun >= WORTH_A_LINE:
                run_logger().info("done")
            return result
        finally:
            _STEP.reset(mark)


class Running(Generic[R]):
    """What `submit` gives; as much of Prefect's future as flows ask for."""

    def __init__(self, future: Future[R]) -> None:
        self.wrapped_future = future

    def result(self, *, raise_on_failure: bool = True) -> R | BaseException:
        try:
            return self.wrapped_future.result()
        except Exception as error:
            if raise_on_failure:
                raise
            return error


def show_page(text: str, key: str, description: str) -> None:
    """Markdown as an artifact of the flow's run in Prefect; nothing without one."""
    if not is_alone():
        from prefect.artifacts import create_markdown_artifact

        create_markdown_artifact(text, key=key, description=description)


# kept results, as Prefect's JSON serializer writes them


def read_result(record: Path) -> Any:
    """A result that `write_result` or Prefect wrote."""
    return json.loads(json.loads(record.read_bytes())["result"], object_hook=_decoded)


def write_result(record: Path, result: Any) -> None:
    """Keep a result under its key, for both ways of running a step."""
    serializer = {
        "type": "json", "jsonlib": "json",
        "object_encoder": "prefect.serializers.prefect_json_object_encoder",
        "object_decoder": "prefect.serializers.prefect_json_object_decoder",
        "dumps_kwargs": {}, "loads_kwargs": {},
    }  # fmt: skip
    about = {
        "storage_key": str(record), "expiration": None, "serializer": serializer,
        "prefect_version": version("prefect"), "storage_block_id": None,
    }  # fmt: skip
    write_whole(
        record, json.dumps({"metadata": about, "result": json.dumps(result, default=_encoded)}).encode()
    )


def _encoded(value: Any) -> dict[str, Any]:
    if not isinstance(value, BaseModel):
        raise TypeError(f"a {type(value).__name__} cannot be kept")
    kind = type(value)
    return {"__class__": f"{kind.__module__}.{kind.__qualname__}", "data": value.model_dump(mode="json")}


def _decoded(value: dict[str, Any]) -> Any:
    name = value.get("__class__")
    if name is None:
        return value
    module, _, kind = name.rpartition(".")
    if not module.startswith(PACKAGE):
        raise HushError(f"a kept result is of the type {name}, which no step of hush gives")
    return TypeAdapter(getattr(import_module(module), kind)).validate_python(value["data"])


# log lines


class _Adapter(logging.LoggerAdapter[logging.Logger]):
    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def run_logger() -> logging.Logger | logging.LoggerAdapter[Any]:
    """Prefect's of this run, or one that names the step as that does."""
    if not is_alone():
        from prefect.logging import get_run_logger

        return get_run_logger()
    return _Adapter(_console(), {"task_run_name": _STEP.get()})


def _console() -> logging.Logger:
    """Lines on standard error, or JSON (HUSH_LOG_FORMAT), as Prefect's console has them."""
    logger = logging.getLogger("hush")
    if not logger.handlers:
        from tasks.runtime.json_logs import ConsoleHandler, JsonLines

        kind = JsonLines if os.environ.get("HUSH_LOG_FORMAT") == "json" else ConsoleHandler
        logger.addHandler(kind())
        logger.setLevel(os.environ.get("PREFECT_LOGGING_LEVEL") or "INFO")
        logger.propagate = False
    return logger
