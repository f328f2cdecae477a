"""List chats, newest first."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
    user_id: str | Unset = UNSET,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_chats."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params["userId"] = user_id

    params["agentId"] = agent_id

    params["sessionId"] = session_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/chats",
        "params": params,
    }
