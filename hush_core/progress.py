"""How the long steps tell how far they are."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total); what it raises stops the step."""
