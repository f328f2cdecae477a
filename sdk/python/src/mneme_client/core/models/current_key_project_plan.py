from __future__ import annotations

from typing import Literal

CurrentKeyProjectPlan = Literal["enterprise", "free", "pro", "starter"]


def check_current_key_project_plan(value: str) -> CurrentKeyProjectPlan:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
