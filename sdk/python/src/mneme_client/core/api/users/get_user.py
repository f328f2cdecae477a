"""Read one user."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    user_id: str,
) -> dict[str, Any]:
    """Method, path and query of get_user."""

    return {
        "method": "get",
        "url": "/users/{user_id}".format(
            user_id=quote(str(user_id), safe=""),
        ),
    }
