from __future__ import annotations

from typing import Literal

ListedProjectPlan = Literal["enterprise", "free", "pro", "starter"]


def check_listed_project_plan(value: str) -> ListedProjectPlan:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
