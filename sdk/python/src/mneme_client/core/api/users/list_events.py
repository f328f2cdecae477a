"""List a user's events, newest first."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    user_id: str,
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
    type_: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_events."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params["type"] = type_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/users/{user_id}/events".format(
            user_id=quote(str(user_id), safe=""),
        ),
        "params": params,
    }
