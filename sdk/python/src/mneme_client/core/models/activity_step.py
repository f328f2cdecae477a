from __future__ import annotations

from typing import Literal

ActivityStep = Literal["day", "hour"]


def check_activity_step(value: str) -> ActivityStep:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
