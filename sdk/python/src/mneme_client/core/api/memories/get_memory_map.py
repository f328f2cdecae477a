"""Read the places of memories on a plane, where memories with similar meaning lie close together."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    user_id: str | Unset = UNSET,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
    filters: str | Unset = UNSET,
    limit: int | Unset = 5000,
) -> dict[str, Any]:
    """Method, path and query of get_memory_map."""
    params: dict[str, Any] = {}

    params["userId"] = user_id

    params["agentId"] = agent_id

    params["sessionId"] = session_id

    params["filters"] = filters

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/map",
        "params": params,
    }
