"""Read what is known of a user: facts that hold now, preferences, people and events."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    user_id: str,
    *,
    max_tokens: int | Unset = 2000,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
    time_zone: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_profile."""
    params: dict[str, Any] = {}

    params["max_tokens"] = max_tokens

    params["agentId"] = agent_id

    params["sessionId"] = session_id

    params["time_zone"] = time_zone

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/users/{user_id}/profile".format(
            user_id=quote(str(user_id), safe=""),
        ),
        "params": params,
    }
