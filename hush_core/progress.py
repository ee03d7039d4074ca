"""How the long steps tell how far they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total); what it raises stops the step."""
Watch = Callable[[Mapping[str, Any]], None]
"""Called with each row of a training's log (`Fitted.log`) after its round; what it raises stops the training."""
