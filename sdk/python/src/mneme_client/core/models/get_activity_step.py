from __future__ import annotations

from typing import Literal

GetActivityStep = Literal["day", "hour"]


def check_get_activity_step(value: str) -> GetActivityStep:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
