"""List memories, newest first or oldest first."""

from __future__ import annotations

from typing import Any

from ...models.list_memories_order import ListMemoriesOrder
from ...models.list_memories_status import ListMemoriesStatus
from ...types import UNSET, Unset


def request(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
    status: ListMemoriesStatus | Unset = UNSET,
    type_: str | Unset = UNSET,
    user_id: str | Unset = UNSET,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
    tag: str | Unset = UNSET,
    q: str | Unset = UNSET,
    superseded: bool | Unset = UNSET,
    known_at: str | Unset = UNSET,
    container: str | Unset = UNSET,
    order: ListMemoriesOrder | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_memories."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

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

    json_order: str | Unset = UNSET
    if not isinstance(order, Unset):
        json_order = order

    params["order"] = json_order

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories",
        "params": params,
    }
