"""Log an event for a user. The user is created if necessary."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    user_id: str,
) -> dict[str, Any]:
    """Method, path and query of create_event."""

    return {
        "method": "post",
        "url": "/users/{user_id}/events".format(
            user_id=quote(str(user_id), safe=""),
        ),
    }
