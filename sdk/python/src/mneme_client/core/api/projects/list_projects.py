"""List all projects with their use, newest first."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_projects."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/projects",
        "params": params,
    }
