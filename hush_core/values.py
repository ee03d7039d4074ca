"""A value as JSON: a frozen dataclass of settings, numbers and other such values, written and read by its fields.

    @dataclass(frozen=True)
    class Plan:
        rates: Array
        rounds: int

    read(Plan, written(plan, parts), parts)        # `__post_init__` checks it again

A part that is `Large`, as an array, a frame or texts, is kept by `parts`, and the JSON says where.
"""

from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
import polars as pl
from pydantic import TypeAdapter
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class Parts(Protocol):
    """Keeps large parts. What `put` gives is JSON, by which `get` finds a part of that type."""

    def put(self, part: Any) -> Any: ...
    def get(self, kept: Any, kind: Any) -> Any: ...


class Large:
    """Marks the type of a part that is kept apart from the JSON."""

    @staticmethod
    def __get_pydantic_core_schema__(kind: Any, _handler: Any) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            lambda kept, info: info.context.get(kept, kind),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda part, info: info.context.put(part), info_arg=True
            ),
        )


Array = Annotated[np.ndarray, Large]
Frame = Annotated[pl.DataFrame, Large]


def written(value: Any, parts: Parts) -> bytes:
    """The value as JSON; NumPy's numbers are numbers."""
    return TypeAdapter(type(value)).dump_json(value, context=parts, fallback=lambda number: number.item())


def read(kind: type[T], json: bytes, parts: Parts) -> T:
    """The value that `written` gave.

    Raises:
        ValueError: it is no value of that type.
    """
    return TypeAdapter(kind).validate_json(json, context=parts)
