from __future__ import annotations

from typing import Literal

ProjectDefaultMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_project_default_mode(value: str) -> ProjectDefaultMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
