"""How independent parts of one computation are mapped: one after the other, or by a mapper that a caller lends.

    with parts_by(cluster_map):          # the orchestrator's; the core knows none
        calibrate(...)

The mapper decides where a part is computed, never its result.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Part, Result = TypeVar("Part"), TypeVar("Result")
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Called as mapper(function, parts); gives function(part) for each part, in their order. The function and the parts
can be pickled."""
_LENT: ContextVar[Mapper] = ContextVar("hush_mapper", default=map)


def map_parts(function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterable[Result]:
    """`function` of each part, in their order; by Python's own `map` unless another is lent."""
    return _LENT.get()(function, parts)


@contextmanager
def parts_by(mapper: Mapper) -> Iterator[None]:
    """Lend a mapper to what is computed inside, in this context."""
    token = _LENT.set(mapper)
    try:
        yield
    finally:
        _LENT.reset(token)
