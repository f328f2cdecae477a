"""Find passages, best first. Same as POST, and shares its rate limit."""

from __future__ import annotations

from typing import Any

from ...models.search_memories_by_url_mode import SearchMemoriesByUrlMode
from ...types import UNSET, Unset


def request(
    *,
    query: str,
    limit: int | Unset = 10,
    user_id: str | Unset = UNSET,
    agent_id: str | Unset = UNSET,
    session_id: str | Unset = UNSET,
    include_graph: bool | Unset = False,
    mode: SearchMemoriesByUrlMode | Unset = UNSET,
    min_score: float | Unset = UNSET,
    explain: bool | Unset = False,
    as_of: str | Unset = UNSET,
    known_at: str | Unset = UNSET,
    time_zone: str | Unset = UNSET,
    filters: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of search_memories_by_url."""
    params: dict[str, Any] = {}

    params["query"] = query

    params["limit"] = limit

    params["userId"] = user_id

    params["agentId"] = agent_id

    params["sessionId"] = session_id

    params["includeGraph"] = include_graph

    json_mode: str | Unset = UNSET
    if not isinstance(mode, Unset):
        json_mode = mode

    params["mode"] = json_mode

    params["min_score"] = min_score

    params["explain"] = explain

    params["asOf"] = as_of

    params["knownAt"] = known_at

    params["time_zone"] = time_zone

    params["filters"] = filters

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/search",
        "params": params,
    }
