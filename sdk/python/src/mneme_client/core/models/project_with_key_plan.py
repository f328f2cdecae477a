from __future__ import annotations

from typing import Literal

ProjectWithKeyPlan = Literal["enterprise", "free", "pro", "starter"]


def check_project_with_key_plan(value: str) -> ProjectWithKeyPlan:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
