"""Copies of hush's own modules with a mistake planted: a right piece of the source, the wrong one in its place."""

import inspect
import sys
from importlib import import_module
from types import ModuleType

_made = 0


def planted(name: str, *pairs: tuple[str, str], **names: object) -> ModuleType:
    """A copy of `hush_core.training.<name>`.

    Args:
        pairs: (right, wrong); each right piece stands exactly once in the source.
        names: what else the copy's globals hold, in place of what it imported.
    """
    global _made
    real = import_module(f"hush_core.training.{name}")
    source = inspect.getsource(real)
    for right, wrong in pairs:
        assert source.count(right) == 1, f"{name}: {right!r} stands there {source.count(right)} times"
        source = source.replace(right, wrong)
    _made += 1
    copy = ModuleType(f"planted_{_made}_{name}")
    sys.modules[copy.__name__] = copy  # dataclasses look their module up
    exec(compile(source, f"<planted {name}>", "exec"), copy.__dict__)
    copy.__dict__.update(names)
    return copy
