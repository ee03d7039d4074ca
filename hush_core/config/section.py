"""What every section of the file shares: frozen, no unknown keys, finite numbers, and no value in a message."""

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Discriminator, Field, model_validator

MOST_ROUNDS = 10_000_000
"""The bounds are proved, and tested, up to so many rounds (docs/mathematics.md §5)."""
MOST_EXAMPLES = 2**32 - 1
"""Examples are numbered in 32 bits."""

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


def _parts(name: str, value: Any) -> dict[str, Any]:
    """A value, or those of a list or mapping, by where they are."""
    if isinstance(value, list):
        return {f"{name}.{n}": part for n, part in enumerate(value, 1)}
    return (
        {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
    )


class Section(BaseModel):
    """A mapping of the file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _no_quoted_numbers(cls, data: Any) -> Any:
        """A number in quotation marks is text, and nobody knows which of the two was meant."""
        for name, value in data.items() if isinstance(data, dict) else ():
            if name not in cls.model_fields:
                continue
            leaves = _leaves(cls.model_fields[name].annotation)
            if not leaves <= {bool, int, float, type(None)}:
                continue
            for place, part in _parts(name, value).items():
                if isinstance(part, str):
                    what = "true or false" if bool in leaves else "a number"
                    raise ValueError(
                        f"{place} is text, where {what} belongs; write it without quotation marks"
                    )
        return data

    @model_validator(mode="before")
    @classmethod
    def _no_truth_values(cls, data: Any) -> Any:
        """YAML reads yes, on and true as 1 would be read; where a number belongs they are a mistake."""
        for name, value in data.items() if isinstance(data, dict) else ():
            wanted = cls.model_fields[name].annotation if name in cls.model_fields else Any
            if {bool, Any} & {wanted, *get_args(wanted)}:
                continue
            if isinstance(value, dict) and get_origin(wanted) is not dict:
                continue  # a section looks for itself
            for key, part in _parts(name, value).items():
                if isinstance(part, bool):
                    raise ValueError(
                        f"{key} is true or false, where something else belongs; write the value itself"
                    )
        return data


def kind_or(usual: str) -> Discriminator:
    """Which of several sections a mapping is, by its `kind`; of what is no mapping, one of them, which says so."""
    return Discriminator(
        lambda value: str(
            value.get("kind", usual) if isinstance(value, dict) else getattr(value, "kind", usual)
        )
    )
