"""Find a shortest path between two entities, over at most four passages that mention both ends of a link."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    from_: str,
    to: str,
    user_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of find_path."""
    params: dict[str, Any] = {}

    params["from"] = from_

    params["to"] = to

    params["userId"] = user_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/graph/path",
        "params": params,
    }
