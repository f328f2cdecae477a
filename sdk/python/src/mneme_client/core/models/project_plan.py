from __future__ import annotations

from typing import Literal

ProjectPlan = Literal["enterprise", "free", "pro", "starter"]


def check_project_plan(value: str) -> ProjectPlan:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
