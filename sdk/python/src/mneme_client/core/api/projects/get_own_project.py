"""Read the project of the key."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    project_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_own_project."""
    params: dict[str, Any] = {}

    params["projectId"] = project_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/project",
        "params": params,
    }
