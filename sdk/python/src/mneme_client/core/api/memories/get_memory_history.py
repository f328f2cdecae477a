"""List the texts that a memory has and had, and when relations were set and removed, newest first. Earlier ones are kept for the project's retention period."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_memory_history."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/{id}/history".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
