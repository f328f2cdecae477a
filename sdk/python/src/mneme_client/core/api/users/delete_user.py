"""Delete a user; with `cascade` also all memories, chats and events of the user, in one step."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    user_id: str,
    *,
    cascade: bool | Unset = False,
) -> dict[str, Any]:
    """Method, path and query of delete_user."""
    params: dict[str, Any] = {}

    params["cascade"] = cascade

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "delete",
        "url": "/users/{user_id}".format(
            user_id=quote(str(user_id), safe=""),
        ),
        "params": params,
    }
