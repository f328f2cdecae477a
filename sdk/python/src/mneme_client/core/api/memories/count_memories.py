"""Count memories: those that listMemories would list on all its pages, limited by `filters`."""

from __future__ import annotations

from typing import Any

from ...models.count_memories_status import CountMemoriesStatus
from ...types import UNSET, Unset


def request(
    *,
    status: CountMemoriesStatus | Unset = UNSET,
    type_: str | Unset = UNSET,
    user_id: str | Unset = UNSET,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
    tag: str | Unset = UNSET,
    q: str | Unset = UNSET,
    superseded: bool | Unset = UNSET,
    known_at: str | Unset = UNSET,
    container: str | Unset = UNSET,
    filters: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of count_memories."""
    params: dict[str, Any] = {}

    json_status: str | Unset = UNSET
    if not isinstance(status, Unset):
        json_status = status

    params["status"] = json_status

    params["type"] = type_

    params["userId"] = user_id

    params["agentId"] = agent_id

    params["sessionId"] = session_id

    params["tag"] = tag

    params["q"] = q

    params["superseded"] = superseded

    params["knownAt"] = known_at

    params["container"] = container

    params["filters"] = filters

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/count",
        "params": params,
    }
