from __future__ import annotations

from typing import Literal

UsagePlan = Literal["enterprise", "free", "pro", "starter"]


def check_usage_plan(value: str) -> UsagePlan:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
