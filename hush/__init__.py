"""hush for who uses a model: it is loaded if it was certified, reviewed and signed, and else not at all.

>>> import hush
>>> model = hush.load("models:/code@champion")                                       # doctest: +SKIP
>>> model.network.generate(**model.tokenizer("def f(", return_tensors="pt"))         # doctest: +SKIP

MLFLOW_TRACKING_URI names the registry, HUSH_TRUST the keys whose signatures count (docs/certificates.md).
Importing this package imports nothing else: torch and MLflow come with the first use of `load`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.load import LoadedModel, load

__all__ = ["LoadedModel", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from flows import load

    return getattr(load, name)
