"""Read what happened in the project, by hour or day: memories, answers, searches and their durations. Empty steps are listed."""

from __future__ import annotations

from typing import Any

from ...models.get_activity_step import GetActivityStep
from ...types import UNSET, Unset


def request(
    *,
    step: GetActivityStep | Unset = UNSET,
    from_: str | Unset = UNSET,
    to: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_activity."""
    params: dict[str, Any] = {}

    json_step: str | Unset = UNSET
    if not isinstance(step, Unset):
        json_step = step

    params["step"] = json_step

    params["from"] = from_

    params["to"] = to

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/project/activity",
        "params": params,
    }
