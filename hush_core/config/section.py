"""What every section of the file shares: frozen, no unknown keys, finite numbers, and no value in a message."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

MOST_ROUNDS = 10_000_000
"""The bounds are proved, and tested, up to so many rounds (docs/mathematics.md §5)."""
MOST_EXAMPLES = 2**32 - 1
"""Examples are numbered in 32 bits."""

CONFLICT = "conflict"
"""The type of pydantic's errors of `Section.conflicts`."""
Rounds = Annotated[int, Field(ge=1, le=MOST_ROUNDS)]
Examples = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]
Noise = Annotated[float, Field(ge=0.05, le=1e6)]
"""A noise multiplier, within the range for which bounds are proved (docs/mathematics.md §5)."""
Rate = Annotated[float, Field(ge=1e-12, le=1e3)]
"""A learning rate: below, float32 weights do not move; above, one step ends in infinity."""
Bits = Annotated[float, Field(gt=0, le=1e6)]


def _leaves(annotation: Any) -> set[Any]:
    """The plain types that a field's values have, those in its lists and mappings among them."""
    if annotation is Ellipsis or get_origin(annotation) is Literal:
        return {type(value) for value in get_args(annotation)}
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts = parts[:1]
    elif get_origin(annotation) is dict:
        parts = parts[1:]
    return {leaf for part in parts for leaf in _leaves(part)} if parts else {annotation}


def _parts(value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    """A value, or those of a list or mapping, behind where they are in it."""
    if isinstance(value, list):
        return [((number,), part) for number, part in enumerate(value)]
    return [((key,), part) for key, part in value.items()] if isinstance(value, dict) else [((), value)]


class Section(BaseModel):
    """A mapping of the file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), allow_inf_nan=False
    )

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """A number in quotation marks is text, and nobody knows which of the two was meant. YAML reads yes, on and
        true as 1 would be read; where a number belongs they are a mistake. The others are found beside these."""
        given = data.items() if isinstance(data, dict) else ()
        wrong = [one for key, value in given if key in cls.model_fields for one in cls._mistyped(key, value)]
        if not wrong:
            return handler(data)
        try:
            handler(data)
        except ValidationError as error:
            wrong += [
                _detail(one["type"], one["msg"], one["loc"]) for one in error.errors(include_input=False)
            ]
        raise ValidationError.from_exception_data(cls.__name__, wrong, hide_input=True)

    def conflicts(self) -> Iterator[str]:
        """Values that do not go together, each as `what; hint`."""
        yield from ()

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if found := [_detail(CONFLICT, message, ()) for message in self.conflicts()]:
            raise ValidationError.from_exception_data(type(self).__name__, found, hide_input=True)
        return self

    @classmethod
    def _mistyped(cls, key: str, value: Any) -> Iterator[InitErrorDetails]:
        wanted = cls.model_fields[key].annotation
        leaves = _leaves(wanted)
        section = isinstance(value, dict) and get_origin(wanted) is not dict  # which looks for itself
        truths = section or bool({bool, Any} & {wanted, *get_args(wanted)})
        what = "true or false" if bool in leaves else "a number"
        for place, part in _parts(value):
            if isinstance(part, str) and leaves <= {bool, int, float, type(None)}:
                message = f"is text, where {what} belongs; write it without quotation marks"
                yield _detail("value_error", message, (key, *place))
            elif isinstance(part, bool) and not truths:
                message = "is true or false, where something else belongs; write the value itself"
                yield _detail("value_error", message, (key, *place))


def _detail(kind: str, message: str, place: tuple[str | int, ...]) -> InitErrorDetails:
    return {"type": PydanticCustomError(kind, message), "loc": place, "input": None}  # type: ignore[arg-type]


def kind_or(usual: str) -> Discriminator:
    """Which of several sections a mapping is, by its `kind`; of what is no mapping, one of them, which says so."""
    return Discriminator(
        lambda value: str(
            value.get("kind", usual) if isinstance(value, dict) else getattr(value, "kind", usual)
        )
    )
