"""What every section of the file shares: frozen, no unknown keys, finite numbers, and no value in a message."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_ROUNDS = 10_000_000
"""The bounds are proved, and tested, up to so many rounds (docs/guarantee.md §5)."""
MOST_EXAMPLES = 2**32 - 1
"""Examples are numbered in 32 bits."""

Rounds = Annotated[int, Field(ge=1, le=MOST_ROUNDS)]
Examples = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]
Noise = Annotated[float, Field(ge=0.05, le=1e6)]
"""A noise multiplier, within the range for which bounds are proved (docs/guarantee.md §5)."""
Rate = Annotated[float, Field(ge=1e-12, le=1e3)]
"""A learning rate: below, float32 weights do not move; above, one step ends in infinity."""
Bits = Annotated[float, Field(gt=0, le=1e6)]


class Section(BaseModel):
    """A mapping of the file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _no_truth_values(cls, data: Any) -> Any:
        """YAML reads yes, on and true as 1 would be read; where a number belongs they are a mistake."""
        for name, value in data.items() if isinstance(data, dict) else ():
            wanted = cls.model_fields[name].annotation if name in cls.model_fields else Any
            if {bool, Any} & {wanted, *get_args(wanted)}:
                continue
            parts = {name: value}
            if isinstance(value, list):
                parts = {f"{name}.{n}": part for n, part in enumerate(value, 1)}
            elif isinstance(value, dict):  # a section looks for itself
                parts = (
                    {f"{name}.{key}": part for key, part in value.items()}
                    if get_origin(wanted) is dict
                    else {}
                )
            for key, part in parts.items():
                if isinstance(part, bool):
                    raise ValueError(
                        f"{key} is true or false, where something else belongs; write the value itself"
                    )
        return data
